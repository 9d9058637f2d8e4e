"""A model's answer about a path as a procedure. Each line must be proven by the tool calls that it cites.

The output of a tool is data. A word that is only in an output, and in no call and no request, voids the answer: the
model may have followed an instruction in that output."""

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
from muniment.memory.rules.language.lexicon import load_lexicon
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
_RESULT = 300  # characters of an output in the prompt
_FREE = 0.4  # of a text's words may be the model's own
_NAMES = lazy_compile(r"[\w./@:-]*(?:[_/@\d]|\w\.\w)[\w./@:-]*")
_EDGES = ".,:;"
_WORDS = load_lexicon("procedures.en")
_USUAL = tokens.get_lexeme_set(_WORDS.get_text("usual")) | _WORDS.get_words("usual_failures")


def describe_path(path: SolutionPath) -> str:
    """The path as JSON for the prompt: the request, and the calls with their outcomes and outputs."""
    uses = [
        {
            "use": n,
            "tool": use.name,
            "arguments": dict(use.arguments),
            "came_of_it": verdict,
            "output": use.result[:_RESULT],
        }
        for n, (use, verdict) in enumerate(path.uses, 1)
    ]
    return json.dumps({"asked": path.request, "uses": uses}, ensure_ascii=False)


def parse_procedure_answer(text: str, path: SolutionPath) -> Procedure:
    """The procedure of an answer. Raises BadExtraction when the form is wrong or a line is not proven by its calls."""
    raw = find_json(text, "steps")
    steps = tuple(_check_line(line, path, is_failure=False) for line in _read_list(raw, "steps"))
    avoid = tuple(_check_line(line, path, is_failure=True) for line in _read_list(raw, "avoid"))
    if not steps:
        raise BadExtraction("The model's procedure has no steps.")
    last = next(use for use, verdict in reversed(path.uses) if verdict != "failed")
    if not _mentions_call(last, steps[-1]):
        raise BadExtraction("The model's procedure does not end with what succeeded.")
    return replace(path.procedure, goal=_choose_goal(raw, path), steps=steps, avoid=avoid or path.procedure.avoid)


def _read_list(raw: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = raw.get(name)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadExtraction(f"The model's procedure has no list of {name}.")
    return items


def _choose_goal(raw: dict[str, Any], path: SolutionPath) -> str:
    """The goal of the model if its words are those of the request or the calls, else the goal of the rules."""
    raw_goal = raw.get("goal")
    goal = make_impersonal(raw_goal) if isinstance(raw_goal, str) else None
    evidence = f"{path.request}\n{path.procedure.goal}\n{_format_calls([use for use, _ in path.uses])}"
    return goal if goal and _is_grounded(goal, evidence, _join_outputs(path)) else path.procedure.goal


def _check_line(raw: dict[str, Any], path: SolutionPath, *, is_failure: bool) -> str:
    """The text of a step or an item to avoid. Raises BadExtraction when the calls that it cites do not prove it."""
    raw_text, cited = raw.get("text"), raw.get("uses")
    places = [n for n in cited if isinstance(n, int) and 1 <= n <= len(path.uses)] if isinstance(cited, list) else []
    uses = [path.uses[n - 1][0] for n in places if (path.uses[n - 1][1] == "failed") == is_failure]
    text = flatten_text(raw_text) if isinstance(raw_text, str) else ""
    if not text or not uses or quoted.has_instructions(text):
        raise BadExtraction("The model's procedure has a line that rests on no use of a tool.")
    reasons = "\n".join(outcome.explain_failure(use) for use in uses) if is_failure else ""
    evidence = "\n".join([_format_calls(uses), path.request, reasons])
    if not any(_mentions_call(use, text) for use in uses) or not _is_grounded(text, evidence, _join_outputs(path)):
        raise BadExtraction("The model's procedure says what no use of a tool shows.")
    return text


def _is_grounded(text: str, evidence: str, outputs: str) -> bool:
    """Whether the evidence has all names and most words of a text, and no word comes from an output alone."""
    names = {name.strip(_EDGES) for name in _NAMES.findall(text)}
    if any(tokens.fold_text(name) not in tokens.fold_text(evidence) for name in names if name):
        return False
    own = tokens.get_lexeme_set(text) - _USUAL
    strange = own - tokens.get_lexeme_set(evidence) - tokens.get_lexeme_set(evidence.replace("_", " "))
    return len(strange) <= _FREE * len(own) and not strange & tokens.get_lexeme_set(outputs)


def _format_calls(uses: Sequence[RecordedToolUse]) -> str:
    return "\n".join(f"{use.name} {json.dumps(dict(use.arguments), ensure_ascii=False)}" for use in uses)


def _mentions_call(use: RecordedToolUse, text: str) -> bool:
    """Whether a text has the name of the tool or the command that it ran."""
    return use.name in text or bool((command := outcome.extract_command(use)) and flatten_text(command) in text)


def _join_outputs(path: SolutionPath) -> str:
    return "\n".join(use.result for use, _ in path.uses)
