"""Which finds of a session become memories: their types, the caps of one request, and what was forgotten since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from muniment.memory.config.schema import ObservationSettings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.layers.observation import TYPE_OF_KIND, ObservationType
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, ForgetRequest, make_memory
from muniment.memory.rules.extraction.forget_requests import resolve_forget_request
from muniment.memory.rules.merging.judge import is_repetition

FORGOTTEN = "forgotten since"
_NO_ID = MemoryId(UUID(int=0))
_ANY_TIME = datetime(2024, 1, 1, tzinfo=UTC)
_OWN_WORDS: frozenset[ObservationType] = frozenset({"decision", "rule", "fix", "todo"})


def find_type(candidate: Candidate) -> ObservationType:
    """The type of a find: a path of work, or what its fact is; without one it is a fact of the user."""
    if candidate.kind == "procedural":
        return "skill_proposal_candidate"
    return TYPE_OF_KIND.get(candidate.fact.kind, "user_fact") if candidate.fact else "user_fact"


def find_refusal(candidate: Candidate, settings: ObservationSettings) -> str | None:
    """The reason why a model's find becomes no memory, or None: a type that the settings do not name never does."""
    type_ = find_type(candidate)
    least = settings.types.get(type_)
    if least is None:
        return f"no memory is made of the type {type_}"
    if candidate.confidence < least:
        return "low confidence"
    if type_ in _OWN_WORDS and candidate.trust in ("tool", "document"):
        return "not the user's words"
    return None


def refuse_finds(
    finds: Sequence[Candidate], settings: ObservationSettings, known_keys: Collection[str] = ()
) -> Mapping[Candidate, str]:
    """The finds of one request that become no memory, each with the reason.

    Of more than `facts` the most important stay, then the surest. Those with a key that is known already do not count:
    they are none more."""
    refused = {each: reason for each in finds if (reason := find_refusal(each, settings)) is not None}
    new = [each for each in finds if each not in refused and not (each.fact and each.fact.key in known_keys)]
    ranked = sorted(new, key=lambda each: (-each.importance, -each.confidence))
    return refused | dict.fromkeys(ranked[settings.facts :], f"more than {settings.facts} a request")


def is_unwanted(candidate: Candidate, requests: Sequence[ForgetRequest], scope: Scope) -> bool:
    """Whether one of these requests to forget means what a candidate says."""
    if not requests:
        return False
    memory = make_memory(candidate, _NO_ID, scope, _ANY_TIME)
    return any(request.everything or resolve_forget_request(request, [memory]) for request in requests)


def is_forgotten(candidate: Candidate, forgotten: Sequence[StoredMemory]) -> bool:
    """Whether one of these forgotten memories says what a candidate says."""
    key = candidate.fact.key if candidate.fact else None
    return any(
        (key is not None and memory.stable_key == key) or is_repetition(candidate, memory) for memory in forgotten
    )
