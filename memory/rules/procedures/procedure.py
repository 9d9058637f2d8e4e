"""A procedure as a text: a goal, the numbered steps that reached it, what to avoid, and where it applies again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import normalize_text

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
    """What was to be achieved, the path that succeeded, what failed on the way, and when it is of use again."""

    goal: str
    steps: tuple[str, ...]
    avoid: tuple[str, ...] = ()
    conditions: str = ""


def render_procedure(procedure: Procedure) -> str:
    """The procedure in its layout; `parse` reads it back."""
    lines = [f"{_GOAL}{procedure.goal}", _STEPS]
    lines += [f"{n}. {step}" for n, step in enumerate(procedure.steps, 1)]
    lines += [_AVOID, *(f"- {one}" for one in procedure.avoid)] if procedure.avoid else []
    return "\n".join([*lines, *([f"{_AGAIN}{procedure.conditions}"] if procedure.conditions else [])])


def parse_procedure(text: str) -> Procedure | None:
    """The procedure that a text is in the layout of, or None."""
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
    again = rest.pop(0).removeprefix(_AGAIN) if rest and rest[0].startswith(_AGAIN) else ""
    found = Procedure(goal=goal, steps=tuple(steps), avoid=tuple(avoid), conditions=again)
    return found if goal and steps and not rest and render_procedure(found) == text else None


def flatten_text(text: str) -> str:
    """A text as one line of a procedure."""
    return " ".join(normalize_text(text).split()).strip()


def fit_procedure(procedure: Procedure, *, max_chars: int, max_steps: int) -> Procedure | None:
    """The procedure within so many characters and steps, or None where not even the shortest form of it has room.

    What leads to the success stays longest: of too many steps the last, then fewer words, then what is to be avoided."""
    kept = replace(procedure, steps=procedure.steps[-max_steps:], avoid=procedure.avoid[:_MAX_AVOID])
    for avoided, again in ((_MAX_AVOID, True), (2, True), (1, True), (1, False), (0, False)):
        for most in _LINES:
            one = _shorten_procedure(kept, most, avoided, conditions=again)
            if len(render_procedure(one)) <= max_chars:
                return one
    return None


def merge_procedures(new: Procedure, old: Procedure) -> Procedure:
    """The newer path with what failed on the way to either; what succeeds now is no longer to be avoided."""
    taken = {tokens.fold_text(step) for step in new.steps}
    both = dict.fromkeys([*new.avoid, *old.avoid])
    kept = tuple(
        one for one in both if not any(tokens.fold_text(one).startswith(f"{_strip_step(step)} (") for step in taken)
    )
    return replace(new, avoid=kept, conditions=new.conditions or old.conditions)


def _strip_step(step: str) -> str:
    return re.sub(r"^(?:call|run:?|check with)\s+", "", step)


def _take_lines(pattern: re.Pattern[str], lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines from the start that are of this form, and the rest."""
    found: list[str] = []
    for line in lines:
        one = pattern.fullmatch(line)
        if one is None:
            break
        found.append(one["text"])
    return found, list(lines[len(found) :])


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
    """The wordings of a goal that have room, the first in any case: half a goal is known as no goal again."""
    kept = goal.split(WORDING_SEPARATOR)
    while len(kept) > 1 and len(WORDING_SEPARATOR.join(kept)) > max_chars:
        kept.pop()
    return _cut_text(WORDING_SEPARATOR.join(kept), _LINES[0])


def _cut_text(text: str, max_chars: int) -> str:
    flat = flatten_text(text)
    return flat if len(flat) <= max_chars else flat[: max_chars - 1].rstrip() + "…"
