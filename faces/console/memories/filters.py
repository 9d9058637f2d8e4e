"""What a list of memories is narrowed by: read from the address of the page, and written into the next one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from starlette.datastructures import QueryParams

from muniment.memory import query_codec
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import KINDS, STATES, TRUSTS, StoredMemory
from muniment.memory.domain.query import Filters, ListRequest, Query
from muniment.memory.errors import BadInput

PAGE = 50  # memories at once
_MOST_TOKENS = 1_000_000  # of an answer that is shown as a list: its budget is the page
_WORDS = "words"  # the way of a search that looks for the words as they stand; the others are names of agents
_NAMES = ("category", "kind", "state", "trust", "source", "agent", "session", "pinned", "since", "until")
_MAX_CHARS = 300
_REV_DIGITS = 18  # of a revision, which is a bigint


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """What a list of memories is narrowed by, as the form of the page has it: texts, empty for nothing."""

    text: str = ""
    way: str = _WORDS  # or the agent as which memory is asked
    values: Mapping[str, str]
    after: tuple[Revision, MemoryId] | None = None

    @property
    def is_question(self) -> bool:
        """Whether memory is asked by meaning."""
        return self.way != _WORDS and bool(self.text)

    @property
    def is_empty(self) -> bool:
        """Whether nothing narrows the list."""
        return not self.text and not self.is_narrowed

    @property
    def is_narrowed(self) -> bool:
        """Whether anything beside a text narrows the list."""
        return any(self.values.values())

    @property
    def address(self) -> dict[str, str]:
        """The parameters of an address with this filter, without the place in the list."""
        given = {"q": self.text, "way": self.way if self.way != _WORDS else "", **self.values}
        return {name: value for name, value in given.items() if value}

    def make_listing(self, allowed: Sequence[str]) -> ListRequest:
        """Return the request for a page of the list; without a category it is of those that are `allowed`. Raises
        BadInput for a time that cannot be read."""
        values = self.values
        since, until = self._parse_times()
        state = values["state"]
        return ListRequest(
            categories=(values["category"],) if values["category"] else tuple(allowed),
            kinds=(values["kind"],) if values["kind"] else (),
            trusts=(values["trust"],) if values["trust"] else (),
            states=STATES if state == "all" else (state or "active",),
            pinned={"yes": True, "no": False}.get(values["pinned"]),
            contains=self.text or None,
            source=values["source"] or None,
            session_id=values["session"] or None,
            agent_id=values["agent"] or None,
            since=since,
            until=until,
            everywhere=True,
            limit=PAGE,
            after=self.after,
        )

    def make_query(self) -> Query:
        """Return the question to memory. Raises BadInput for a time that cannot be read, and for a filter of the list
        that a question does not have."""
        values = self.values
        if values["state"] not in ("", "active"):
            raise BadInput("state: a search by meaning finds what is active, and nothing else")
        since, until = self._parse_times()
        filters = Filters(
            category=values["category"] or None,
            source=values["source"] or None,
            session_id=values["session"] or None,
            agent_id=values["agent"] or None,
            pinned={"yes": True, "no": False}.get(values["pinned"]),
            updated_after=since,
            updated_before=until,
        )
        return Query(text=self.text, top_k=PAGE, returns="full", budget_tokens=_MOST_TOKENS, filters=filters)

    def keeps_hit(self, memory: StoredMemory) -> bool:
        """Whether a hit is of the kind and the trust that are wanted, which a question does not have as filters."""
        return self.values["kind"] in ("", memory.kind) and self.values["trust"] in ("", memory.trust)

    def build_command(self, owner: str) -> str:
        """Return the command line that lists the same; `owner` is a word of a command line."""
        values = self.values
        if self.is_question:
            named = {"category": "category", "source": "source", "agent": "agent_id", "session": "session_id"}
            parts = ["query", shlex.quote(self.text), "--agent", shlex.quote(self.way)]
            for name, filter_ in named.items():
                if values[name]:
                    parts += ["--filter", shlex.quote(f"{filter_}={values[name]}")]
            return " ".join(["muniment", *parts, "--user", owner])
        options = {"source": "source", "agent": "agent-id", "session": "session-id"}
        parts = ["muniment", "list", "--everywhere"]
        if self.text:
            parts += ["--contains", shlex.quote(self.text)]
        for name in ("category", "kind", "state", "trust", "source", "agent", "session", "since", "until"):
            if values[name]:
                parts += [f"--{options.get(name, name)}", shlex.quote(values[name])]
        if values["pinned"]:
            parts.append("--pinned" if values["pinned"] == "yes" else "--not-pinned")
        return " ".join([*parts, "--user", owner])

    def move_after(self, memory: StoredMemory) -> dict[str, str]:
        """Return the address of the page that follows a memory."""
        return self.address | {"after": f"{memory.rev}.{memory.id.hex}"}

    def drop_filter(self) -> MemoryFilter:
        """Return the filter without anything that narrows the list."""
        return replace(self, text="", values=dict.fromkeys(_NAMES, ""), after=None)

    def _parse_times(self) -> tuple[datetime | None, datetime | None]:
        since, until = self.values["since"], self.values["until"]
        return (
            query_codec.parse_time(since, "since") if since else None,
            query_codec.parse_end_time(until, "until") if until else None,
        )


def read_filter(given: QueryParams, ways: Sequence[str]) -> MemoryFilter:
    """Return what the address of a page asks for; `ways` are the agents as which a visitor may ask. Raises BadInput for
    a value that there is not, and for a name that is too long."""
    values: dict[str, Any] = {name: given.get(name, "").strip() for name in _NAMES}
    allowed = {"kind": KINDS, "state": (*STATES, "all"), "trust": TRUSTS, "pinned": ("yes", "no")}
    for name, value in values.items():
        if len(value) > _MAX_CHARS:
            raise BadInput(f"{name}: has {len(value):,} characters; at most {_MAX_CHARS} are allowed")
        if value and name in allowed and value not in allowed[name]:
            raise BadInput(f"{name}: is none of {', '.join(allowed[name])}")
    way = given.get("way") or _WORDS
    if way != _WORDS and way not in ways:
        raise BadInput("way: is none of those that the page has")
    return MemoryFilter(text=given.get("q", "").strip(), way=way, values=values, after=_parse_place(given.get("after")))


def _parse_place(given: str | None) -> tuple[Revision, MemoryId] | None:
    """Return the place in a list after which a page begins. Raises BadInput for what is none."""
    if not given:
        return None
    rev, _, id_ = given.partition(".")
    is_number = rev.isascii() and rev.isdigit() and len(rev) <= _REV_DIGITS
    try:
        place = Revision(int(rev if is_number else "")), MemoryId(UUID(hex=id_))
    except ValueError:
        raise BadInput("after: is no place in the list") from None
    return place
