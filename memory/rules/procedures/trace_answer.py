"""A model's answer about a path becomes a procedure, or nothing: each step is held to the call that it cites.

What a tool has put out is data. A word that is only there, in no call and in nothing that the person asked, makes the whole
answer worthless: the model may have followed what it was only to describe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from muniment.memory.domain.turn import RecordedToolUse
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.json_finder import find_json
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.procedures import outcome
from muniment.memory.rules.procedures.procedure import Procedure, flatten_text
from muniment.memory.rules.procedures.requests import make_impersonal
from muniment.memory.rules.procedures.traces import SolutionPath
from muniment.memory.rules.provenance import quoted

_CITED_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["text", "uses"],
        "properties": {"text": {"type": "string"}, "uses": {"type": "array", "items": {"type": "integer"}}},
    },
}
PROCEDURE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["goal", "steps", "avoid"],
    "properties": {"goal": {"type": "string"}, "steps": _CITED_SCHEMA, "avoid": _CITED_SCHEMA},
}
_RESULT = 300  # characters of an output that are shown
_FREE = 0.4  # of a text's words may be the model's own
_NAMES = lazy_compile(r"[\w./@:-]*(?:[_/@\d]|\w\.\w)[\w./@:-]*")
_EDGES = ".,:;"
_USUAL = tokens.get_lexeme_set(
    "call run check verify validate use using start open read write convert export import upload download deploy "
    "install build test make set first then next finally before after with without until when only instead again step "
    "tool command option file format result output path"
)
_PLURALS = parse_vocabulary("does fails failed failing fail error errors reason because")


def describe_path(path: SolutionPath) -> str:
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
    return json.dumps({"asked": path.request, "uses": uses}, ensure_ascii=False)


def parse_procedure_answer(text: str, path: SolutionPath) -> Procedure:
    """The procedure of an answer. Raises BadExtraction when it is not in form, or says what its evidence does not."""
    raw = find_json(text, "steps")
    steps = tuple(_check_line(one, path, is_failure=False) for one in _read_list(raw, "steps"))
    avoid = tuple(_check_line(one, path, is_failure=True) for one in _read_list(raw, "avoid"))
    if not steps:
        raise BadExtraction("The model's procedure has no steps.")
    last = next(act for act, verdict in reversed(path.acts) if verdict != "failed")
    if not _mentions_call(last, steps[-1]):
        raise BadExtraction("The model's procedure does not end with what succeeded.")
    return replace(path.procedure, goal=_choose_goal(raw, path), steps=steps, avoid=avoid or path.procedure.avoid)


def _read_list(raw: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = raw.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise BadExtraction(f"The model's procedure has no list of {name}.")
    return found


def _choose_goal(raw: dict[str, Any], path: SolutionPath) -> str:
    """The goal in the model's words, where those are the person's or the calls'; else as the rules have it."""
    said = raw.get("goal")
    goal = make_impersonal(said) if isinstance(said, str) else None
    known = f"{path.request}\n{path.procedure.goal}\n{_format_calls([act for act, _ in path.acts])}"
    return goal if goal and _is_grounded(goal, known, _join_outputs(path)) else path.procedure.goal


def _check_line(raw: dict[str, Any], path: SolutionPath, *, is_failure: bool) -> str:
    """A step, or what to avoid, that its uses say. Raises BadExtraction."""
    said, cited = raw.get("text"), raw.get("uses")
    places = [n for n in cited if isinstance(n, int) and 1 <= n <= len(path.acts)] if isinstance(cited, list) else []
    some = [path.acts[n - 1][0] for n in places if (path.acts[n - 1][1] == "failed") == is_failure]
    text = flatten_text(said) if isinstance(said, str) else ""
    if not text or not some or quoted.has_instructions(text):
        raise BadExtraction("The model's procedure has a line that rests on no use of a tool.")
    reasons = "\n".join(outcome.explain_failure(act) for act in some) if is_failure else ""
    known = "\n".join([_format_calls(some), path.request, reasons])
    if not any(_mentions_call(act, text) for act in some) or not _is_grounded(text, known, _join_outputs(path)):
        raise BadExtraction("The model's procedure says what no use of a tool shows.")
    return text


def _is_grounded(text: str, evidence: str, outputs: str) -> bool:
    """Whether the names and numbers of a text are known, most of its words too, and none comes from an output alone."""
    names = {one.strip(_EDGES) for one in _NAMES.findall(text)}
    if any(tokens.fold_text(name) not in tokens.fold_text(evidence) for name in names if name):
        return False
    own = tokens.get_lexeme_set(text) - _USUAL - _PLURALS
    strange = own - tokens.get_lexeme_set(evidence) - tokens.get_lexeme_set(evidence.replace("_", " "))
    return len(strange) <= _FREE * len(own) and not strange & tokens.get_lexeme_set(outputs)


def _format_calls(acts: Sequence[RecordedToolUse]) -> str:
    return "\n".join(f"{act.name} {json.dumps(dict(act.arguments), ensure_ascii=False)}" for act in acts)


def _mentions_call(act: RecordedToolUse, text: str) -> bool:
    """Whether a text names the tool, or gives the command that it was given."""
    return act.name in text or bool((told := outcome.extract_command(act)) and flatten_text(told) in text)


def _join_outputs(path: SolutionPath) -> str:
    return "\n".join(act.result for act, _ in path.acts)
