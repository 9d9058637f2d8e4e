"""What of memory stands before a model in a turn: whether the store is asked, and what of its answer is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.requested import load_rules
from muniment.memory.rules.retrieval.render import warm_up as load_vocabulary
from muniment.plugin.compaction import make_turns
from muniment.plugin.domain.item import ItemOwner, MemoryHit, MemoryItem
from muniment.plugin.gates.recall import FRESH, RecallSignals, decide_recall, judge_results
from muniment.plugin.gates.references import find_reference
from muniment.plugin.gates.topic import TopicWindow, make_topic_message
from muniment.plugin.ports import read_counts
from muniment.plugin.reading.finds import find_overruled, make_item, only_asks, read_finds
from muniment.plugin.recall import Recall, Stopwatch, make_found_block, make_stable_block
from muniment.plugin.sessions import FoundBlock, Sessions, SessionState, ShownFinds, StableBlock, TurnDraft

if TYPE_CHECKING:
    from muniment.chain.values import TurnContext
    from muniment.memory.config.settings import Settings
    from muniment.memory.rules.extraction.turn_reader import TurnReader

_NOBODY, _ANY_TIME = "-", datetime(2026, 1, 1, tzinfo=UTC)
# What somebody says at the beginning of a session. It compiles what most first turns need; another language, or another
# sentence, costs a start more than it spares a turn.
_SAMPLE = "Use pnpm, and from now on always write the tests first. We decided to keep Redis for the cart."
_RULES_SECONDS = 0.1  # for reading what the message itself says, before the items that it contradicts are shown


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromptBuilder:
    """Builds the blocks that a turn adds to its prompt: one for the system message, one for the user's."""

    settings: Settings
    recall: Recall
    reader: TurnReader
    sessions: Sessions

    async def build_blocks(
        self, context: TurnContext, owner: ItemOwner, state: SessionState, draft: TurnDraft, blocks: dict[str, str]
    ) -> None:
        """Fill the blocks of a turn, the stable one first: who stops waiting has what was ready. Raises what the store
        raises."""
        gates, at = draft.policy.gates, context.at
        reason = await self._decide(context, owner, state, draft)
        _show_stable(state.stable, draft, blocks)
        hits = state.hits if reason == FRESH else ()
        if draft.recall:
            before = read_counts(self.recall.store).reads
            with Stopwatch(draft.milliseconds, f"{self.settings.plugin.store} search"):
                if state.stable is None:
                    state.stable = make_stable_block(await self.recall.read_stable(owner, at), at, gates)
                    _show_stable(state.stable, draft, blocks)
                text = await asyncio.to_thread(self._prepare_query, context.user_text)
                reference = find_reference(context.user_text)
                hits = await self.recall.search(owner, text, at, gates, reference=reference)
            state.hits, state.searched_at = hits, at
            state.revision = self.sessions.get_revision(owner)
            draft.is_hit = bool(hits or state.stable.items)
            draft.remote_reads = read_counts(self.recall.store).reads - before
        stable = state.stable or StableBlock()
        # A courtesy, a machine and a question contradict nobody.
        may_contradict = (draft.recall or reason == FRESH) and not only_asks(context.user_text)
        if may_contradict and (hits or stable.items):
            gone = await self._find_overruled(context, owner, [*stable.items, *(hit.item for hit in hits)])
            draft.overruled = gone
            hits = tuple(hit for hit in hits if hit.item.id not in gone)
            if not gone.isdisjoint(stable.item_ids):
                stable = make_stable_block([item for item in stable.items if item.id not in gone], at, gates)
                state.stable = stable
                _show_stable(stable, draft, blocks)
        found = _make_found(state, hits, stable, at, draft)
        blocks["user"] = found.text
        draft.item_ids, draft.tokens = (*stable.item_ids, *found.item_ids), stable.tokens + found.tokens

    def load_rules(self) -> None:
        """Load and compile what the first turn needs, by reading a message as it does: no time limit of a turn should
        count it. It blocks."""
        load_rules()
        load_vocabulary()
        owner, gates, at = ItemOwner(user=_NOBODY, session=_NOBODY), self.settings.plugin.gates, _ANY_TIME
        decide_recall(RecallSignals(text=_SAMPLE), gates)
        message = make_topic_message(self._prepare_query(_SAMPLE))
        TopicWindow().add(message, gates.window_turns).measure(message)
        turn = Turn.make(session=_NOBODY, key=_NOBODY, role="user", text=_SAMPLE, at=at)
        finds = read_finds(turn, (), self.reader, self.settings).finds
        items = [make_item(find, owner, at, self.settings.plugin.days) for find in finds]
        find_overruled(finds, items, owner, at, self.settings.plugin.days)
        make_stable_block(items, at, gates)

    async def _decide(self, context: TurnContext, owner: ItemOwner, state: SessionState, draft: TurnDraft) -> str:
        """Let the recall gate decide. The topic is measured by the vector only where the words leave it open."""
        text, gates = context.user_text, draft.policy.gates
        signals = RecallSignals(
            text=text,
            is_machine=context.is_machine,
            is_session_start=state.searched_at is None,
            turns_in_window=state.turns_in_window,
            cache_age_seconds=(context.at - state.searched_at).total_seconds() if state.searched_at else None,
            has_space_changed=state.revision != self.sessions.get_revision(owner),
            best_score=max((hit.score for hit in state.hits), default=None),
        )
        decision = decide_recall(signals, gates)
        if not decision.allowed and decision.reason != FRESH:  # it belongs to no topic
            draft.recall_reason = decision.reason
            return decision.reason
        embedder = self.recall.embedder
        message = make_topic_message(text)
        if decision.reason == FRESH:
            nearness = state.window.measure(message)
            if embedder is not None and nearness is not None and nearness < gates.topic_similarity:
                safe = await asyncio.to_thread(self._prepare_query, text)
                message = make_topic_message(text, await embedder.embed_message(safe), embedder.profile)
                nearness = state.window.measure(message, embedder.profile)
            decision = judge_results(replace(signals, topic_similarity=nearness), gates)
        draft.recall, draft.recall_reason = decision.allowed, decision.reason
        if decision.allowed:
            state.window, state.turns_in_window = TopicWindow(), 0
        state.window = state.window.add(message, gates.window_turns)
        state.turns_in_window += 1
        return decision.reason

    async def _find_overruled(
        self, context: TurnContext, owner: ItemOwner, items: Sequence[MemoryItem]
    ) -> frozenset[str]:
        """The ids of the items that the message itself contradicts; none where reading it takes too long."""
        own, previous = make_turns(context)

        def read() -> frozenset[str]:
            finds = read_finds(own, previous, self.reader, self.settings).finds
            return find_overruled(finds, items, owner, context.at, self.settings.plugin.days)

        reading = asyncio.create_task(asyncio.to_thread(read))
        await asyncio.wait({reading}, timeout=_RULES_SECONDS)
        if not reading.done():
            reading.add_done_callback(_ignore_result)
            return frozenset()
        return reading.result()

    def _prepare_query(self, text: str) -> str:
        """The message as a query: redacted, and no longer than a query may be."""
        return str(self.reader.redactor.sanitize_text(text[: self.settings.limits.query_chars]))


def _show_stable(stable: StableBlock | None, draft: TurnDraft, blocks: dict[str, str]) -> None:
    if stable is not None:
        blocks["system"] = stable.text
        draft.item_ids, draft.tokens = stable.item_ids, stable.tokens


def _make_found(
    state: SessionState, hits: tuple[MemoryHit, ...], stable: StableBlock, at: datetime, draft: TurnDraft
) -> FoundBlock:
    """The block of what was found: that of the turn before where it shows the same on the same day."""
    gates, last = draft.policy.gates, state.found
    if last is None or last.hits is not hits or last.stable is not stable or last.day != at.date():
        block = make_found_block(hits, stable, at, gates)
        state.found = last = ShownFinds(hits=hits, stable=stable, day=at.date(), block=block)
    return last.block


def _ignore_result(task: asyncio.Task[frozenset[str]]) -> None:
    if not task.cancelled():
        task.exception()  # an error that nobody asks for would be logged with its text
