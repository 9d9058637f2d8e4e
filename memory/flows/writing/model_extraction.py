"""What a model finds in a turn: read it among its neighbours, ask, repair, and keep it as the rules' finds are kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Passage
from muniment.memory.errors import NotFound
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.redactor import Redactor
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.extraction import extract, gate
from muniment.memory.rules.extraction.alignment import align_candidates
from muniment.memory.rules.extraction.model_answer import FACTS_SCHEMA, parse_facts
from muniment.memory.rules.extraction.support import drop_stray_turns
from muniment.memory.rules.procedures.procedure import CATEGORY
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.provenance.fingerprints import is_echo

_BEFORE, _AFTER = 6, 3
_MAX_NEIGHBOUR_CHARS = 4_000  # characters of a neighbour that are shown
_MAX_TURN_CHARS = 24_000  # characters of the turn itself; of a longer one the beginning and the end
_MIN_ANSWER_TOKENS = 2_000  # of an answer, at least


def _trim_passage(passage: Passage) -> Passage:
    """The turn with what leads to it and the reply to it: what the person says next has its own look."""
    after = passage.turns[passage.at + 1 :]
    end = next((n for n, one in enumerate(after) if one.role == "user"), len(after))
    return replace(passage, turns=passage.turns[: passage.at + 1 + end])


def _shorten_text(text: str, most: int) -> str:
    """A text in about so many characters: people say what a long paste is about before it and after it."""
    return text if len(text) <= most else f"{text[: most * 3 // 4]}\n…\n{text[-most // 4 :]}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelExtraction:
    """What a model finds in a turn: read it among its neighbours, ask, repair, and keep it as the rules' finds are kept."""

    ledger: TurnLedger
    redactor: Redactor
    settings: Settings
    usage_meter: UsageMeter
    writer: Writer

    async def extract_turn(self, scope: Scope, turn_id: TurnId) -> Receipt:
        """See `Memory.extract`."""
        passage = await self.ledger.get_passage(scope, turn_id, before=_BEFORE, after=_AFTER)
        if passage is None:
            raise NotFound("there is no such turn", turn=str(turn_id))
        if "model" in passage.extracted_by:
            return Receipt(rev=Revision(0), replayed=True)
        turn = passage.turn
        where = replace(scope, session=turn.session, thread=turn.thread, actor=turn.actor or scope.actor)
        if refusal := self.redactor.find_denial_reason(where, turn):
            return Receipt(rev=Revision(0), skipped=refusal)
        if reason := gate.find_skip_reason(turn.text, "assistant" if turn.role == "tool" else turn.role):
            return Receipt(rev=Revision(0), skipped=reason)
        passage = _trim_passage(passage)
        told = load_prompt("extract")
        messages = [
            ChatMessage(role="system", content=told.text),
            ChatMessage(role="user", content=self._render_passage(passage)),
        ]
        form = AnswerForm(
            name="facts", schema=FACTS_SCHEMA, max_tokens=max(_MIN_ANSWER_TOKENS, self.settings.model.max_output_tokens)
        )
        answer = await self.usage_meter.ask_model(scope, "extract", messages, form=form)
        most = self.settings.limits.memory_chars
        found = parse_facts(
            answer.message.content,
            passage.turns,
            target_numbers=(passage.at + 1,),
            categories=self._list_categories(),
            max_chars=most,
        )
        candidates, echoes = self._weigh_candidates(passage, found.candidates)
        extracted = ExtractionRecord(
            turn=turn_id,
            source="model",
            found=found.total,
            repaired=found.repairs,
            refused=found.refusals + echoes,
            prompt=told.version,
            model=self.redactor.redact_text(answer.model),
        )
        return await self.writer.commit_extraction(
            where, Extraction(candidates=candidates), (), "worker", extracted, said_at=turn.at
        )

    async def perform_extraction(self, scope: Scope, key: str) -> Receipt:
        """The job `extract`; its key is the id of the turn."""
        return await self.extract_turn(scope, TurnId(UUID(key)))

    def _weigh_candidates(
        self, passage: Passage, found: Sequence[Candidate]
    ) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        """The candidates as the rules would file and trust them, and why some are left out."""
        known = extract.extract_statements(passage.turn).candidates
        own = align_candidates(found, known)
        some = [
            quoted.weigh_trust(self.writer.sanitize_candidate(drop_stray_turns(one, passage.turns)), passage.turns)
            for one in own
        ]
        kept = tuple(one for one in some if not is_echo(one, passage.turns))
        return kept, ("known in parts",) * (len(found) - len(own)) + ("recalled",) * (len(some) - len(kept))

    def _render_passage(self, passage: Passage) -> str:
        """The turns as the prompt describes them."""
        conversation = [
            {
                "turn": n,
                "role": one.role,
                "text": _shorten_text(one.text, _MAX_TURN_CHARS if n == passage.at + 1 else _MAX_NEIGHBOUR_CHARS),
            }
            | ({"name": one.actor} if one.actor else {})
            for n, one in enumerate(passage.turns, 1)
        ]
        return json.dumps(
            {
                "said_at": passage.turn.at.isoformat(),
                "conversation": conversation,
                "extract_from": [passage.at + 1],
                "categories": {
                    slug: one.label for slug, one in self.settings.categories.items() if slug in self._list_categories()
                },
            },
            ensure_ascii=False,
        )

    def _list_categories(self) -> frozenset[str]:
        """The categories that a statement may be filed in: how something is done is learned from what was done."""
        return frozenset(self.settings.categories) - {CATEGORY}
