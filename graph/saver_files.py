"""The files of an in-memory saver, read without running what is in them."""

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


def load_saver(path: Path, allowed: Sequence[str] = ()) -> InMemorySaver:
    """The saver of a folder of the development server (`.langgraph_api`, or the one that has it), or of one file: a pickle
    of `{"storage": dict(saver.storage), "writes": dict(saver.writes), "blobs": dict(saver.blobs)}`.

    A pickle, and what checkpoints hold, can name any function to be called. Here only dicts, lists, texts, numbers, bytes and
    UUIDs are made, and of classes LangGraph's list of safe ones and those in `allowed` (`package.module.Class`).
    Raises BadInput naming the file, and what it would have called; when reading values later, for a class that is not allowed."""
    parts = _read_parts(path)
    saver = InMemorySaver(serde=_RestrictedSerializer(allowed))
    try:
        for thread, spaces in parts["storage"].items():
            for ns, checkpoints in spaces.items():
                saver.storage[thread][ns].update(checkpoints)
        for place, written in parts["writes"].items():
            saver.writes[place].update(written)
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
        found = {part: _load_pickle(folder / name) if (folder / name).exists() else {} for part, name in _NAMES.items()}
    else:
        found = _load_pickle(path)
        if set(found) != set(_NAMES):
            raise BadInput(f"{path}: is no saver; a dict with the keys {', '.join(_NAMES)} is wanted")
    if not all(isinstance(one, dict) for one in found.values()):
        raise BadInput(f"{path}: does not hold what an in-memory saver keeps")
    return found


def _load_pickle(path: Path) -> dict[Any, Any]:
    try:
        with path.open("rb") as file:
            loaded = _PlainUnpickler(file).load()
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except (
        pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, MemoryError, OverflowError,
    ) as error:  # fmt: skip
        raise BadInput(f"{path}: is no pickle, or is damaged") from error
    if not isinstance(loaded, dict):
        raise BadInput(f"{path}: holds no dict")
    return loaded


def _make_empty_bytes() -> bytes:
    """What protocol 2 makes of no bytes."""
    return b""


def _encode_latin1(text: str, encoding: str = "latin1") -> bytes:
    """What protocol 2 makes bytes with; it would take any codec."""
    if encoding not in {"latin1", "latin-1"}:
        raise BadInput("the pickle wants a codec that is not let in")
    return text.encode("latin1")


class _PlainUnpickler(pickle.Unpickler):
    """Makes plain data only."""

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
        if (module, name) not in self._CONSTRUCTORS:
            raise BadInput(f"the pickle wants {module}.{name}, which is not let in; plain data only")
        return self._CONSTRUCTORS[module, name]


class _RestrictedSerializer(JsonPlusSerializer):
    """Reads values of LangGraph's list of safe classes, and of those that are allowed; refuses others by name, where the
    serializer itself would go on with their parts."""

    def __init__(self, allowed: Sequence[str]) -> None:
        names = [cast("tuple[str, ...]", tuple(one.rpartition(".")[::2])) for one in allowed]
        super().__init__(allowed_msgpack_modules=names or None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        refused: list[SerdeEvent] = []
        forget = register_serde_event_listener(
            lambda event: refused.append(event) if event["kind"].endswith("blocked") else None
        )
        try:
            value = super().loads_typed(data)
        except NotImplementedError:
            raise BadInput(f"a value is stored as {data[0]!r}, which can call anything, and is not read") from None
        finally:
            forget()
        if refused:
            names = sorted({f"{one['module']}.{one['name']}" for one in refused})
            raise BadInput(
                f"a value has a class that is not let in: {', '.join(names)}; allow it if you trust it", classes=names
            )
        return value
