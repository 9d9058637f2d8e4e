"""The write gate: which finds of a turn are written. Each refusal has a reason of a fixed set, to be counted by it."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.config.plugin import GateSettings
from muniment.memory.domain.memory import FactKind, is_note
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction.gate import find_skip_reason
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.plugin.gates.decision import Decision
from muniment.plugin.gates.remarks import find_remark
from muniment.plugin.gates.stability import is_momentary, tells_state

# Why a find is written.
REQUESTED = "requested"  # the person asked to keep it
STATED = "stated"  # a decision, a constraint, a rule, something to do, or a fact, in so many words
STABLE = "stable preference"
VERIFIED = "verified fix"
# Why it is not.
SMALL_TALK = "small talk"
MOMENTARY = "for this turn only"
FOREIGN = "not the user's words"
UNVERIFIED = "not verified"
LOW_CONFIDENCE = "low confidence"
DUPLICATE = "near-duplicate"
TURN_QUOTA = "over the limit of a turn"
DAY_QUOTA = "over the limit of a day"
WRITE_REFUSALS = frozenset(
    {SMALL_TALK, MOMENTARY, FOREIGN, UNVERIFIED, LOW_CONFIDENCE, DUPLICATE, TURN_QUOTA, DAY_QUOTA}
)

_STATED: frozenset[FactKind] = frozenset(
    {"decision", "constraint", "rule", "todo", "discovery", "identity", "skill", "goal", "relationship"}
)
_SPEAKER = lazy_compile(r"(?i)\b(?:i|i'm|i've|i'll|i'd|me|my|mine|myself)\b|[我咱俺](?!们)")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSignals:
    """What the write gate looks at beside a find."""

    said: str = ""  # the sentence of the turn from which the find comes
    is_requested: bool = False  # the person asked to remember it
    is_verified: bool = False  # a tool has shown it: it failed, then succeeded
    is_standing: bool = False  # laid down for good by the form of the message, as beside other orders that are
    written_in_turn: int = 0
    written_today: int = 0  # for this user, in all sessions
    duplicate_similarity: float | None = None  # to the nearest item of its type, in [0, 1]; None without one


def decide_write(candidate: Candidate, signals: WriteSignals, gates: GateSettings) -> Decision:
    """Return whether a find is written, with one of the reasons above.

    What it is comes first, then how sure it is and whether it is known, and the quotas last: what is refused for itself
    is never counted as one over the quota."""
    facts = {"confidence": candidate.confidence, "turn": signals.written_in_turn, "day": signals.written_today}
    if signals.duplicate_similarity is not None:
        facts["similarity"] = signals.duplicate_similarity
    wanted, reason = _judge_content(candidate, signals)
    if not wanted:
        return Decision(allowed=False, reason=reason, facts=facts)
    checks = (
        (LOW_CONFIDENCE, candidate.confidence < gates.confidence),
        (DUPLICATE, (signals.duplicate_similarity or 0.0) >= gates.duplicate_similarity),
        (TURN_QUOTA, signals.written_in_turn >= gates.per_turn),
        (DAY_QUOTA, signals.written_today >= gates.per_day),
    )
    refusal = next((name for name, holds in checks if holds), None)
    return Decision(allowed=refusal is None, reason=refusal or reason, facts=facts)


def _judge_content(candidate: Candidate, signals: WriteSignals) -> tuple[bool, str]:
    """Whether a find is of a kind that is kept, and why or why not."""
    kind = candidate.fact.kind if candidate.fact else None
    if kind == "fix" or signals.is_verified:
        is_sure = signals.is_verified or candidate.trust == "user"
        return is_sure, VERIFIED if is_sure else UNVERIFIED
    if candidate.trust != "user":
        return False, FOREIGN
    if signals.is_requested:
        return True, REQUESTED
    if signals.said and (find_skip_reason(signals.said, "user") or find_remark(signals.said)):
        return False, SMALL_TALK
    if candidate.category == "style" or kind == "preference":
        is_passing = not signals.is_standing and is_momentary(signals.said or candidate.text)
        return not is_passing, MOMENTARY if is_passing else STABLE
    is_stated = kind in _STATED or (is_note(candidate.fact) and _is_of_work(signals.said or candidate.text, candidate))
    return is_stated, STATED if is_stated else SMALL_TALK


def _is_of_work(said: str, candidate: Candidate) -> bool:
    """Whether a note states something that holds, and of what is worked on: what a person tells of themselves, beside
    facts, preferences and what they want kept, is conversation."""
    if candidate.category == "constraints":
        return True
    return not (is_momentary(said) or tells_state(said)) and _SPEAKER.search(said) is None
