"""A space in which each column that can hold words holds a canary, planted through the product's own doors."""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from muniment.langchain import MunimentStore
from muniment.memory import bootstrap
from muniment.memory.bootstrap.console_sessions import make_console_sessions
from muniment.memory.bootstrap.plugin_accounts import make_plugin_accounts
from muniment.memory.client import Memory
from muniment.memory.domain.ids import HostItemKey, MemoryId, Revision
from muniment.memory.domain.layers.bisection import ReplayedTurn, ShownStatement
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Relation
from muniment.memory.domain.plugin.account import PluginChange, PluginTurn
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.errors import BadInput
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, note, said
from tests.erasing import commit
from tests.sessions import Line, session

COLUMNS = """
    select c.table_schema || '.' || c.table_name || '.' || c.column_name
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema in ('muniment', 'jobs') and t.table_type = 'BASE TABLE'
      and (c.data_type in ('text', 'character varying', 'json', 'jsonb', 'bytea', 'name')
        or c.data_type = 'ARRAY' and c.udt_name in ('_text', '_varchar', '_json', '_jsonb', '_bytea', '_name'))
    order by 1"""
TABLES = """
    select c.table_schema, c.table_name, array_agg(c.column_name::text order by c.ordinal_position)
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema not in ('pg_catalog', 'information_schema') and t.table_type = 'BASE TABLE'
    group by 1, 2 order by 1, 2"""


# A reason -> the columns that hold no word of a user's and no name that a caller gives.
SILENT: dict[str, tuple[str, ...]] = {
    "one of the names that the product has": (
        "jobs.queue.error", "jobs.queue.name", "jobs.queue.status", "jobs.slots.name",
        "muniment.consent_requests.decision", "muniment.consent_requests.field",
        "muniment.consolidation_runs.status", "muniment.erasures.what",
        "muniment.events.node", "muniment.events.op", "muniment.events.status", "muniment.extractions.source",
        "muniment.journal.action", "muniment.journal.band", "muniment.journal.node", "muniment.memories.kind",
        "muniment.memories.reach", "muniment.memories.role", "muniment.memories.state", "muniment.memories.trust",
        "muniment.memory_versions.kind", "muniment.memory_versions.reach", "muniment.memory_versions.role",
        "muniment.memory_versions.state", "muniment.memory_versions.trust", "muniment.observations.kind",
        "muniment.observations.trust", "muniment.pair_fingerprints.class", "muniment.pair_fingerprints.judgement",
        "muniment.pair_fingerprints.source", "muniment.plugin_audit.action",
        "muniment.projections.status", "muniment.projections.trust",
        "muniment.projections.type", "muniment.relations.relation_type", "muniment.shares.owner_type",
        "muniment.shares.reader_type", "muniment.spaces.owner_type", "muniment.spend.purpose", "muniment.tokens.scopes",
        "muniment.turns.kind", "muniment.turns.role", "muniment.turns.source",
    ),
    "one of the categories of the settings": (
        "muniment.events.category", "muniment.journal.category", "muniment.memories.category",
        "muniment.memory_versions.category", "muniment.observations.category", "muniment.postings.category",
        "muniment.projections.category",
    ),
    "the name of a model or the version of a prompt": (
        "muniment.consolidation_runs.model", "muniment.consolidation_runs.prompt", "muniment.embedders.model",
        "muniment.extractions.model", "muniment.extractions.prompt", "muniment.items.model",
        "muniment.memories.embedding_model", "muniment.memories.next_model", "muniment.memory_versions.embedding_model",
        "muniment.memory_versions.next_model", "muniment.observations.found_by", "muniment.spaces.indexed_model",
        "muniment.spaces.model", "muniment.spend.model", "muniment.tenant_embedders.model",
    ),
    "ids, numbers, digests and classes of errors": (
        "muniment.consolidation_runs.asked", "muniment.consolidation_runs.batch", "muniment.consolidation_runs.classes",
        "muniment.console_sessions.digest", "muniment.consolidation_runs.reason", "muniment.erasures.counts",
        "muniment.host_items.digest", "muniment.host_items.said",
        "muniment.journal.new_ref", "muniment.journal.old_ref", "muniment.plugin_audit.item_id",
        "muniment.plugin_turns.item_ids", "muniment.requests.digest", "muniment.reseals.content",
        "muniment.reseals.salt", "muniment.seals.content", "muniment.seals.digest", "muniment.seals.salt",
        "muniment.spaces.head", "muniment.spaces.tend_terms", "muniment.tokens.digest", "muniment.turns.hash",
    ),
    "a reason in the product's own words": (
        "muniment.extractions.refused", "muniment.extractions.repaired", "muniment.observations.outcome",
        "muniment.plugin_turns.milliseconds", "muniment.plugin_turns.recall_reason", "muniment.plugin_turns.refusals",
    ),
    "a setting of the whole installation: its name, and a number or one of a few names": (
        "muniment.plugin_turns.policy",
        "muniment.setting_changes.former", "muniment.setting_changes.key", "muniment.setting_changes.value",
        "muniment.setting_overrides.key", "muniment.setting_overrides.value",
    ),
    "how a token of the proxy is set up, by its operator: no space has a word of it, and its keys are sealed": (
        "muniment.token_configs.embed_base_url", "muniment.token_configs.embed_body",
        "muniment.token_configs.embed_provider", "muniment.token_configs.hint", "muniment.token_configs.llm_base_url",
        "muniment.token_configs.llm_model", "muniment.token_configs.memory_llm_base_url",
        "muniment.token_configs.memory_llm_body", "muniment.token_configs.memory_llm_provider",
        "muniment.token_configs.memory_place", "muniment.token_configs.memory_prompt",
        "muniment.token_configs.sealed_formers", "muniment.token_configs.sealed_keys",
    ),
    "written by `muniment embedder switch --tenant` alone": ("muniment.tenant_embedders.tenant_id",),
}  # fmt: skip
# What a program puts there verbatim: neither redacted, nor removed with a memory that says the same.
VERBATIM = ("muniment.items.fields", "muniment.items.paths", "muniment.items.value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """What is planted in one space: a word that is said, a word in every name that a caller gives, a secret beside
    what is said, and a wish for something, which may be said in every field that takes a text."""

    said: str
    named: str
    secret: str = ""
    wished: str = ""  # in place of the word where the user says what to grow
    told: str = ""  # in place of the word in every field that takes any text
    operator: str = "operator"  # who changes the settings of the whole installation

    @property
    def scope(self) -> Scope:
        """The space, with every name of a call."""
        return Scope(
            owner=f"owner {self.named}",
            tenant=f"tenant {self.named}",
            agent=f"agent {self.named}",
            session=f"session {self.named}",
            thread=f"thread {self.named}",
            run=f"run {self.named}",
            actor=f"actor {self.named}",
            project=f"project {self.named}",
            app=f"app {self.named}",
        )

    @property
    def words(self) -> str:
        """What a field that takes any text is given."""
        return f"{self.told or self.said} {self.secret}".strip()

    @property
    def tail(self) -> str:
        """A sentence with the secret, if there is one: a statement with a secret in its midst is not kept."""
        return f" The api key is {self.secret}." if self.secret else ""


def list_columns(url: str) -> list[str]:
    """Every column of every table that can hold words, by the catalogue."""
    with psycopg.connect(url) as admin:
        return [name for (name,) in admin.execute(COLUMNS).fetchall()]


def find_hits(url: str, word: str) -> frozenset[str]:
    """The columns of the database, whatever their type, with a word in any case, as text or as bytes."""
    found: list[str] = []
    with psycopg.connect(url) as admin:
        tables = admin.execute(TABLES).fetchall()
        for schema, table, columns in tables:
            tests = [
                sql.SQL("bool_or(lower(t.{0}::text) like %(text)s or t.{0}::text like %(bytes)s)").format(
                    sql.Identifier(column)
                )
                for column in columns
            ]
            query = sql.SQL("select {} from {}.{} t").format(
                sql.SQL(", ").join(tests), *map(sql.Identifier, (schema, table))
            )
            likes = {"text": f"%{word.lower()}%", "bytes": f"%{word.encode().hex()}%"}
            row = admin.execute(query, likes).fetchone() or ()
            found += [f"{schema}.{table}.{column}" for column, hit in zip(columns, row, strict=True) if hit]
    return frozenset(found)


async def plant(memory: Memory, canary: Canary, clock: FixedClock) -> MemoryId:
    """Fill the space of a canary through every door that writes. Returns the memory that says the word."""
    who, word = canary.scope, canary.words
    held = await _state(memory, canary)
    await _converse(memory, canary)
    await _work(memory, canary)
    await _keep(memory, canary)
    await _consolidate(memory, canary, clock)
    await memory.conversation.mark_seen(who, Revision(1))
    event = OpsEvent(node="face", op="search", status="ok", ts=NOON, memory_id=held, thread_id=who.thread)
    await memory.conversation.track(who, event)
    await memory.conversation.flush(who)
    await _account(memory, canary)
    await _bisect(memory, canary)
    store = MunimentStore(memory, who)
    await store.aput(
        (f"space {canary.named}", "notes"),
        f"key {canary.named}",
        {f"on {canary.said}": word},
        index=[f"on {canary.said}"],
    )
    async with bootstrap.open_shares(memory.engine.settings, clock) as shares:
        project = replace(who, owner=f"team {canary.named}", owner_type="project")
        await shares.grant_share(project, who, by=f"granter {canary.named}")
    async with bootstrap.open_tokens(memory.engine.settings, clock, as_owner=True) as tokens:
        _, grant = await tokens.issue_token(tenant=who.tenant, owner=who.owner, agents=(f"agent {canary.named}",))
        await make_console_sessions(tokens).open_session(grant.id)
        await tokens.issue_token(tenant=who.tenant, owner=who.owner, projects=(f"project {canary.named}",))
    await memory.configuration.change_settings({"recall.top_k": 7}, by=canary.operator)
    return held


async def _state(memory: Memory, canary: Canary) -> MemoryId:
    """Statements of a person, requests for consent, and a wish to keep a text."""
    who, word, judge = canary.scope, canary.words, f"judge {canary.named}"
    thread = who.thread or ""
    wish = said(f"I want to grow {canary.wished or canary.said} jam.{canary.tail}", thread=thread)
    if canary.secret:  # what names a thing is refused with a secret, and not stored without it
        with pytest.raises(BadInput):
            await memory.learn(who, wish, aliases=(f"{word} spread",))
    held = (await memory.learn(who, wish, aliases=(f"{canary.said} spread",))).changes[0].after.id
    await memory.pin(who, held)
    for place in (canary.said.capitalize(), f"New {canary.said.capitalize()}"):
        told = await memory.learn(who, said(f"I live in {place}.{canary.tail}", thread=thread))
        if told.consent_requests and "New" not in place:
            ids = [request.id for request in told.consent_requests]
            await memory.decide_consents(who, ids, approve=True, by=judge)
    text = f"The {canary.said} shed is painted green.{canary.tail}"
    more: dict[str, Any] = {"source": f"file {word}", "reach": "project", "expires_at": NOON + timedelta(days=300)}
    await memory.write_once(who, f"key {canary.named}", memory.remember, text, **more)
    return held


async def _converse(memory: Memory, canary: Canary) -> None:
    """Turns of every kind, a session with metadata that is built and ended with a reason."""
    who, word = canary.scope, canary.words
    thread, name = who.thread or "", who.session or ""
    common: dict[str, Any] = {"session": name, "thread": thread, "at": NOON, "actor": f"speaker {canary.named}"}
    turns = [
        Turn.make(key="m", role="user", text=f"We decided to use {canary.said} for the build.{canary.tail}", **common),
        Turn.make(key="r", role="assistant", text=f"Noted: {word} it is.", **common,
            recalled=memory.conversation.shingle_hashes(f"The user wants to grow {canary.wished or canary.said} jam")),
        Turn.make(key="n", role="assistant", text="Done.", tags=(f"on {word}",), **common),
        Turn.make(key="f", role="tool", text="read_file {}\nok", kind="file", path=f"docs/{word}.md", **common),
        Turn.make(key="t", role="tool", text="note {}\nok", **common,
            payload={"note": word, "tokens": {"input": 1, "output": 2}}),
        Turn.make(key="a", role="system", text=f"seen by {word}", kind="audit", visible=False, **common),
    ]  # fmt: skip
    await memory.conversation.record(who, turns)
    await memory.sessions.describe(who, name, {"title": f"about {word}"})
    await memory.sessions.keep(who, name, days=40)
    await memory.sessions.end(who, name, why=f"done with {word}")
    await memory.sessions.search(who, word)
    stream = f"stream {canary.named}"
    message = Turn.make(session=stream, key="s", role="user", text=f"So: {word}.", at=NOON, payload={"told": word})
    await memory.sessions.append_messages(replace(who, session=stream), [message], days=40)


def _lines(word: str) -> Sequence[Line]:
    return [
        ("user", f"Extract the {word} tables from {word}.pdf"),
        ("parse_pdf", {"path": f"{word}.pdf", "engine": "fast"}, f"ValueError: no {word} layer", False),
        ("user", "Try again please."),
        ("parse_pdf", {"path": f"{word}.pdf", "engine": "ocr"}, f"12 {word} tables", True),
    ]


async def _work(memory: Memory, canary: Canary) -> None:
    """A path that was found in the results of tools, and its review."""
    who = replace(canary.scope, thread=f"work {canary.named}", session=f"work {canary.named}")
    await memory.conversation.record(who, session(_lines(canary.words), thread=who.thread or ""))
    await memory.conversation.learn_path(who)
    for skill in await memory.projections.list_skills(who):
        await memory.projections.review_skill(who, str(skill.id), publish=True, by=f"judge {canary.named}")


async def _account(memory: Memory, canary: Canary) -> None:
    """What the plugin of a host counts of a turn, and what a person changes by its commands."""
    accounts, who, place = make_plugin_accounts(memory), canary.scope, f"plugin {canary.named}"
    turn = PluginTurn(session_id=place, turn_id=f"turn {canary.named}", project_id=place, at=NOON, item_ids=("1",))
    await accounts.record_turns(who, [turn])
    await accounts.write_switch(who, place, is_on=False)
    await accounts.record_change(who, PluginChange(session_id=place, project_id=place, at=NOON, action="off"))


async def _bisect(memory: Memory, canary: Canary) -> None:
    """A reply that is made again, and says the word."""
    turn = ReplayedTurn(
        thread=canary.scope.thread or "",
        position=0,
        message=f"What about {canary.words}?",
        reply=None,
        at=NOON,
        rev=Revision(0),
        shown=(),
        is_kept=True,
        digest="",
    )
    await memory.bisect(canary.scope, _Echo(turn, f"It is {canary.words}."), expect="nothing of it")


@dataclass(frozen=True)
class _Echo:
    """A turn that always has the same reply."""

    turn: ReplayedTurn
    reply: str

    async def make_reply(self, kept: AbstractSet[str], added: Sequence[ShownStatement] = ()) -> str:
        """Return the reply, whatever is shown."""
        del kept, added
        return self.reply


async def _keep(memory: Memory, canary: Canary) -> None:
    """What a program keeps with everything that can be said of it, and a former version of it."""
    who, word = canary.scope, canary.words
    label = canary.told or canary.said  # with a secret it is refused
    fact = Fact(kind="preference", predicate="likes", object=f"{word} soup", persons=(word,), topic=word)
    soup = replace(note(f"The user likes {canary.said} soup", "preferences"), kind="semantic", fact=fact)
    await memory.ingest(who, [soup, note("The tower was open", aliases=(f"{label} feast",))])
    kept = await memory.keep_candidates(
        who,
        [
            replace(
                note(f"Saw the {canary.said} fair in Lyon"),
                context=f"asked about {word}",
                tags=(f"tag {word}",),
                source=f"page {word}",
                actor=f"speaker {canary.named}",
                expires_at=NOON + timedelta(days=300),
                event_time=NOON,
            )
        ],
    )
    for spare in ("feast", "banquet"):
        await memory.set_aliases(who, kept.changes[0].after.id, (f"{canary.said} {spare}",))
    await memory.pin(who, kept.changes[0].after.id)
    hall = await memory.relate(who, f"{canary.said.capitalize()} Hall", "needs", f"{canary.said.capitalize()} Mill")
    key = HostItemKey(id=uuid4(), digest=bytes(32))
    await memory.host_items.keep(who, replace(note(f"Saw the {canary.said} parade in Nantes"), item=key))
    edge = Relation(a=kept.changes[0].after.id, b=hall.changes[0].after.id, strength=0.5)
    await commit(memory, who, relations=(edge,))


async def _consolidate(memory: Memory, canary: Canary, clock: FixedClock) -> None:
    who, word = canary.scope, canary.words
    twins = (f"The user grows {word} on the balcony", f"On the balcony the user grows {word}")
    await memory.ingest(who, [note(text) for text in twins])
    await memory.admin.consolidate(who)
    await memory.conversation.capture(who)
