"""Extraction by a model: read turns with their neighbours, ask once, repair, and keep the answer as the rules'
statements are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Passage, Turn
from muniment.memory.errors import NotFound
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.writing.forgotten import Forgotten
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import add_wishes, load_prompt
from muniment.memory.rules.extraction import extract, gate
from muniment.memory.rules.extraction.alignment import align_candidates
from muniment.memory.rules.extraction.model_answer import FACTS_SCHEMA, SHORT_FACTS_SCHEMA, UncertainFact, parse_facts
from muniment.memory.rules.extraction.support import drop_stray_turns
from muniment.memory.rules.language.tokens import is_legible
from muniment.memory.rules.language.writing import choose_bands
from muniment.memory.rules.merging.placement import sanitize_candidate
from muniment.memory.rules.observations.finds import refuse_finds
from muniment.memory.rules.observations.gates import OPEN_GATES, hold_finds
from muniment.memory.rules.procedures.procedure import CATEGORY
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.provenance.quoted import is_echo, is_own_reply
from muniment.memory.rules.redaction.redact import Redactor

_BEFORE, _AFTER = 6, 3
_MAX_NEIGHBOUR_CHARS = 4_000  # characters of a neighbour that the prompt shows
_MAX_TURN_CHARS = 24_000  # characters of the turn itself; of a longer one the beginning and the end
_MIN_ANSWER_TOKENS = 2_000
_ANSWER_TOKENS_OF_TURN = 400  # for the finds of each turn of a request


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelExtraction:
    """Extracts statements from turns of the ledger with a model: one request for a run of turns."""

    embedder: Embedder
    forgotten: Forgotten
    ledger: TurnLedger
    own_prompt: str | None
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
        [receipt] = await self.extract_turns(scope, _trim_passage(passage).turns, [passage.at])
        return receipt

    async def extract_turns(self, scope: Scope, turns: Sequence[Turn], places: Sequence[int]) -> list[Receipt]:
        """Keep the statements that a model finds in the turns at these places among `turns`; the others are context.

        It is asked once. The finds of each turn are a write of their own, in order: what is interrupted is asked again
        for the turns that are left. Raises ModelError, StoreError."""
        is_short = self.settings.model.prompts == "short"
        prompt = add_wishes(
            load_prompt("extract_short" if is_short else "extract", self.settings.model.prompt_folder), self.own_prompt
        )
        messages = [
            ChatMessage(role="system", content=prompt.text),
            ChatMessage(role="user", content=self._render_turns(turns, places)),
        ]
        least = max(_MIN_ANSWER_TOKENS, _ANSWER_TOKENS_OF_TURN * len(places))
        max_tokens = max(least, self.settings.model.max_output_tokens)
        form = AnswerForm(name="facts", schema=SHORT_FACTS_SCHEMA if is_short else FACTS_SCHEMA, max_tokens=max_tokens)
        answer = await self.usage_meter.ask_model(scope, "extract", messages, form=form)
        facts = parse_facts(
            answer.message.content,
            turns,
            target_numbers=[place + 1 for place in places],
            categories=self._list_categories(),
            max_chars=self.settings.limits.memory_chars,
            defer=True,
        )
        similar, dissimilar = await self._compare_uncertain(facts.uncertain)
        passages = [Passage(turns=tuple(turns), at=place) for place in places]
        shares = _share_finds(passages, facts.candidates + similar)
        weighed = [self._weigh_candidates(each, share) for each, share in zip(passages, shares, strict=True)]
        finds = [find for share, _, _ in weighed for find in share]
        known = frozenset(key for _, _, keys in weighed for key in keys)
        lost = {**refuse_finds(finds, self.settings.observations, known)}
        lost |= await self.forgotten.find_forgotten(scope, [passage.turn for passage in passages], finds)
        unclear, model = facts.refusals + dissimilar, self.redactor.redact_text(answer.model)
        receipts = []
        for n, (passage, (share, refusals, _)) in enumerate(zip(passages, weighed, strict=True)):
            # What cannot be said of a turn is counted with the first.
            record = ExtractionRecord(
                turn=passage.turn.id,
                source="model",
                found=len(shares[n]) + (facts.total - sum(map(len, shares)) if n == 0 else 0),
                repaired=facts.repairs if n == 0 else (),
                refused=(unclear if n == 0 else ()) + refusals,
                prompt=prompt.version,
                model=model,
            )
            receipts.append(await self._keep_finds(scope, passage.turn, share, lost, record))
        return receipts

    async def _keep_finds(
        self,
        scope: Scope,
        turn: Turn,
        finds: Sequence[Candidate],
        lost: Mapping[Candidate, str],
        record: ExtractionRecord,
    ) -> Receipt:
        scope_of_turn = replace(scope, session=turn.session, thread=turn.thread, actor=turn.actor or scope.actor)
        extraction = Extraction(
            candidates=tuple(each for each in finds if each not in lost),
            refusals=tuple((each, lost[each]) for each in finds if each in lost),
            found_by=record.prompt,
        )
        if self.settings.finds != OPEN_GATES:
            extraction = hold_finds(extraction, self.settings.finds, has_model=True)
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
    ) -> tuple[tuple[Candidate, ...], tuple[str, ...], frozenset[str]]:
        """Return the candidates, redacted, in the categories and with the trust that the rules give; refusals; and the
        keys of what the rules find in the turn."""
        # Where the rules wait for the model, nothing of theirs is kept that its finds could repeat.
        waits = self.settings.finds.fallback == "wait"
        by_rules = () if waits else extract.extract_statements(passage.turn).facts
        aligned = align_candidates(candidates, by_rules)
        weighed = [
            quoted.weigh_trust(
                sanitize_candidate(drop_stray_turns(each, passage.turns), self.writer.redactor), passage.turns
            )
            for each in aligned
        ]
        new = tuple(each for each in weighed if not is_echo(each, passage.turns))
        known, echoes = len(candidates) - len(aligned), len(weighed) - len(new)
        keys = frozenset(each.fact.key for each in by_rules if each.fact)
        return new, ("known in parts",) * known + ("recalled",) * echoes, keys

    def _render_turns(self, turns: Sequence[Turn], places: Sequence[int]) -> str:
        """Return the turns as JSON, in the form that the prompt describes."""
        said_at = turns[places[0]].at
        conversation = [
            {
                "turn": n + 1,
                "role": turn.role,
                "text": _shorten_text(turn.text, _MAX_TURN_CHARS if n in places else _MAX_NEIGHBOUR_CHARS),
            }
            | ({"name": turn.actor} if turn.actor else {})
            | ({"said_at": turn.at.isoformat()} if n in places and turn.at.date() != said_at.date() else {})
            for n, turn in enumerate(turns)
            if not is_own_reply(turn)
        ]
        slugs = self._list_categories()
        payload = {
            "said_at": said_at.isoformat(),
            "conversation": conversation,
            "extract_from": [place + 1 for place in places],
            "categories": {slug: each.label for slug, each in self.settings.categories.items() if slug in slugs},
        }
        return json.dumps(payload, ensure_ascii=False)

    def _list_categories(self) -> frozenset[str]:
        """Return the categories of a statement: all but that of procedures, which are learned from the use of tools."""
        return frozenset(self.settings.categories) - {CATEGORY}


def _share_finds(passages: Sequence[Passage], candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return the candidates of each of these turns: one of several is that of the last."""
    shares: list[list[Candidate]] = [[] for _ in passages]
    for candidate in candidates:
        own = [n for n, passage in enumerate(passages) if passage.turn.id in candidate.turns]
        shares[own[-1] if own else 0].append(candidate)
    return shares


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
