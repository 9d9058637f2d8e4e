"""The page of questions: what its form says, as a query of the engine, as an address and as a command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_args

from starlette.datastructures import QueryParams

from muniment.faces.console.visits import USER, Visit
from muniment.memory.domain.memory import REACHES, FactKind
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.payload import parse_agent_query
from muniment.memory.query_codec import FILTER_KINDS

SECOND = "b."  # the start of the names of the second settings
FILTER = "filter."  # the start of the names of filters
_WHOLE = ("top_k", "budget_tokens")
_OWN_OF_A_SIDE = ("top_k", "budget_tokens", "threshold", "as_of", "profile")
SETTINGS = (*_OWN_OF_A_SIDE, "return", "session", "project", "context")  # which the form hides until one is set
_MAX_DIGITS = 9
_NOT_KEPT = frozenset({USER, "why", "notice", "n"})  # parameters that a link to the same question leaves out
_PLAIN = _NOT_KEPT | {"q", "agent", f"{SECOND}agent"}  # a browser sends the second agent with every question
FILTERS = tuple(name for name in FILTER_KINDS if name not in ("user_id", "category"))
# The filters that have a fixed choice of values.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "pinned": ("true", "false"),
    "importance_min": ("1", "2", "3", "4", "5"),
    "importance_max": ("1", "2", "3", "4", "5"),
    "reach": REACHES,
    "fact_kind": get_args(FactKind),
}
DATES = frozenset(name for name in FILTERS if FILTER_KINDS[name] is datetime)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked by one of at most two settings: the agent and the fields of `memory.query`, and where it is asked.
    `prefix` begins the names of its own fields in the form."""

    text: str
    agent: str
    prefix: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)  # as `memory.query` takes them
    session: str | None = None
    project: str | None = None

    def build_query(self, visit: Visit) -> Query:
        """Return the query, with the reasons of its answer. Raises BadInput."""
        given = {"query": self.text, "explain": True, **self.fields}
        return parse_agent_query(visit.service.settings, self.agent, given)

    def make_scope(self, visit: Visit) -> Scope:
        """Return where the question is asked. Raises BadInput."""
        return visit.caller.make_scope(session=self.session, project=self.project)

    def write_command(self, owner: str, memory_id: str | None = None) -> str:
        """Return the command that asks the same, or why a memory is not in the answer; `owner` is quoted already."""
        asked = shlex.quote(self.text or "*")
        words = ["muniment", "query", asked] if memory_id is None else ["muniment", "why-not", memory_id, "-q", asked]
        words += ["--agent", shlex.quote(self.agent), "--user", owner]
        values = self.fields
        if values.get("categories"):
            words += ["--categories", shlex.quote(",".join(values["categories"]))]
        for name, option in _OPTIONS.items():
            if name in values:
                words += [option, shlex.quote(str(values[name]))]
        for name, value in values.get("filters", {}).items():
            written = str(value).lower() if isinstance(value, bool) else str(value)
            words += ["--filter", shlex.quote(f"{name}={written}")]
        if memory_id is None and "return" in values:
            words += ["--return", values["return"]]
        for option, place in (("--session", self.session), ("--project", self.project)):
            words += [option, shlex.quote(place)] if place else []
        return " ".join([*words, *([] if memory_id else ["--explain"])])


_OPTIONS = {
    "top_k": "--top-k",
    "budget_tokens": "--budget",
    "threshold": "--threshold",
    "as_of": "--as-of",
    "profile": "--profile",
}


def list_agents(visit: Visit) -> Sequence[str]:
    """Return the agents that the token may be."""
    return visit.grant.agents or sorted(visit.service.settings.allowlists)


def read_questions(visit: Visit) -> list[Question]:
    """Return what the address asks: nothing, one question, or the same by two settings. Raises BadInput, and
    NotPermitted for an agent that the token may not be."""
    if "q" not in visit.request.query_params:
        return []
    questions = [_read_question(visit, "")]
    if "compare" in visit.request.query_params:
        questions.append(_read_question(visit, SECOND))
    return questions


def choose_agent(visit: Visit, prefix: str = "") -> str:
    """Return the agent that the form names, or the usual one. Raises NotPermitted for one that the token may not be."""
    named, agents = visit.request.query_params.get(f"{prefix}agent"), list_agents(visit)
    return visit.caller.choose_agent(named or ("supervisor" if "supervisor" in agents else agents[0]))


def has_details(given: QueryParams) -> bool:
    """Whether an address says more than a question and who asks: a setting, a filter, a second answer to compare."""
    return any(value for name, value in given.multi_items() if name not in _PLAIN)


def list_parameters(visit: Visit) -> list[tuple[str, str]]:
    """Return the parameters of the address that are the question's, for links and forms that ask it again."""
    given = visit.request.query_params.multi_items()
    return [(name, value) for name, value in given if name not in _NOT_KEPT and (value or name == "q")]


def _read_question(visit: Visit, prefix: str) -> Question:
    given = visit.request.query_params
    fields: dict[str, Any] = {}
    for name in _OWN_OF_A_SIDE:
        if text := given.get(prefix + name, "").strip():
            fields[name] = _read_number(name, text) if name in _WHOLE or name == "threshold" else text
    if categories := given.getlist("category"):
        fields["categories"] = categories
    if returns := given.get("return"):
        fields["return"] = returns
    if filters := _read_filters(given):
        fields["filters"] = filters
    return Question(
        text=given["q"],
        agent=choose_agent(visit, prefix),
        prefix=prefix,
        fields=fields,
        session=given.get("session", "").strip() or None,
        project=given.get("project", "").strip() or None,
    )


def _read_filters(given: Mapping[str, str]) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    for name in FILTERS:
        if text := given.get(FILTER + name, "").strip():
            kind = FILTER_KINDS[name]
            if kind is bool:
                filters[name] = text == "true"
            else:
                filters[name] = _read_number(name, text) if kind is int else text
    return filters


def _read_number(name: str, text: str) -> int | float:
    """Return a number that a person has typed. Raises BadInput."""
    try:
        if name == "threshold":
            return float(text.replace(",", "."))
        if len(text) <= _MAX_DIGITS:
            return int(text)
    except ValueError:
        pass
    raise BadInput(f"{name}: is no number that fits here")
