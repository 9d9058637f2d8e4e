"""Who could read what is known of a person, and what the law asks to be said, as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from muniment.faces.dossier.blocks import Block, Columns, Heading, Line, Paragraph
from muniment.faces.dossier.details import SHORT_ID, Wording

_ASKED = (
    "controller", "purposes", "data", "recipients", "transfers", "storage", "origin", "rights", "complaint",
    "decisions",
)  # fmt: skip


def compose_law(wording: Wording) -> Iterator[Block]:
    """Yield what a request for access asks to be told: what the product knows, and what its operator has to add."""
    texts = wording.texts
    yield Columns((texts("dossier.law.asked"), texts("dossier.law.answer")))
    for name in _ASKED:
        added = texts("dossier.law.operator", what=texts(f"dossier.law.adds.{name}"))
        yield Line((texts(f"dossier.law.asks.{name}"), texts(f"dossier.law.says.{name}") + added))


def compose_readers(wording: Wording) -> Iterator[Block]:
    """Yield the agents, tokens, shares and models by which somebody could read, and what is not known of readers."""
    words = _Readers(wording)
    for part, blocks in (
        ("agents", words.compose_agents()),
        ("tokens", words.compose_tokens()),
        ("shares", words.compose_shares()),
        ("models", words.compose_models()),
    ):
        yield Heading(words.say(f"by_{part}"), f"readers-{part}", level=2)
        yield Paragraph(words.say(f"by_{part}_about"), is_hint=True)
        yield from blocks
    yield Heading(words.say("unknown"), "readers-unknown", level=2)
    yield Paragraph(words.say("unknown_about"))


@dataclass(frozen=True, slots=True)
class _Readers:
    """The words for who could read."""

    wording: Wording

    def say(self, key: str, **values: Any) -> str:
        return self.wording.texts(f"dossier.reader.{key}", **values)

    def compose_agents(self) -> Iterator[Block]:
        yield Columns((self.say("category"), self.say("agents")))
        for category, agents in self.wording.person["readers"].items():
            yield Line((self.wording.name_category(category), ", ".join(agents) or self.say("none")))

    def compose_tokens(self) -> Iterator[Block]:
        tokens = self.wording.person["access"]["tokens"]
        if not tokens:
            yield Paragraph(self.say("no_tokens"))
            return
        yield Columns((self.say("token"), self.say("period"), self.say("opens")))
        for token in tokens:
            opens = self.wording.texts("dossier.record.between").join(self._describe_token(token))
            yield Line((token["token_id"][:SHORT_ID], self._format_period(token), opens))

    def _format_period(self, token: Mapping[str, Any]) -> str:
        at = self.wording.format_moment
        end = self.say("without_end")
        if token["expires_at"]:
            end = self.say("until", at=at(token["expires_at"]))
        if token["revoked_at"]:
            end = self.say("revoked", at=at(token["revoked_at"]))
        return f"{self.say('since', at=at(token['created_at']))}, {end}"

    def _describe_token(self, token: Mapping[str, Any]) -> Iterator[str]:
        at, texts = self.wording.format_moment, self.wording.texts
        yield self.say("own" if token["owner"] else "operator")
        yield self.say("may", what=", ".join(texts(f"dossier.permission.{each}") for each in token["scopes"]))
        if token["projects"]:
            yield self.say("some_projects", projects=", ".join(token["projects"]))
        elif token["agents"]:
            yield self.say("some_agents", agents=", ".join(token["agents"]))
        else:
            yield self.say("all_agents")
        for login in token["logins"]:
            yield self.say("login", since=at(login["since"]), used=at(login["last_used_at"]), until=at(login["until"]))

    def compose_shares(self) -> Iterator[Block]:
        beside = self.wording.person["access"]["beside"]
        for share in beside:
            at = self.wording.format_moment(share["since"])
            yield Paragraph(self.say("beside", owner=share["owner"], by=share["granted_by"], at=at))
        if not beside:
            yield Paragraph(self.say("no_beside"))

    def compose_models(self) -> Iterator[Block]:
        processors = self.wording.person["processors"]
        for each in processors:
            yield Paragraph(self.say(each["task"], model=each["model"], host=each["host"] or self.say("usual_host")))
        if not processors:
            yield Paragraph(self.say("no_models"))
