"""A procedure as a text: a goal, numbered steps, what to avoid, and where it applies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import normalize_text

CATEGORY = "procedural"
TAG = "path"
_LINES = (160, 110, 80, 50)  # characters of a line: the first of these with which everything has room
_MAX_AVOID = 4
WORDING_SEPARATOR = " / "  # between the wordings of a goal
_LEAST_STEPS = 1
_GOAL, _STEPS, _AVOID, _AGAIN = "Goal: ", "Steps:", "Avoid:", "Again: "
_STEP = lazy_compile(r"(?P<number>[1-9]\d?)\. (?P<text>\S.*)")
_ITEM = lazy_compile(r"- (?P<text>\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """The goal, the steps that reached it, what failed on the way, and the conditions in which it applies."""

    goal: str
    steps: tuple[str, ...]
    avoid: tuple[str, ...] = ()
    conditions: str = ""


def render_procedure(procedure: Procedure) -> str:
    """The procedure as text; `parse_procedure` reads it back."""
    lines = [f"{_GOAL}{procedure.goal}", _STEPS]
    lines += [f"{n}. {step}" for n, step in enumerate(procedure.steps, 1)]
    lines += [_AVOID, *(f"- {item}" for item in procedure.avoid)] if procedure.avoid else []
    return "\n".join([*lines, *([f"{_AGAIN}{procedure.conditions}"] if procedure.conditions else [])])


def parse_procedure(text: str) -> Procedure | None:
    """The procedure that a text holds, or None if the text is not in the layout of `render_procedure`."""
    lines = text.split("\n")
    if len(lines) < 2 + _LEAST_STEPS or not lines[0].startswith(_GOAL) or lines[1] != _STEPS:
        return None
    goal, rest = lines[0].removeprefix(_GOAL), lines[2:]
    steps, rest = _take_lines(_STEP, rest)
    avoid: list[str] = []
    if rest and rest[0] == _AVOID:
        avoid, rest = _take_lines(_ITEM, rest[1:])
        if not avoid:
            return None
    conditions = rest.pop(0).removeprefix(_AGAIN) if rest and rest[0].startswith(_AGAIN) else ""
    procedure = Procedure(goal=goal, steps=tuple(steps), avoid=tuple(avoid), conditions=conditions)
    return procedure if goal and steps and not rest and render_procedure(procedure) == text else None


def flatten_text(text: str) -> str:
    """A text as one normalized line."""
    return " ".join(normalize_text(text).split()).strip()


def fit_procedure(procedure: Procedure, *, max_chars: int, max_steps: int) -> Procedure | None:
    """The procedure within so many characters and steps, or None when its shortest form is too long.

    The last steps are kept; then lines are cut, then items to avoid and the conditions are dropped."""
    limited = replace(procedure, steps=procedure.steps[-max_steps:], avoid=procedure.avoid[:_MAX_AVOID])
    for avoid_count, has_conditions in ((_MAX_AVOID, True), (2, True), (1, True), (1, False), (0, False)):
        for line_chars in _LINES:
            shortened = _shorten_procedure(limited, line_chars, avoid_count, conditions=has_conditions)
            if len(render_procedure(shortened)) <= max_chars:
                return shortened
    return None


def merge_procedures(new: Procedure, old: Procedure) -> Procedure:
    """The new procedure with the items to avoid of both, without those that are a step now."""
    steps = {tokens.fold_text(step) for step in new.steps}
    both = dict.fromkeys([*new.avoid, *old.avoid])
    avoid = tuple(
        item for item in both if not any(tokens.fold_text(item).startswith(f"{_strip_step(step)} (") for step in steps)
    )
    return replace(new, avoid=avoid, conditions=new.conditions or old.conditions)


def _strip_step(step: str) -> str:
    return re.sub(r"^(?:call|run:?|check with)\s+", "", step)


def _take_lines(pattern: re.Pattern[str], lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The texts of the leading lines that match, and the other lines."""
    texts: list[str] = []
    for line in lines:
        match = pattern.fullmatch(line)
        if match is None:
            break
        texts.append(match["text"])
    return texts, list(lines[len(texts) :])


def _shorten_procedure(procedure: Procedure, max_chars: int, avoid_count: int, *, conditions: bool) -> Procedure:
    return Procedure(
        goal=_fit_goal(procedure.goal, max_chars)
        if avoid_count or conditions
        else _cut_text(procedure.goal, max_chars),
        steps=tuple(_cut_text(step, max_chars) for step in procedure.steps),
        avoid=tuple(_cut_text(item, max_chars) for item in procedure.avoid[:avoid_count]),
        conditions=_cut_text(procedure.conditions, max_chars) if conditions else "",
    )


def _fit_goal(goal: str, max_chars: int) -> str:
    """The first wordings of a goal that fit; a cut wording would match no goal. The first one always stays."""
    wordings = goal.split(WORDING_SEPARATOR)
    while len(wordings) > 1 and len(WORDING_SEPARATOR.join(wordings)) > max_chars:
        wordings.pop()
    return _cut_text(WORDING_SEPARATOR.join(wordings), _LINES[0])


def _cut_text(text: str, max_chars: int) -> str:
    flat = flatten_text(text)
    return flat if len(flat) <= max_chars else flat[: max_chars - 1].rstrip() + "…"
