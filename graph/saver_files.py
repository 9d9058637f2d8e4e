"""The files of an in-memory saver, read without a call of what they name."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from muniment.memory.errors import BadInput

FOLDER = ".langgraph_api"
# As LangGraph's development server numbers them.
_NAMES = {part: f".langgraph_checkpoint.{number}.pckl" for number, part in enumerate(("storage", "writes", "blobs"), 1)}
_PICKLE_ERRORS = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, MemoryError,
    OverflowError,
)  # fmt: skip


def load_saver(path: Path, allowed: Sequence[str] = ()) -> InMemorySaver:
    """The saver of a folder of the development server (`.langgraph_api`, or its parent), or of one file: a pickle of
    `{"storage": dict(saver.storage), "writes": dict(saver.writes), "blobs": dict(saver.blobs)}`.

    A pickle and the values of checkpoints can name any function to call. Only dicts, lists, texts, numbers, bytes and
    UUIDs are made, and objects of LangGraph's safe classes and of those in `allowed` (`package.module.Class`). Raises
    BadInput with the file and what it would call; later, when a value is read, for a class that is not allowed."""
    parts = _read_parts(path)
    saver = InMemorySaver(serde=_RestrictedSerializer(allowed))
    try:
        for thread, spaces in parts["storage"].items():
            for ns, checkpoints in spaces.items():
                saver.storage[thread][ns].update(checkpoints)
        for place, writes in parts["writes"].items():
            saver.writes[place].update(writes)
        saver.blobs.update(parts["blobs"])
    except (AttributeError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: does not hold what an in-memory saver keeps") from error
    return saver


def _read_parts(path: Path) -> dict[str, dict[Any, Any]]:
    folder = path.parent if path.name in _NAMES.values() else path
    if folder.is_dir():
        folder = folder if (folder / _NAMES["storage"]).exists() else folder / FOLDER
        if not (folder / _NAMES["storage"]).exists():
            raise BadInput(f"{path}: has no {_NAMES['storage']}, as LangGraph's development server leaves one")
        parts = {part: _load_pickle(folder / name) if (folder / name).exists() else {} for part, name in _NAMES.items()}
    else:
        parts = _load_pickle(path)
        if set(parts) != set(_NAMES):
            raise BadInput(f"{path}: is no saver; a dict with the keys {', '.join(_NAMES)} is wanted")
    if not all(isinstance(part, dict) for part in parts.values()):
        raise BadInput(f"{path}: does not hold what an in-memory saver keeps")
    return parts


def _load_pickle(path: Path) -> dict[Any, Any]:
    try:
        with path.open("rb") as file:
            loaded = _PlainUnpickler(file).load()
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except _PICKLE_ERRORS as error:
        raise BadInput(f"{path}: is no pickle, or is damaged") from error
    if not isinstance(loaded, dict):
        raise BadInput(f"{path}: holds no dict")
    return loaded


def _make_empty_bytes() -> bytes:
    """The constructor of empty bytes in protocol 2."""
    return b""


def _encode_latin1(text: str, encoding: str = "latin1") -> bytes:
    """The constructor of bytes in protocol 2, for latin1 only. Raises BadInput."""
    if encoding not in {"latin1", "latin-1"}:
        raise BadInput("the pickle wants a codec that is not let in")
    return text.encode("latin1")


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler of plain data only."""

    _CONSTRUCTORS: dict[tuple[str, str], Any] = {  # noqa: RUF012 - never changed
        ("builtins", "dict"): dict,
        ("__builtin__", "dict"): dict,
        ("builtins", "bytes"): _make_empty_bytes,
        ("__builtin__", "bytes"): _make_empty_bytes,
        ("collections", "defaultdict"): defaultdict,
        ("uuid", "UUID"): UUID,
        ("_codecs", "encode"): _encode_latin1,
    }

    def find_class(self, module: str, name: str) -> Any:
        """The constructor of this name. Raises BadInput for all others."""
        if (module, name) not in self._CONSTRUCTORS:
            raise BadInput(f"the pickle wants {module}.{name}, which is not let in; plain data only")
        return self._CONSTRUCTORS[module, name]


class _RestrictedSerializer(JsonPlusSerializer):
    """A serializer that reads LangGraph's safe classes and those that are allowed.

    It refuses other classes by name, where LangGraph's own would go on with their parts."""

    def __init__(self, allowed: Sequence[str]) -> None:
        names = [cast("tuple[str, ...]", tuple(name.rpartition(".")[::2])) for name in allowed]
        super().__init__(allowed_msgpack_modules=names or None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The stored value. Raises BadInput for a class that is not allowed."""
        refused: list[SerdeEvent] = []
        unregister = register_serde_event_listener(
            lambda event: refused.append(event) if event["kind"].endswith("blocked") else None
        )
        try:
            value = super().loads_typed(data)
        except NotImplementedError:
            raise BadInput(f"a value is stored as {data[0]!r}, which can call anything, and is not read") from None
        finally:
            unregister()
        if refused:
            names = sorted({f"{event['module']}.{event['name']}" for event in refused})
            raise BadInput(
                f"a value has a class that is not let in: {', '.join(names)}; allow it if you trust it", classes=names
            )
        return value
