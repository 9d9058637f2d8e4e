"""Extraction by a model: read a turn with its neighbours, ask, repair, and keep the answer as the rules' statements
are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Passage
from muniment.memory.errors import NotFound
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.extraction import extract, gate
from muniment.memory.rules.extraction.alignment import align_candidates
from muniment.memory.rules.extraction.model_answer import FACTS_SCHEMA, SHORT_FACTS_SCHEMA, UncertainFact, parse_facts
from muniment.memory.rules.extraction.support import drop_stray_turns
from muniment.memory.rules.language.tokens import is_legible
from muniment.memory.rules.language.writing import choose_bands
from muniment.memory.rules.procedures.procedure import CATEGORY
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.provenance.quoted import is_echo, is_own_reply
from muniment.memory.rules.redaction.redact import Redactor

_BEFORE, _AFTER = 6, 3
_MAX_NEIGHBOUR_CHARS = 4_000  # characters of a neighbour that the prompt shows
_MAX_TURN_CHARS = 24_000  # characters of the turn itself; of a longer one the beginning and the end
_MIN_ANSWER_TOKENS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelExtraction:
    """Extracts statements from a turn of the ledger with a model."""

    embedder: Embedder
    ledger: TurnLedger
    redactor: Redactor
    settings: Settings
    usage_meter: UsageMeter
    writer: Writer

    async def extract_turn(self, scope: Scope, turn_id: TurnId) -> Receipt:
        """Keep the statements that a model finds in a turn. A turn from which it has extracted before is a replay.

        Raises NotFound, ModelError (the turn can be tried again), StoreError."""
        passage = await self.ledger.get_passage(scope, turn_id, before=_BEFORE, after=_AFTER)
        if passage is None:
            raise NotFound("there is no such turn", turn=str(turn_id))
        if "model" in passage.extracted_by:
            return Receipt(rev=Revision(0), replayed=True)
        turn = passage.turn
        scope_of_turn = replace(scope, session=turn.session, thread=turn.thread, actor=turn.actor or scope.actor)
        role = "assistant" if turn.role == "tool" else turn.role
        if reason := self.redactor.find_denial_reason(scope_of_turn, turn) or gate.find_skip_reason(turn.text, role):
            return Receipt(rev=Revision(0), skipped=reason)
        passage = _trim_passage(passage)
        is_short = self.settings.model.prompts == "short"
        prompt = load_prompt("extract_short" if is_short else "extract", self.settings.model.prompt_folder)
        messages = [
            ChatMessage(role="system", content=prompt.text),
            ChatMessage(role="user", content=self._render_passage(passage)),
        ]
        max_tokens = max(_MIN_ANSWER_TOKENS, self.settings.model.max_output_tokens)
        form = AnswerForm(name="facts", schema=SHORT_FACTS_SCHEMA if is_short else FACTS_SCHEMA, max_tokens=max_tokens)
        answer = await self.usage_meter.ask_model(scope, "extract", messages, form=form)
        facts = parse_facts(
            answer.message.content,
            passage.turns,
            target_numbers=(passage.at + 1,),
            categories=self._list_categories(),
            max_chars=self.settings.limits.memory_chars,
            defer=True,
        )
        similar, dissimilar = await self._compare_uncertain(facts.uncertain)
        candidates, refusals = self._weigh_candidates(passage, facts.candidates + similar)
        refusals = dissimilar + refusals
        record = ExtractionRecord(
            turn=turn.id,
            source="model",
            found=facts.total,
            repaired=facts.repairs,
            refused=facts.refusals + refusals,
            prompt=prompt.version,
            model=self.redactor.redact_text(answer.model),
        )
        extraction = Extraction(candidates=candidates, found_by=prompt.version)
        return await self.writer.commit_extraction(scope_of_turn, extraction, (), "worker", record, said_at=turn.at)

    async def perform_extraction(self, scope: Scope, key: str) -> Receipt:
        """Perform the job `extract`; its key is the id of the turn."""
        return await self.extract_turn(scope, TurnId(UUID(key)))

    async def _compare_uncertain(
        self, uncertain: Sequence[UncertainFact]
    ) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        """Return the candidates that the embedder finds as near to their words as they have to be, and refusals.

        Where it cannot read the script, nothing shows that they are the same in other words."""
        profile = self.settings.find_profile(self.embedder.name)
        legible = [
            each
            for each in uncertain
            if is_legible(profile.scripts, self.redactor.sanitize_text(each.candidate.text), each.support.words)
        ]
        texts = [text for each in legible for text in (each.candidate.text, each.support.words)]
        safe = [self.redactor.sanitize_text(text) for text in texts]
        vectors = await self.embedder.embed_documents(safe) if safe else []
        near = [
            each.candidate
            for each, a, b in zip(legible, vectors[::2], vectors[1::2], strict=True)
            if float(a @ b) >= _find_least_cosine(each, profile)
        ]
        return tuple(near), ("not in the turn",) * (len(uncertain) - len(near))

    def _weigh_candidates(
        self, passage: Passage, candidates: Sequence[Candidate]
    ) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        """Return the candidates, redacted, in the categories and with the trust that the rules give; and refusals."""
        by_rules = extract.extract_statements(passage.turn).facts
        aligned = align_candidates(candidates, by_rules)
        weighed = [
            quoted.weigh_trust(self.writer.sanitize_candidate(drop_stray_turns(each, passage.turns)), passage.turns)
            for each in aligned
        ]
        new = tuple(each for each in weighed if not is_echo(each, passage.turns))
        known, echoes = len(candidates) - len(aligned), len(weighed) - len(new)
        return new, ("known in parts",) * known + ("recalled",) * echoes

    def _render_passage(self, passage: Passage) -> str:
        """Return the turns as JSON, in the form that the prompt describes."""
        conversation = [
            {
                "turn": n,
                "role": turn.role,
                "text": _shorten_text(turn.text, _MAX_TURN_CHARS if n == passage.at + 1 else _MAX_NEIGHBOUR_CHARS),
            }
            | ({"name": turn.actor} if turn.actor else {})
            for n, turn in enumerate(passage.turns, 1)
            if not is_own_reply(turn)
        ]
        slugs = self._list_categories()
        payload = {
            "said_at": passage.turn.at.isoformat(),
            "conversation": conversation,
            "extract_from": [passage.at + 1],
            "categories": {slug: each.label for slug, each in self.settings.categories.items() if slug in slugs},
        }
        return json.dumps(payload, ensure_ascii=False)

    def _list_categories(self) -> frozenset[str]:
        """Return the categories of a statement: all but that of procedures, which are learned from the use of tools."""
        return frozenset(self.settings.categories) - {CATEGORY}


def _find_least_cosine(fact: UncertainFact, profile: EmbedderProfile) -> float:
    bands = choose_bands(profile, fact.candidate.text, fact.support.words)
    return bands.check if fact.support.need == "close" else bands.fallback


def _trim_passage(passage: Passage) -> Passage:
    """Return the passage up to the user's next turn, which has an extraction of its own."""
    after = passage.turns[passage.at + 1 :]
    end = next((n for n, turn in enumerate(after) if turn.role == "user"), len(after))
    return replace(passage, turns=passage.turns[: passage.at + 1 + end])


def _shorten_text(text: str, most: int) -> str:
    """Return about `most` characters: the beginning and the end, where people say what a long paste is about."""
    return text if len(text) <= most else f"{text[: most * 3 // 4]}\n…\n{text[-most // 4 :]}"
