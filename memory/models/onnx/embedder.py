"""The offline embedder: bge-small-en-v1.5 as an int8 ONNX model in this process."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from muniment.memory.domain.ids import Vector
from muniment.memory.models.onnx.fetch import MODEL_FILE, TOKENIZER_FILE, fetch_model
from muniment.memory.models.sharing import LocalEmbedder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ONNX_NAME = "bge-small-en-v1.5-int8"
ONNX_DIMENSIONS = 384
ONNX_TOKENS = 512
_UNKNOWN = "[UNK]"
# A text has no space at its beginning, and the tokenizer drops it: the model reads a question as it is. The instruction
# that its makers put before one finds no more (ADR 45).
_QUESTION_MARK = " "


class _Session(Protocol):
    def run(self, names: list[str] | None, feed: dict[str, npt.NDArray[np.int64]]) -> list[npt.NDArray[np.float32]]: ...


class _LoadedModel(NamedTuple):
    """The model, and its tokens without content (marks and the unknown token)."""

    session: _Session
    tokenizer: Tokenizer
    ignored_tokens: frozenset[int]


class OnnxEmbedder(LocalEmbedder):
    """bge-small-en-v1.5, int8, in this process: 384 dimensions, 512 tokens, no network once its files are there.

    `folder` holds the files; missing files are fetched at the first use. Raises BadConfig if they cannot be fetched.
    """

    name = ONNX_NAME
    query_prefix = _QUESTION_MARK

    def __init__(self, folder: Path, *, workers: int | None = None) -> None:
        super().__init__(workers)
        self._folder = folder
        self._loading = threading.Lock()
        self._loaded: _LoadedModel | None = None

    def _unload_model(self) -> None:
        self._loaded = None

    def _embed_text(self, text: str) -> Vector:
        """Embed one text alone: the int8 model scales by the whole tensor, so neighbours in a batch would change it."""
        model = self._loaded or self.load_model()
        tokens: list[int] = model.tokenizer.encode(text).ids
        if text.startswith(_QUESTION_MARK) and model.ignored_tokens.issuperset(tokens[1:-1]):
            return np.zeros(ONNX_DIMENSIONS, dtype=np.float32)
        ids = np.array([tokens], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vector: Vector = model.session.run(None, feed)[0][0, 0]
        return vector

    def load_model(self) -> _LoadedModel:
        """Load the model, unless it is loaded, and return it. Raises BadConfig where it cannot be had."""
        with self._loading:
            if self._loaded is None:
                # Slow to import: not in the event loop, and not where another embedder is used.
                import onnxruntime  # type: ignore[import-untyped] # noqa: PLC0415 - nor has it types
                from tokenizers import Tokenizer  # noqa: PLC0415

                folder = fetch_model(self._folder)
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                options.log_severity_level = 3
                tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
                tokenizer.no_padding()
                tokenizer.enable_truncation(ONNX_TOKENS)
                session = onnxruntime.InferenceSession(
                    str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
                )
                self._loaded = _LoadedModel(session, tokenizer, _find_ignored_tokens(tokenizer))
            return self._loaded


def _find_ignored_tokens(tokenizer: Tokenizer) -> frozenset[int]:
    vocabulary = tokenizer.get_vocab().items()
    return frozenset(id_ for token, id_ in vocabulary if token == _UNKNOWN or not any(map(str.isalnum, token)))
