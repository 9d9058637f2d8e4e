"""A model's answer about a path becomes a procedure, or nothing: each step is held to the call that it cites.

What a tool has put out is data. A word that is only there, in no call and in nothing that the person asked, makes the whole
answer worthless: the model may have followed what it was only to describe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from muniment.memory.domain.turn import Act
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.json_finder import find
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import vocabulary
from muniment.memory.rules.procedures import outcome
from muniment.memory.rules.procedures.procedure import Procedure, tidy
from muniment.memory.rules.procedures.requests import impersonal
from muniment.memory.rules.procedures.traces import Path
from muniment.memory.rules.provenance import quoted as suspect

_CITED: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["text", "uses"],
        "properties": {"text": {"type": "string"}, "uses": {"type": "array", "items": {"type": "integer"}}},
    },
}
PROCEDURE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["goal", "steps", "avoid"],
    "properties": {
        "goal": {"type": "string"},
        "steps": _CITED,
        "avoid": _CITED,
    },
}
_RESULT = 300  # characters of an output that are shown
_FREE = 0.4  # of a text's words may be the model's own
_NAMES = late(r"[\w./@:-]*(?:[_/@\d]|\w\.\w)[\w./@:-]*")
_EDGES = ".,:;"
_USUAL = words.lexeme_set(
    "call run check verify validate use using start open read write convert export import upload download deploy install build test make set"
    " first then next finally before after with without until when only instead again step tool command option file format result output path"
)
_PLURALS = vocabulary("does fails failed failing fail error errors reason because")


def shown(path: Path) -> str:
    """The path as the prompt describes it."""
    uses = [
        {
            "use": n,
            "tool": act.name,
            "arguments": dict(act.arguments),
            "came_of_it": verdict,
            "output": act.result[:_RESULT],
        }
        for n, (act, verdict) in enumerate(path.acts, 1)
    ]
    return json.dumps({"asked": path.asked, "uses": uses}, ensure_ascii=False)


def read(text: str, path: Path) -> Procedure:
    """The procedure of an answer. Raises BadExtraction when it is not in form, or says what its evidence does not."""
    raw = find(text, "steps")
    steps = tuple(_cited(one, path, failed=False) for one in _listed(raw, "steps"))
    avoid = tuple(_cited(one, path, failed=True) for one in _listed(raw, "avoid"))
    if not steps:
        raise BadExtraction("The model's procedure has no steps.")
    last = next(act for act, verdict in reversed(path.acts) if verdict != "failed")
    if not _tells_of(last, steps[-1]):
        raise BadExtraction("The model's procedure does not end with what succeeded.")
    return replace(path.procedure, goal=_goal(raw, path), steps=steps, avoid=avoid or path.procedure.avoid)


def _listed(raw: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = raw.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise BadExtraction(f"The model's procedure has no list of {name}.")
    return found


def _goal(raw: dict[str, Any], path: Path) -> str:
    """The goal in the model's words, where those are the person's or the calls'; else as the rules have it."""
    said = raw.get("goal")
    goal = impersonal(said) if isinstance(said, str) else None
    known = f"{path.asked}\n{path.procedure.goal}\n{_calls([act for act, _ in path.acts])}"
    return goal if goal and _rests_on(goal, known, _outputs(path)) else path.procedure.goal


def _cited(raw: dict[str, Any], path: Path, *, failed: bool) -> str:
    """A step, or what to avoid, that its uses say. Raises BadExtraction."""
    said, cited = raw.get("text"), raw.get("uses")
    places = [n for n in cited if isinstance(n, int) and 1 <= n <= len(path.acts)] if isinstance(cited, list) else []
    some = [path.acts[n - 1][0] for n in places if (path.acts[n - 1][1] == "failed") == failed]
    text = tidy(said) if isinstance(said, str) else ""
    if not text or not some or suspect.instructs(text):
        raise BadExtraction("The model's procedure has a line that rests on no use of a tool.")
    reasons = "\n".join(outcome.reason(act) for act in some) if failed else ""
    known = "\n".join([_calls(some), path.asked, reasons])
    if not any(_tells_of(act, text) for act in some) or not _rests_on(text, known, _outputs(path)):
        raise BadExtraction("The model's procedure says what no use of a tool shows.")
    return text


def _rests_on(text: str, known: str, outputs: str) -> bool:
    """Whether the names and numbers of a text are known, most of its words too, and none comes from an output alone."""
    names = {one.strip(_EDGES) for one in _NAMES.findall(text)}
    if any(words.fold(name) not in words.fold(known) for name in names if name):
        return False
    own = words.lexeme_set(text) - _USUAL - _PLURALS
    strange = own - words.lexeme_set(known) - words.lexeme_set(known.replace("_", " "))
    return len(strange) <= _FREE * len(own) and not strange & words.lexeme_set(outputs)


def _calls(acts: Sequence[Act]) -> str:
    return "\n".join(f"{act.name} {json.dumps(dict(act.arguments), ensure_ascii=False)}" for act in acts)


def _tells_of(act: Act, text: str) -> bool:
    """Whether a text names the tool, or gives the command that it was given."""
    return act.name in text or bool((told := outcome.command(act)) and tidy(told) in text)


def _outputs(path: Path) -> str:
    return "\n".join(act.result for act, _ in path.acts)
