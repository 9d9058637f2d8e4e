"""A procedure as a text: a goal, the numbered steps that reached it, what to avoid, and where it applies again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import clean

CATEGORY = "procedural"
TAG = "path"
_LINES = (160, 110, 80, 50)  # characters of a line: the first of these with which everything has room
_AVOIDED = 4
OR = " / "  # between the wordings of a goal
_LEAST_STEPS = 1
_GOAL, _STEPS, _AVOID, _AGAIN = "Goal: ", "Steps:", "Avoid:", "Again: "
_STEP = late(r"(?P<number>[1-9]\d?)\. (?P<text>\S.*)")
_ITEM = late(r"- (?P<text>\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """What was to be achieved, the path that succeeded, what failed on the way, and when it is of use again."""

    goal: str
    steps: tuple[str, ...]
    avoid: tuple[str, ...] = ()
    again: str = ""


def render(procedure: Procedure) -> str:
    """The procedure in its layout; `parse` reads it back."""
    lines = [f"{_GOAL}{procedure.goal}", _STEPS]
    lines += [f"{n}. {step}" for n, step in enumerate(procedure.steps, 1)]
    lines += [_AVOID, *(f"- {one}" for one in procedure.avoid)] if procedure.avoid else []
    return "\n".join([*lines, *([f"{_AGAIN}{procedure.again}"] if procedure.again else [])])


def parse(text: str) -> Procedure | None:
    """The procedure that a text is in the layout of, or None."""
    lines = text.split("\n")
    if len(lines) < 2 + _LEAST_STEPS or not lines[0].startswith(_GOAL) or lines[1] != _STEPS:
        return None
    goal, rest = lines[0].removeprefix(_GOAL), lines[2:]
    steps, rest = _read(_STEP, rest)
    avoid: list[str] = []
    if rest and rest[0] == _AVOID:
        avoid, rest = _read(_ITEM, rest[1:])
        if not avoid:
            return None
    again = rest.pop(0).removeprefix(_AGAIN) if rest and rest[0].startswith(_AGAIN) else ""
    found = Procedure(goal=goal, steps=tuple(steps), avoid=tuple(avoid), again=again)
    return found if goal and steps and not rest and render(found) == text else None


def tidy(text: str) -> str:
    """A text as one line of a procedure."""
    return " ".join(clean(text).split()).strip()


def fit(procedure: Procedure, *, chars: int, steps: int) -> Procedure | None:
    """The procedure within so many characters and steps, or None where not even the shortest form of it has room.

    What leads to the success stays longest: of too many steps the last, then fewer words, then what is to be avoided."""
    kept = replace(procedure, steps=procedure.steps[-steps:], avoid=procedure.avoid[:_AVOIDED])
    for avoided, again in ((_AVOIDED, True), (2, True), (1, True), (1, False), (0, False)):
        for most in _LINES:
            one = _within(kept, most, avoided, again=again)
            if len(render(one)) <= chars:
                return one
    return None


def united(new: Procedure, old: Procedure) -> Procedure:
    """The newer path with what failed on the way to either; what succeeds now is no longer to be avoided."""
    taken = {words.fold(step) for step in new.steps}
    both = dict.fromkeys([*new.avoid, *old.avoid])
    kept = tuple(one for one in both if not any(words.fold(one).startswith(f"{_bare(step)} (") for step in taken))
    return replace(new, avoid=kept, again=new.again or old.again)


def _bare(step: str) -> str:
    return re.sub(r"^(?:call|run:?|check with)\s+", "", step)


def _read(pattern: re.Pattern[str], lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines from the start that are of this form, and the rest."""
    found: list[str] = []
    for line in lines:
        one = pattern.fullmatch(line)
        if one is None:
            break
        found.append(one["text"])
    return found, list(lines[len(found) :])


def _within(one: Procedure, most: int, avoided: int, *, again: bool) -> Procedure:
    return Procedure(
        goal=_goal(one.goal, most) if avoided or again else _cut(one.goal, most),
        steps=tuple(_cut(step, most) for step in one.steps),
        avoid=tuple(_cut(item, most) for item in one.avoid[:avoided]),
        again=_cut(one.again, most) if again else "",
    )


def _goal(goal: str, most: int) -> str:
    """The wordings of a goal that have room, the first in any case: half a goal is known as no goal again."""
    kept = goal.split(OR)
    while len(kept) > 1 and len(OR.join(kept)) > most:
        kept.pop()
    return _cut(OR.join(kept), _LINES[0])


def _cut(text: str, most: int) -> str:
    flat = tidy(text)
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"
