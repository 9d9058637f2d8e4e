"""The statements that memory put before the model in a turn, and the state of the turn with some of them alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.layers.bisection import ShownStatement
from muniment.memory.domain.query import Brief
from muniment.memory.payload import fence_text
from muniment.nodes.state import State

_BULLET = "- "
_FENCE_LINES = 2  # before what is fenced: the mark and the note
_HEADER_LINE = re.compile(r"- \W?[a-z_]+: \[[^\]]*\] (?P<text>.*?)(?: \(imp=\d\))?$", re.DOTALL)
_CUT = "…"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that memory gave: what it says, where it stood, and its number there."""

    statement: ShownStatement
    part: Literal["stable", "header", "moving"]
    number: int


def name_memories(state: State, brief: Brief | None) -> dict[str, MemoryId]:
    """Return the memories of the lines of a turn by their texts: those that the thread keeps, else those of what memory
    gives for the message as of the same revision."""
    stable = [line.removeprefix(_BULLET) for line in state.get("stable", "").splitlines()]
    bullets = state.get("bullets", [])
    if shown := state.get("shown"):  # a field of the profile, which begins with no category, has no id
        lines = [*(line for line in stable if line.startswith("[")), *bullets]
        return {line: MemoryId(UUID(id_)) for line, id_ in zip(lines, shown, strict=False)}
    if brief is None:
        return {}
    given = [line.removeprefix(_BULLET) for line in brief.stable.splitlines()]
    keys = [*zip(given, brief.stable_keys, strict=False), *zip(brief.bullets, brief.bullet_keys, strict=False)]
    return {line: id_ for line, key in keys if (id_ := _parse_id(key)) is not None}


def list_statements(state: State, memories: Mapping[str, MemoryId]) -> tuple[ShownStatement, ...]:
    """Return what memory put before the model, each statement once, in the order in which it stood there."""
    return tuple({line.statement.key: line.statement for line in reversed(_read_lines(state, memories))}.values())[::-1]


def list_changes(state: State) -> list[str]:
    """Return the texts in the header of changes, as it has them: without a full stop, and perhaps cut."""
    return [_read_change(line) for line in state.get("header", "").splitlines()[1:]]


def keep_statements(
    state: State, memories: Mapping[str, MemoryId], kept: Collection[str], added: Sequence[ShownStatement] = ()
) -> State:
    """Return the state with the lines of the statements with these keys alone, and `added` ones as the last lines of
    the part for the message. With all of them and nothing added the parts are what they were, to the byte."""
    lines = [line for line in _read_lines(state, memories) if line.statement.key in kept]
    numbers = {part: {line.number for line in lines if line.part == part} for part in ("stable", "header", "moving")}
    stable = [line for n, line in enumerate(state.get("stable", "").splitlines()) if n in numbers["stable"]]
    title, *changes = state.get("header", "").splitlines() or [""]
    header = [line for n, line in enumerate(changes) if n in numbers["header"]]
    bullets = [text for n, text in enumerate(state.get("bullets", [])) if n in numbers["moving"]]
    rendered = _list_rendered_bullets(state)
    moving = [line for n, line in enumerate(rendered) if n in numbers["moving"]]
    moving += [f"{_BULLET}{' '.join(each.text.split())}" for each in added]
    head = "\n".join([title, *header]) if header else ""
    fresh = set(state.get("fresh", ()))
    return State(
        stable="\n".join(stable),
        header=head,
        bullets=[*bullets, *(each.text for each in added)],
        fresh=[*(text for text in bullets if text in fresh), *(each.text for each in added)],
        moving=fence_text("\n".join(filter(None, [head, *moving]))),
    )


def _read_lines(state: State, memories: Mapping[str, MemoryId]) -> list[_Line]:
    """Return the lines that memory gave; the same statement in several places has the same key."""
    lines = list[_Line]()
    for n, line in enumerate(state.get("stable", "").splitlines()):
        lines.append(_Line(_make_statement(line.removeprefix(_BULLET), "stable", memories), "stable", n))
    bullets = [
        _Line(_make_statement(text, "moving", memories), "moving", n) for n, text in enumerate(state.get("bullets", []))
    ]
    known = {_drop_category(line.statement.text): line.statement for line in [*bullets, *lines]}
    for n, line in enumerate(state.get("header", "").splitlines()[1:]):
        text = _read_change(line)
        same = next((each for said, each in known.items() if _is_same(text, said)), None)
        lines.append(_Line(same or _make_statement(text, "header", memories), "header", n))
    return [*lines, *bullets]


def _make_statement(
    text: str, part: Literal["stable", "header", "moving"], memories: Mapping[str, MemoryId]
) -> ShownStatement:
    memory = memories.get(text)
    return ShownStatement(key=str(memory) if memory else text, text=text, part=part, memory=memory)


def _list_rendered_bullets(state: State) -> list[str]:
    """Return the bullets as they stood in the block, where they may be cut."""
    header = len(state.get("header", "").splitlines())
    inner = state.get("moving", "").splitlines()[_FENCE_LINES:-1][header:]
    bullets = state.get("bullets", [])
    if len(inner) == len(bullets):
        return inner
    return [f"{_BULLET}{' '.join(text.split())}" for text in bullets]


def _read_change(line: str) -> str:
    found = _HEADER_LINE.fullmatch(line)
    return found["text"].removesuffix(_CUT) if found else line.removeprefix(_BULLET)


def _is_same(changed: str, said: str) -> bool:
    """Whether a line of the header, which may be cut and has no full stop, says what a statement says."""
    return bool(changed) and said.startswith(changed)


def _drop_category(text: str) -> str:
    return text.partition("] ")[2] if text.startswith("[") and "] " in text else text


def _parse_id(key: str) -> MemoryId | None:
    try:
        return MemoryId(UUID(key))
    except ValueError:
        return None
