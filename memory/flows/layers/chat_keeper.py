"""Chats: turns that are added once, memories that are built from them, and what is recalled for a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muniment.memory.codec import check_range
from muniment.memory.config.settings import Settings
from muniment.memory.domain.layers.chat import RECALL_SCOPES, RecallHit, RecallRequest, RecallScope
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Filters, Hit, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, NoSession
from muniment.memory.flows.layers.session_builder import SessionBuilder
from muniment.memory.flows.layers.session_keeper import SessionKeeper
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.layers.chats import ChatStore
from muniment.memory.ports.layers.sessions import SessionStore
from muniment.memory.ports.ledger import TurnLedger

_PREVIOUS = 4  # turns before an added one, in which the question that it answers is
_HIT_TOKENS = 1_000  # more than any memory has: the number of hits bounds an answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChatKeeper:
    """Adds to chats, builds from them, and recalls. A chat is a session of its user's space."""

    chats: ChatStore
    ledger: TurnLedger
    recall: Recall
    session_builder: SessionBuilder
    session_keeper: SessionKeeper
    sessions: SessionStore
    settings: Settings
    writer: Writer

    async def add_turns(self, scope: Scope, turns: Sequence[Turn]) -> int:
        """Learn by the rules from the user's turns that the scope's session does not have, record these and all others,
        oldest first, and return how many they are. The same turns again change nothing.

        Raises BadInput for a scope without a session, TooLarge before anything is kept, StoreError, ModelError."""
        if not scope.session:
            raise BadInput("session: is missing; turns belong to one")
        self._check_sizes(turns)
        known = await self.ledger.find_existing_turns(scope, [turn.id for turn in turns])
        added = list({turn.id: turn for turn in turns if turn.id not in known}.values())
        if not added:
            return 0
        earlier = await self.chats.read_end(scope, scope.session, _PREVIOUS)
        for number, turn in enumerate(added):
            if turn.role == "user":
                own = replace(scope, actor=turn.actor or scope.actor)
                await self.writer.learn_turn(own, turn, (*earlier, *added[:number])[-_PREVIOUS:])
        await self.writer.record_turns(scope, added)
        return len(added)

    async def flush_session(self, scope: Scope, session: str) -> bool:
        """Build from the open turns of a session, and return whether something was kept of them, now or when they were
        added; False also for a session without turns. Raises StoreError, ModelError: then the turns wait."""
        before = await self.sessions.get_session(scope, session)
        since = before.built_to if before else 0
        try:
            built = await self.session_builder.build_session(scope, session)
        except NoSession:
            return False
        return built.built_to > since and await self.chats.has_kept(scope, session, since, built.built_to)

    async def recall_message(self, scope: Scope, agent: str, request: RecallRequest) -> tuple[RecallHit, ...]:
        """Return what an agent is reminded of by a message, best first: memories of the scopes, and of the chat itself
        also turns of which nothing was kept, found by their words.

        Raises Denied, BadInput for no or an unknown scope and for a `top_k` out of range, StoreError."""
        scopes = frozenset(request.scopes)
        if not scopes or scopes.difference(RECALL_SCOPES):
            raise BadInput(f"scope: some of {', '.join(RECALL_SCOPES)} wanted")
        check_range("top_k", request.top_k, 1, self.settings.limits.top_k)
        query = Query(
            text=request.text,
            filters=_make_filters(scopes, request.chat),
            top_k=request.top_k,
            budget_tokens=_HIT_TOKENS * request.top_k,
        )
        answer = await self.recall.query_memories(replace(scope, session=request.chat), agent, query)
        hits = await self._name_sources(scope, request, answer.hits)
        if "current_chat" in scopes and len(hits) < request.top_k:
            hits += await self._find_turns(scope, request)
        return tuple(sorted(hits, key=lambda hit: -hit.score)[: request.top_k])

    async def _name_sources(self, scope: Scope, request: RecallRequest, hits: Sequence[Hit]) -> list[RecallHit]:
        """Say of each memory which of the scopes it is of."""
        is_wide, has_chat = "all_user_memory" in request.scopes, "current_chat" in request.scopes
        ids = [hit.memory.id for hit in hits] if is_wide and has_chat else []
        said = await self.chats.find_said_in(scope, request.chat, ids) if ids else frozenset()

        def name_source(memory: StoredMemory) -> RecallScope:
            if memory.id in said:
                return "current_chat"
            if "resources" in request.scopes and memory.is_of_resource:
                return "resources"
            return "all_user_memory" if is_wide else "current_chat"

        return [RecallHit(source=name_source(hit.memory), score=hit.score, found=hit) for hit in hits]

    async def _find_turns(self, scope: Scope, request: RecallRequest) -> list[RecallHit]:
        """Return the messages of the chat of which nothing was kept, each with the score and the threshold of a memory
        that is found by the same words alone."""
        found = await self.session_keeper.search_turns(
            scope, None, request.text, request.chat, request.top_k, unkept=True
        )
        recall = self.settings.recall
        return [
            RecallHit(source="current_chat", score=recall.keyword_weight * hit.score, found=hit)
            for hit in found
            if recall.keyword_relevance * hit.score >= recall.threshold
        ]

    def _check_sizes(self, turns: Sequence[Turn]) -> None:
        """Raise TooLarge for a turn that no reader takes, before those beside it are kept."""
        for turn in turns:
            self.writer.turn_reader.check_size(turn)


def _make_filters(scopes: frozenset[RecallScope], chat: str) -> Filters:
    """Return the filters that let pass what is of one of the scopes."""
    if "all_user_memory" in scopes:
        return Filters()
    if scopes == {"resources"}:
        return Filters(from_documents=True)
    return Filters(said_in_or_documents=chat) if "resources" in scopes else Filters(said_in=chat)
