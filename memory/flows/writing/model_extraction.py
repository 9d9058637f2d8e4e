"""What a model finds in a turn: read it among its neighbours, ask, repair, and keep it as the rules' finds are kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.plan import Extracted, Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Passage
from muniment.memory.errors import NotFound
from muniment.memory.flows import metering as spend
from muniment.memory.flows.house import House, unwanted
from muniment.memory.flows.writing import write
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import prompt
from muniment.memory.rules.extraction import extract as rules, gate
from muniment.memory.rules.extraction.alignment import align
from muniment.memory.rules.extraction.model_answer import FACTS, read
from muniment.memory.rules.extraction.support import said_in
from muniment.memory.rules.procedures.procedure import CATEGORY
from muniment.memory.rules.provenance import quoted as suspect
from muniment.memory.rules.provenance.fingerprints import echoed

_BEFORE, _AFTER = 6, 3
_LONGEST = 4_000  # characters of a neighbour that are shown
_WHOLE = 24_000  # characters of the turn itself; of a longer one the beginning and the end
_TOKENS = 2_000  # of an answer, at least


async def extract(house: House, scope: Scope, turn_id: TurnId) -> Receipt:
    """See `Memory.extract`."""
    passage = await house.store.passage(scope, turn_id, before=_BEFORE, after=_AFTER)
    if passage is None:
        raise NotFound("there is no such turn", turn=str(turn_id))
    if "model" in passage.looked:
        return Receipt(rev=Revision(0), replayed=True)
    turn = passage.turn
    where = replace(scope, session=turn.session, thread=turn.thread, actor=turn.actor or scope.actor)
    if refusal := unwanted(house, where, turn):
        return Receipt(rev=Revision(0), skipped=refusal)
    if reason := gate.skip(turn.text, "assistant" if turn.role == "tool" else turn.role):
        return Receipt(rev=Revision(0), skipped=reason)
    passage = _understood_by(passage)
    told = prompt("extract")
    messages = [ChatMessage(role="system", content=told.text), ChatMessage(role="user", content=_asked(house, passage))]
    form = AnswerForm(name="facts", schema=FACTS, max_tokens=max(_TOKENS, house.settings.model.max_output_tokens))
    answer = await spend.ask(house, scope, "extract", messages, form=form)
    most = house.settings.limits.memory_chars
    found = read(answer.message.content, passage.turns, asked=(passage.at + 1,), categories=_filed(house), most=most)
    candidates, echoes = _weighed(house, passage, found.candidates)
    looked = Extracted(
        turn=turn_id,
        source="model",
        found=found.found,
        repaired=found.repaired,
        refused=found.refused + echoes,
        prompt=told.version,
        model=house.redact(answer.model),
    )
    return await write.settle(house, where, Extraction(candidates=candidates), (), "worker", looked, said_at=turn.at)


async def perform(house: House, scope: Scope, key: str) -> Receipt:
    """The job `extract`; its key is the id of the turn."""
    return await extract(house, scope, TurnId(UUID(key)))


def _weighed(
    house: House, passage: Passage, found: Sequence[Candidate]
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """The candidates as the rules would file and trust them, and why some are left out."""
    known = rules.extract(passage.turn).candidates
    own = align(found, known)
    some = [suspect.weigh(write.safe_candidate(house, said_in(one, passage.turns)), passage.turns) for one in own]
    kept = tuple(one for one in some if not echoed(one, passage.turns))
    return kept, ("known in parts",) * (len(found) - len(own)) + ("recalled",) * (len(some) - len(kept))


def _understood_by(passage: Passage) -> Passage:
    """The turn with what leads to it and the reply to it: what the person says next has its own look."""
    after = passage.turns[passage.at + 1 :]
    end = next((n for n, one in enumerate(after) if one.role == "user"), len(after))
    return replace(passage, turns=passage.turns[: passage.at + 1 + end])


def _asked(house: House, passage: Passage) -> str:
    """The turns as the prompt describes them."""
    conversation = [
        {"turn": n, "role": one.role, "text": _shown(one.text, _WHOLE if n == passage.at + 1 else _LONGEST)}
        | ({"name": one.actor} if one.actor else {})
        for n, one in enumerate(passage.turns, 1)
    ]
    return json.dumps(
        {
            "said_at": passage.turn.at.isoformat(),
            "conversation": conversation,
            "extract_from": [passage.at + 1],
            "categories": {slug: one.label for slug, one in house.categories.items() if slug in _filed(house)},
        },
        ensure_ascii=False,
    )


def _filed(house: House) -> frozenset[str]:
    """The categories that a statement may be filed in: how something is done is learned from what was done."""
    return frozenset(house.categories) - {CATEGORY}


def _shown(text: str, most: int) -> str:
    """A text in about so many characters: people say what a long paste is about before it and after it."""
    return text if len(text) <= most else f"{text[: most * 3 // 4]}\n…\n{text[-most // 4 :]}"
