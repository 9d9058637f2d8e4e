"""Decides which statements propose a value for the structured profile, and which need the consent of the person."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

from muniment.memory.domain.consent import SENSITIVE, Consent, ProfileField, Proposal
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.memory import Fact, State, StoredMemory, is_note
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.merging.merge import IncomingCandidate

_FIELDS: Mapping[str, ProfileField] = {
    "preferred_name": "preferred_name",
    "nickname": "preferred_name",
    "pronouns": "pronouns",
    "lives_in": "city",
    "city": "city",
    "moved_to": "city",
    "based_in": "city",
    "language": "language",
    "preferred_language": "language",
    "answer_language": "language",
    "response_style": "tone",
    "tone": "tone",
}
GONE_STATES: frozenset[State] = frozenset({"soft_deleted", "superseded"})  # such a memory supports no value
_MANNERS = frozenset({"style", "tone"})  # categories of statements about the style of answers
_EDGES = " \t\r\n.,;:!。，、；：！～…👍🙂😊"
_YES = lazy_compile(
    r"(?:y|yes|yeah|yep|yup|sure|ok|okay|of course|certainly|absolutely|definitely|fine|correct|right|agreed|go ahead"
    r"|please do|do it|you may|you can|sounds good|no problem|yes,? (?:please|sure|you (?:may|can)|of course|do|keep it"
    r"|use it|that'?s (?:fine|right|ok|okay))|(?:sure|ok|okay),? (?:thing|please|go ahead|keep it)|keep it|i agree)"
    r"(?:,? (?:please|thanks|thank you))?|(?:是|是的|是啊|好|好的|好啊|好吧|可以|可以的|可以啊|行|行啊|嗯+|对|对的"
    r"|没问题|当然|当然可以|同意|确认|愿意|要)(?:[，,]?(?:谢谢|请记住|记吧|可以))?"
    r"|(?:ja|jawohl|jo|klar|gerne?|na klar|einverstanden|natürlich|sí|si|claro|vale|por supuesto|de acuerdo|oui|ouais"
    r"|d['’]accord|bien sûr|sim|sì|certo|va bene|tak|jasne|evet|да|конечно|はい|ええ|네|예|نعم|हाँ|हां)"
    r"(?:,? (?:bitte|danke|gerne?|klar|gracias|por favor|claro|merci|bien sûr|s['’]il (?:te|vous) plaît|obrigad[oa]"
    r"|por favor|grazie|certo|tack|dank je|graag))?",
    re.IGNORECASE,
)
_NO = lazy_compile(
    r"(?:n|no|nope|nah|never|don'?t|do not|please don'?t|rather not|i(?:'d| would) rather not|not (?:really|at all)"
    r"|no,? (?:please )?don'?t|no way|i disagree)(?:,? (?:please|thanks|thank you))?|(?:不|不要|不行|不可以|不用|不用了"
    r"|不必|别|别记|不好|否|不是|不是的|不同意|不愿意|算了)(?:[，,]?(?:谢谢|了))?"
    r"|(?:nein|nö|nee|lieber nicht|auf keinen fall|non|não|nao|nej|nei|nie|hayır|нет|いいえ|아니요|아니오|لا|नहीं)"
    r"(?:,? (?:danke|bitte nicht|bitte|merci|obrigad[oa]|grazie|tack|takk|bedankt|dank je))?|no,? (?:gracias|grazie)",
    re.IGNORECASE,
)
# What a note of a goal begins with; the field has the rest.
_WISH = lazy_compile(
    r"(?:i|i'm|i am|we)\s+(?:(?:really|still|also|just|now)\s+)*(?:want(?:ed)?|would like|plan(?:ning)?|hop(?:e|ing)"
    r"|aim(?:ing)?|intend)\s+to\s+|my\s+(?:\w+\s+)?(?:goal|aim|dream|plan)\s+is\s+to\s+"
    r"|我(?:的(?:目标|梦想)是)?(?:一直|真的|还|也|很)*(?:想要?|打算|计划|希望能?|准备)?",
    re.IGNORECASE,
)
_LONGEST, _MOST_WORDS = 60, 6  # a longer value is no name or place
_GOAL_CHARS = 120


def find_profile_field(fact: Fact, category: str) -> ProfileField | None:
    """The field of the profile that a fact about the user sets, or None."""
    if fact.subject.casefold() not in ("user", "用户") or fact.negated:
        return None
    if fact.kind == "goal" or category == "goals":
        return "goals" if len(fact.object) <= _GOAL_CHARS else None
    if len(fact.object) > _LONGEST or len(fact.object.split()) > _MOST_WORDS:
        return None
    if fact.predicate == "name":  # "I'm Ana" is a preferred name, "I am Ana Silva Costa" a full one
        return "preferred_name" if len(fact.object.split()) == 1 else None
    if fact.predicate == "prefers" and category in _MANNERS:
        return "tone"
    return _FIELDS.get(fact.predicate)


def build_proposals(
    incoming: Sequence[IncomingCandidate],
    changes: Sequence[Change],
    *,
    expires_at: datetime,
    quiet: timedelta = timedelta(days=30),
    turn_id: TurnId | None = None,
) -> tuple[Proposal, ...]:
    """The values that the statements of a write propose for the profile: only active statements of the user.

    A statement that changes no memory is a signal, too. With `turn_id`, the write is one signal, however many turns a
    model names."""
    proposals: dict[tuple[str, str], Proposal] = {}
    for statement in incoming:
        candidate = statement.candidate
        if (fact := candidate.fact) is None:
            continue
        words = tokens.get_lexeme_set(fact.object)
        written = (*(change.after for change in changes), *(near.memory for near in statement.neighbours))
        told = ((each.id, each.fact) for each in written if each.fact is not None)
        same = (
            id_ for id_, own in told if own.attribute == fact.attribute and tokens.get_lexeme_set(own.object) == words
        )
        memory = next(same, None)
        if memory is None:  # nothing holds the statement after the write
            continue
        turns = candidate.turns
        if turn_id is not None:
            turns = (turn_id,) if turn_id in turns else turns[-1:]
        proposal = make_proposal(candidate, memory, turns, expires_at=expires_at, quiet=quiet)
        if proposal is not None:
            proposals[proposal.field, proposal.value.casefold() if proposal.field == "goals" else ""] = proposal
    return tuple(proposals.values())


def make_proposal(
    candidate: Candidate, memory: MemoryId, turns: tuple[TurnId, ...], *, expires_at: datetime, quiet: timedelta
) -> Proposal | None:
    """Return the value that a statement proposes for the profile, or None: only an active statement of the user does,
    and one that holds everywhere, as the profile does."""
    fact = candidate.fact
    if fact is None or candidate.trust != "user" or candidate.state != "active" or candidate.reach != "user":
        return None
    field = find_profile_field(fact, candidate.category)
    if field is None:
        return None
    value = " ".join(fact.object.split()).strip(" .。")
    value = _WISH.sub("", value) if is_note(fact) else value
    return Proposal(
        field=field, value=value, memory=memory, turns=turns, trust="user", expires_at=expires_at, quiet=quiet
    )


def make_expiry_jobs(scope: Scope, expiries: Sequence[datetime]) -> tuple[Job, ...]:
    """Return a job for the end of each day (UTC) on which a request expires."""
    days = sorted({moment.astimezone(UTC).date() for moment in expiries})
    ends = [datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC) for day in days]
    return tuple(
        Job(name="expire", scope=scope, key=day.isoformat(), at=end) for day, end in zip(days, ends, strict=True)
    )


def normalize_statement(text: str) -> str:
    """Return a statement as it is compared with what was decided before: whatever its case, spaces and full stop."""
    return " ".join(tokens.normalize_text(text).casefold().split()).rstrip(".。!！")


def find_void_requests(pending: Sequence[Consent], plan: WritePlan) -> dict[Consent, Change]:
    """The pending requests whose memory a plan forgets, replaces or changes, each with that change.

    A changed memory voids no request if the plan proposes a value for the field or keeps the same value."""
    ends = {change.after.id: change for change in plan.changes if is_support_lost(change)}
    proposed_fields = {request.field for request in plan.proposals}
    affected = ((request, ends[request.memory]) for request in pending if request.memory in ends)
    return {
        request: change
        for request, change in affected
        if change.after.state in GONE_STATES
        or (request.field not in proposed_fields and not has_value(change.after, request.value))
    }


def is_support_lost(change: Change) -> bool:
    """Whether a memory can support a value of the profile before a change and not after it."""
    before, after = change.before, change.after
    if before is None or after.state in GONE_STATES:
        return before is not None
    return before.fact is not None and (after.fact is None or after.fact.object != before.fact.object)


def has_value(memory: StoredMemory, value: str) -> bool:
    """Whether the fact of a memory has this value, by its words; a note may say more than that."""
    if memory.fact is None:
        return False
    words, wanted = tokens.get_lexeme_set(memory.fact.object), tokens.get_lexeme_set(value)
    return wanted <= words if is_note(memory.fact) else wanted == words


def find_current_fields(profile: Sequence[Consent], memories: Sequence[StoredMemory]) -> list[Consent]:
    """The approved fields without those of which one of the memories says otherwise since.

    Its value waits for consent, or nobody has answered: then the statement stands alone."""
    return [
        approved
        for approved in profile
        if approved.field not in SENSITIVE or not any(_is_newer_value(memory, approved) for memory in memories)
    ]


def _is_newer_value(memory: StoredMemory, approved: Consent) -> bool:
    is_newer = approved.decided_at is None or memory.updated_at > approved.decided_at or memory.id == approved.memory
    return (
        is_newer
        and memory.fact is not None
        and find_profile_field(memory.fact, memory.category) == approved.field
        and not has_value(memory, approved.value)
    )


def correct_value(memory: StoredMemory, request: Consent, value: str) -> StoredMemory | None:
    """The memory of a request with another value in its place; None where it cannot have it."""
    fact = memory.fact
    if fact is None or request.value not in memory.text or not has_value(memory, request.value):
        return None
    fact = replace(fact, object=value, persons=(), entities=())
    if not tokens.get_lexeme_set(value) or find_profile_field(fact, memory.category) != request.field:
        return None
    return replace(memory, text=memory.text.replace(request.value, value), fact=fact, stable_key=fact.key)


def find_supporting_memories(request: Consent, memories: Sequence[StoredMemory]) -> list[StoredMemory]:
    """The memories, from the same turns, that propose the value of a request for its field, or are notes with it."""
    turns = set(request.turns)
    return [memory for memory in memories if turns.intersection(memory.turns) and _says_value(memory, request)]


def _says_value(memory: StoredMemory, request: Consent) -> bool:
    if memory.fact is None or memory.fact.kind == "note" or is_note(memory.fact):
        return tokens.get_lexeme_set(request.value) <= tokens.get_lexeme_set(memory.text)
    return find_profile_field(memory.fact, memory.category) == request.field and has_value(memory, request.value)


def find_candidate_field(candidate: Candidate) -> ProfileField | None:
    """The field of the profile that a candidate sets, or None."""
    return None if candidate.fact is None else find_profile_field(candidate.fact, candidate.category)


def is_refused(candidate: Candidate, rejected: Sequence[Consent]) -> bool:
    """Whether a candidate says nothing but what a person said no to: the same field, from the same turns."""
    field, turns = find_candidate_field(candidate), set(candidate.turns)
    return bool(turns) and any(request.field == field and turns.issubset(request.turns) for request in rejected)


def is_corroborated(request: Consent, signals: int) -> bool:
    """Whether `signals` different turns support the request, so that it needs no consent; sensitive fields do."""
    return request.field in ("tone", "goals") and len(set(request.turns)) >= signals


def parse_yes_no(text: str) -> bool | None:
    """The answer that a message gives to a question; None if it is more or less than a clear yes or no."""
    bare = text.strip(_EDGES)
    if _YES.fullmatch(bare):
        return True
    return False if _NO.fullmatch(bare) else None
