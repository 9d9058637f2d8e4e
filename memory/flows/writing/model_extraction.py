"""What a model finds in a turn: read it among its neighbours, ask, repair, and keep it as the rules' finds are kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Passage
from muniment.memory.errors import NotFound
from muniment.memory.flows import metering
from muniment.memory.flows.house import House, find_denial_reason
from muniment.memory.flows.writing import write
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


async def extract_turn(house: House, scope: Scope, turn_id: TurnId) -> Receipt:
    """See `Memory.extract`."""
    passage = await house.store.get_passage(scope, turn_id, before=_BEFORE, after=_AFTER)
    if passage is None:
        raise NotFound("there is no such turn", turn=str(turn_id))
    if "model" in passage.extracted_by:
        return Receipt(rev=Revision(0), replayed=True)
    turn = passage.turn
    where = replace(scope, session=turn.session, thread=turn.thread, actor=turn.actor or scope.actor)
    if refusal := find_denial_reason(house, where, turn):
        return Receipt(rev=Revision(0), skipped=refusal)
    if reason := gate.find_skip_reason(turn.text, "assistant" if turn.role == "tool" else turn.role):
        return Receipt(rev=Revision(0), skipped=reason)
    passage = _trim_passage(passage)
    told = load_prompt("extract")
    messages = [
        ChatMessage(role="system", content=told.text),
        ChatMessage(role="user", content=_render_passage(house, passage)),
    ]
    form = AnswerForm(
        name="facts", schema=FACTS_SCHEMA, max_tokens=max(_MIN_ANSWER_TOKENS, house.settings.model.max_output_tokens)
    )
    answer = await metering.ask_model(house, scope, "extract", messages, form=form)
    most = house.settings.limits.memory_chars
    found = parse_facts(
        answer.message.content,
        passage.turns,
        target_numbers=(passage.at + 1,),
        categories=_list_categories(house),
        max_chars=most,
    )
    candidates, echoes = _weigh_candidates(house, passage, found.candidates)
    extracted = ExtractionRecord(
        turn=turn_id,
        source="model",
        found=found.total,
        repaired=found.repairs,
        refused=found.refusals + echoes,
        prompt=told.version,
        model=house.redact(answer.model),
    )
    return await write.commit_extraction(
        house, where, Extraction(candidates=candidates), (), "worker", extracted, said_at=turn.at
    )


async def perform_extraction(house: House, scope: Scope, key: str) -> Receipt:
    """The job `extract`; its key is the id of the turn."""
    return await extract_turn(house, scope, TurnId(UUID(key)))


def _weigh_candidates(
    house: House, passage: Passage, found: Sequence[Candidate]
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """The candidates as the rules would file and trust them, and why some are left out."""
    known = extract.extract_statements(passage.turn).candidates
    own = align_candidates(found, known)
    some = [
        quoted.weigh_trust(write.sanitize_candidate(house, drop_stray_turns(one, passage.turns)), passage.turns)
        for one in own
    ]
    kept = tuple(one for one in some if not is_echo(one, passage.turns))
    return kept, ("known in parts",) * (len(found) - len(own)) + ("recalled",) * (len(some) - len(kept))


def _trim_passage(passage: Passage) -> Passage:
    """The turn with what leads to it and the reply to it: what the person says next has its own look."""
    after = passage.turns[passage.at + 1 :]
    end = next((n for n, one in enumerate(after) if one.role == "user"), len(after))
    return replace(passage, turns=passage.turns[: passage.at + 1 + end])


def _render_passage(house: House, passage: Passage) -> str:
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
                slug: one.label for slug, one in house.categories.items() if slug in _list_categories(house)
            },
        },
        ensure_ascii=False,
    )


def _list_categories(house: House) -> frozenset[str]:
    """The categories that a statement may be filed in: how something is done is learned from what was done."""
    return frozenset(house.categories) - {CATEGORY}


def _shorten_text(text: str, most: int) -> str:
    """A text in about so many characters: people say what a long paste is about before it and after it."""
    return text if len(text) <= most else f"{text[: most * 3 // 4]}\n…\n{text[-most // 4 :]}"
