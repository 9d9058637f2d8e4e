"""Large files of each format: what an export of years may be, of any size."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import IO, Any, TypeAlias

MB = 2**20
_NOTE_BYTES = MB  # of each note of an archive
_START = datetime(2024, 1, 1, tzinfo=UTC)
_TOPICS = ("the harbour", "the old mill", "the recipe for bread", "the garden", "the journey by train")
_WHO = ("My aunt", "The teacher", "Our neighbour", "A friend", "The doctor", "The baker", "My colleague")
_DID = (
    "painted", "described", "remembered", "photographed", "missed", "repaired", "visited", "praised", "sketched",
    "explored", "left",
)  # fmt: skip
_HOW = (
    "early", "in the evening", "with joy", "alone", "after a long walk", "before dinner", "for the first time",
    "in winter", "without a word", "together with children", "by boat", "in heavy rain", "slowly",
)  # fmt: skip
# The rows of an export: what all memories, lines of the journal and turns have in common.
_MEMORY = {
    "type": "memory", "kind": "episodic", "state": "active", "trust": "user", "role": "user", "category": "activity",
    "confidence": 0.9, "importance": 2, "pinned": False, "access_count": 0, "tags": [], "aliases": [], "reach": "user",
}  # fmt: skip
_LINE = {"type": "journal", "action": "ADD", "node": "face", "band": "new", "meta": {}, "category": "activity"}
_TURN = {
    "type": "turn", "role": "user", "source": "user", "tags": [], "recalled": [], "kind": "message", "visible": True,
    "position": None,
}  # fmt: skip
# A file: its name in the archive, what stands before, between and after its records, and the records.
_Part: TypeAlias = tuple[str, str, str, str, Iterator[tuple[str, int]]]


def write_export(path: Path, size: int, *, chars: int = 300) -> int:
    """Write an export of about so many bytes; return the number of memories. Their texts have about `chars`
    characters."""
    count = max(1, size // len("".join(map(json.dumps, _make_rows(10_000, chars)))))
    space = {"type": "space", "format": "muniment/1", "rev": count, "created_at": _make_time(0)}
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{json.dumps(space)}\n")
        for part in range(3):
            file.writelines(f"{json.dumps(_make_rows(n, chars)[part])}\n" for n in range(1, count + 1))
    return count


def make_export(count: int, *, chars: int = 60) -> list[dict[str, Any]]:
    """Return the rows of an export with so many memories."""
    space = {"type": "space", "format": "muniment/1", "rev": count, "created_at": _make_time(0)}
    parts = zip(*(_make_rows(number, chars) for number in range(1, count + 1)), strict=True)
    return [space, *(row for part in parts for row in part)]


def write_lines(path: Path, size: int, *, chars: int = 300) -> int:
    """Write lines of about so many bytes together, each with a text and a time; return their number."""
    lines = (
        (json.dumps({"text": _make_text(number, chars), "event_time": _make_time(number % 1_000)}) + "\n", 1)
        for number in count(1)
    )
    with path.open("wb") as file:
        return _fill(file, size, "", "", "", lines)


def _make_rows(number: int, chars: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the rows of a memory, of the line of the journal that wrote it, and of the turn that said it."""
    memory, turn = (f"{kind:08x}-0000-4000-8000-{number:012x}" for kind in (1, 2))
    text, at = _make_text(number, chars), _make_time(number)
    return (
        _MEMORY
        | {"memory_id": memory, "text": text, "rev": number, "turns": [turn], "created_at": at, "updated_at": at},
        _LINE | {"rev": number, "memory_id": memory, "new_ref": f"{memory}@{number}", "ts": at},
        _TURN | {"turn_id": turn, "text": text, "consumed_rev": number, "at": at},
    )


def write_large(path: Path, kind: str, size: int, *, chars: int = 20_000) -> int:
    """Write about so many bytes as one file, or as an archive of notes; return the number of records. The long texts
    have about `chars` characters."""
    name, head, between, tail, records = _PARTS[kind](chars)
    if kind != "markdown":
        with path.open("wb") as file:
            # The block of memory beside the messages is a record, too.
            return _fill(file, size, head, between, tail, records) + (kind == "letta")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        total = 0
        for number in range(max(1, size // _NOTE_BYTES)):
            with archive.open(f"{number}-{name}", "w") as file:
                total += _fill(file, min(size, _NOTE_BYTES), head, between, tail, records)
    return total


def _fill(file: IO[bytes], most: int, head: str, between: str, tail: str, records: Iterator[tuple[str, int]]) -> int:
    file.write(head.encode())
    total = written = 0
    while written < most:
        text, records_of_it = next(records)
        written += file.write(((between if written else "") + text).encode())
        total += records_of_it
    file.write(tail.encode())
    return total


def _make_text(number: int, chars: int) -> str:
    """A text of sentences that begins like no other one."""
    sentences = [f"Note {number}."]
    length = 0
    for turn in count(number):
        if length >= chars:
            break
        sentences.append(f"{_WHO[turn % 7]} {_DID[turn % 11]} {_TOPICS[turn % 5]} {_HOW[turn % 13]}.")
        length += len(sentences[-1]) + 1
    return " ".join(sentences)


def _make_time(number: int) -> str:
    return (_START + timedelta(minutes=number)).isoformat()


def _list_records(make: Callable[[int, int], Any], chars: int, each: int = 1) -> Iterator[tuple[str, int]]:
    for number in count(1):
        yield json.dumps(make(number, chars)), each


def _make_tree(number: int, chars: int) -> dict[str, Any]:
    start = 1_700_000_000 + 1_000 * number
    said = [
        ("user", f"What is known about {_TOPICS[number % 5]}, part {number}?"),
        ("assistant", _make_text(number, chars)),
    ]
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["m0"]}}
    for place, (role, text) in enumerate(said):
        nodes[f"m{place}"] = {
            "id": f"m{place}",
            "parent": f"m{place - 1}" if place else "root",
            "children": [f"m{place + 1}"] if place + 1 < len(said) else [],
            "message": {
                "id": f"m{place}",
                "author": {"role": role},
                "create_time": start + place,
                "content": {"content_type": "text", "parts": [text]},
                "recipient": "all",
            },
        }
    return {"conversation_id": f"c-{number}", "create_time": start, "mapping": nodes, "current_node": "m1"}


def _make_claude(number: int, chars: int) -> dict[str, Any]:
    said = [("human", f"Tell me about {_TOPICS[number % 5]}, part {number}."), ("assistant", _make_text(number, chars))]
    messages = [
        {"uuid": f"t{number}-{place}", "sender": sender, "text": text, "created_at": _make_time(number)}
        for place, (sender, text) in enumerate(said)
    ]
    return {"uuid": f"t{number}", "created_at": _make_time(number), "chat_messages": messages}


def _make_mem0(number: int, chars: int) -> dict[str, Any]:
    return {
        "id": f"m-{number}",
        "memory": _make_text(number, chars),
        "user_id": "ana",
        "created_at": _make_time(number),
        "updated_at": None,
        "metadata": {"category": "notes"},
    }


def _make_item(number: int, chars: int) -> dict[str, Any]:
    return {
        "namespace": ["memories", "ana"],
        "key": f"k-{number}",
        "value": {"content": _make_text(number, chars)},
        "created_at": _make_time(number),
        "updated_at": _make_time(number),
    }


def _make_langmem(number: int, chars: int) -> dict[str, Any]:
    return _make_item(number, chars) | {"value": {"kind": "Memory", "content": {"content": _make_text(number, chars)}}}


def _make_letta(number: int, chars: int) -> dict[str, Any]:
    text = _make_text(number, chars)
    return {
        "id": f"message-{number}",
        "role": "assistant" if number % 2 else "user",
        "content": [{"type": "text", "text": text if number % 2 else f"What is known about {_TOPICS[number % 5]}?"}],
        "created_at": _make_time(number),
    }


def _make_fact(number: int, chars: int) -> dict[str, Any]:
    """A fact with its vector, which is most of such a file."""
    return {
        "uuid": f"f-{number}",
        "group_id": "ana",
        "name": "KNOWS",
        "fact": _make_text(number, 100),
        "fact_embedding": [number % 97 / 97 + place / 1e6 for place in range(chars // 20)],
        "valid_at": _make_time(number),
        "invalid_at": None,
    }


def _list_blocks(chars: int) -> Iterator[tuple[str, int]]:
    for number in count(1):
        heading = f"## Part {number}\n\n" if number % 10 == 1 else ""
        yield f"{heading}- {_make_text(number, chars)}\n", 1


_LETTA_HEAD = '{"agents": [{"id": "agent-0", "name": "Otto", "memory_blocks": [], "messages": ['
_LETTA_TAIL = ']}], "blocks": [{"id": "block-0", "label": "human", "value": "The name of the user is Ana."}]}'
_PARTS: dict[str, Callable[[int], _Part]] = {
    "chatgpt": lambda chars: ("conversations.json", "[", ",\n", "]", _list_records(_make_tree, chars, 2)),
    "claude": lambda chars: ("conversations.json", "[", ",\n", "]", _list_records(_make_claude, chars, 2)),
    "mem0": lambda chars: ("m.json", '{"results": [', ",\n", '], "relations": []}', _list_records(_make_mem0, chars)),
    "langgraph-store": lambda chars: ("store.jsonl", "", "\n", "", _list_records(_make_item, chars)),
    "langmem": lambda chars: ("store.json", "[", ",\n", "]", _list_records(_make_langmem, chars)),
    "letta": lambda chars: ("agent.af", _LETTA_HEAD, ",\n", _LETTA_TAIL, _list_records(_make_letta, chars)),
    "graphiti": lambda chars: ("g.json", '{"facts": [', ",\n", '], "episodes": []}', _list_records(_make_fact, chars)),
    "markdown": lambda chars: ("note.md", "# Notes\n\n", "", "", _list_blocks(chars)),
}
