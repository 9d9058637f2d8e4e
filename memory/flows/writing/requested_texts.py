"""What a person or a program asks to keep by a call, without a turn of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from muniment.memory.config.settings import Settings
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Receipt, raise_refusal
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Placement, Turn
from muniment.memory.errors import BadInput
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.rules.extraction.gate import SUMMARY_RULES
from muniment.memory.rules.merging.placement import check_placement, place_candidates
from muniment.memory.rules.redaction.secret_names import describe_redactions

_REPHRASE_ADVICE = "Say it without the secret: nothing of it was kept."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestedTexts:
    """Keeps texts and relations that a call states, each as a turn of its own."""

    clock: Clock
    settings: Settings
    writer: Writer

    async def remember_text(
        self,
        scope: Scope,
        text: str,
        category: str | None,
        aliases: Sequence[str] = (),
        placement: Placement | None = None,
    ) -> Receipt:
        """Keep a text that a person asks to remember: as the statements that the rules find, or word for word.

        The receipt names what was redacted or cut off. Raises BadInput for an unknown category, an empty text, a
        question, a mere "ok", an alias or a placement that cannot be kept, and a text that cannot be kept as it
        stands."""
        if category is not None and category not in self.settings.categories:
            raise BadInput(f"unknown category {category!r}; allowed: {', '.join(sorted(self.settings.categories))}")
        own = self._make_own_turn(scope, text)
        turn, found = await self.writer.read_texts(self.writer.turn_reader.read_requested_text, (own,), own)
        candidates = self.writer.name_candidates(found, aliases)
        if category is not None:
            candidates = tuple(replace(candidate, category=category) for candidate in candidates)
        if placement is not None:
            placed = check_placement(placement, scope, self.clock.now(), self.writer.redactor)
            candidates = place_candidates(candidates, placed)
        receipt = await self.writer.commit_extraction(scope, Extraction(candidates=candidates), (turn,), "face")
        if receipt.refused and not receipt.changes:
            is_secret = set(receipt.refused) == {"a secret"}
            advice = _REPHRASE_ADVICE if is_secret else SUMMARY_RULES.format(most=self.settings.limits.memory_chars)
            raise BadInput(f"cannot be remembered as it stands: {'; '.join(receipt.refused)}. {advice}")
        return replace(receipt, left_out=(*describe_redactions(turn.text), *receipt.left_out))

    async def keep_relation(self, scope: Scope, text: str, fact: Fact, category: str) -> Receipt:
        """Keep a relation that a caller states, as what it says and as a fact. Raises BadInput where it cannot be
        kept."""
        turn = self._make_own_turn(scope, text)
        candidate = Candidate(text=text, category=category, fact=fact, turns=(turn.id,), importance=3, confidence=1.0)
        return raise_refusal(await self.writer.keep_candidates(scope, (candidate,), (turn,), node="face"))

    def _make_own_turn(self, scope: Scope, text: str) -> Turn:
        """Return what a person has kept by a call, as a turn of theirs."""
        return Turn.make(
            session=scope.session or "remember",
            key=str(uuid4()),
            role="user",
            text=text,
            at=self.clock.now(),
            thread=scope.thread,
            actor=scope.actor,
        )
