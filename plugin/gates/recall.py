"""The recall gate: whether a turn searches the store, and whether the service is asked besides the local file."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.config.plugin import GateSettings
from muniment.plugin.gates.decision import Decision
from muniment.plugin.gates.references import find_reference
from muniment.plugin.gates.remarks import REMARKS, find_remark

# Reasons to search.
REFERENCE = "reference to earlier work"
SESSION_START = "session start"
SPACE_CHANGED = "space changed"
TOPIC_CHANGE = "topic change"
WINDOW_OVER = "topic window over"
STALE_CACHE = "stale cache"
WEAK_RESULTS = "weak results"
# Reasons not to. Only with `FRESH` is there something of an earlier turn that may be shown again.
MACHINE_TURN = "machine turn"
FRESH = "fresh results"
SKIP_REASONS = frozenset({MACHINE_TURN, FRESH, *REMARKS})
# Of the service.
NOT_FOUND = "nothing local"
WEAK_LOCAL = "weak local results"
GOOD_LOCAL = "good local results"
OVER_RATE = "remote reads over the limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSignals:
    """What the recall gate looks at. All of it is known without a call of a store."""

    text: str  # of the user's message
    is_machine: bool = False  # nobody has typed it
    is_session_start: bool = True  # nothing was searched for in this session yet
    turns_in_window: int = 0  # turns with words of a person since the last search, this one not counted
    topic_similarity: float | None = None  # to the topic window, in [0, 1]; None without a window
    cache_age_seconds: float | None = None  # of what the last search found; None where it is gone
    has_space_changed: bool = False  # something was written or forgotten since the last search
    best_score: float | None = None  # of what the last search found; None where it found nothing


def decide_recall(signals: RecallSignals, gates: GateSettings) -> Decision:
    """Return whether a turn searches, with one of the reasons above.

    A message that only acknowledges or greets costs nothing, also at the start of a session: the next one counts as its
    start. Words that name earlier work always search. A resumption without words, such as a bare "continue", is to
    whatever was worked on last: within a topic whose results are fresh, that is this topic."""
    if signals.is_machine:
        return Decision(allowed=False, reason=MACHINE_TURN)
    reference = find_reference(signals.text)
    is_bare = reference is not None and reference.is_bare
    if reference is not None and not (is_bare and not signals.is_session_start):
        return Decision(allowed=True, reason=REFERENCE)
    if reference is None and (remark := find_remark(signals.text)) is not None:
        return Decision(allowed=False, reason=remark)
    if signals.is_session_start:
        return Decision(allowed=True, reason=SESSION_START)
    return judge_results(signals, gates)


def judge_results(signals: RecallSignals, gates: GateSettings) -> Decision:
    """Return whether what was found before still serves a message that the gate has not decided by its words alone."""
    facts = {"turns": float(signals.turns_in_window)}
    if signals.topic_similarity is not None:
        facts["topic"] = signals.topic_similarity
    if signals.cache_age_seconds is not None:
        facts["age"] = signals.cache_age_seconds
    checks = (
        (SPACE_CHANGED, signals.has_space_changed),
        (TOPIC_CHANGE, signals.topic_similarity is not None and signals.topic_similarity < gates.topic_similarity),
        (WINDOW_OVER, signals.turns_in_window >= gates.window_turns),
        (STALE_CACHE, signals.cache_age_seconds is None or signals.cache_age_seconds > gates.cache_seconds),
        (WEAK_RESULTS, signals.best_score is not None and signals.best_score < gates.weak_score),
    )
    reason = next((name for name, holds in checks if holds), FRESH)
    return Decision(allowed=reason != FRESH, reason=reason, facts=facts)


def decide_remote(best_score: float | None, hit_count: int, reads_last_minute: int, gates: GateSettings) -> Decision:
    """Return whether the service is asked, too: only where the local store found nothing or its best is weak.

    `best_score` is that of the best local hit, None without one; `reads_last_minute` counts the requests of this
    process to the service."""
    facts = {"best": best_score or 0.0, "hits": float(hit_count), "reads": float(reads_last_minute)}
    if best_score is not None and hit_count > 0 and best_score >= gates.weak_score:
        return Decision(allowed=False, reason=GOOD_LOCAL, facts=facts)
    if reads_last_minute >= gates.remote_reads_per_minute:
        return Decision(allowed=False, reason=OVER_RATE, facts=facts)
    is_miss = best_score is None or hit_count <= 0
    return Decision(allowed=True, reason=NOT_FOUND if is_miss else WEAK_LOCAL, facts=facts)
