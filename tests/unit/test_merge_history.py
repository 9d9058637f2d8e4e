"""Whatever is said in whatever order: what a space comes to, write after write."""

from datetime import timedelta
from uuid import uuid4

import pytest
from hypothesis import given, settings, strategies as st

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import Fact, Neighbour, StoredMemory, Trust
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.merging.merge import IncomingCandidate, MergeResult, merge_candidates
from tests.engine import NOON

SETTINGS = load_settings({"HOME": "/nonexistent"})
PROFILE, WRITING = SETTINGS.find_profile("default"), SETTINGS.write
SCOPE = Scope(owner="ana")

ONE = st.sampled_from(
    [("identity", "lives_in"), ("relationship", "spouse"), ("relationship", "partner"), ("identity", "works_at")]
)
MANY = st.sampled_from(
    [("preference", "likes"), ("event", "visited"), ("experience", "used_to"), ("constraint", "cannot")]
)
VALUES = st.sampled_from(["Porto", "Braga", "Ana", "Anna", "Siemens", "live in Porto", "上海", "王丽", "2 cats"])
TRUSTS: st.SearchStrategy[Trust] = st.sampled_from(["user", "user", "user", "document"])
TURNS = [TurnId(uuid4()) for _ in range(3)]


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    """A statement with a fact, or in bare words; some of one turn, some with a time."""
    single = draw(st.booleans())
    kind, predicate = draw(ONE if single else MANY)
    value, negated = draw(VALUES), draw(st.booleans())
    words = " ".join(["The user", *(["does not"] if negated else []), predicate.replace("_", " "), value])
    fact = Fact(kind=kind, predicate=predicate, object=value, single=single, negated=negated)  # type: ignore[arg-type]
    when = draw(st.sampled_from([None, None, NOON, NOON + timedelta(days=300)])) if kind == "event" else None
    return Candidate(
        text=words,
        category="goals",
        fact=draw(st.sampled_from([fact, fact, fact, None])),
        trust=draw(TRUSTS),
        event_time=when,
        turns=(draw(st.sampled_from(TURNS)),),
    )


def make_denial(value: str) -> Candidate:
    """The statement that the user does not like something."""
    fact = Fact(kind="preference", predicate="likes", object=value, negated=True)
    return Candidate(text=f"The user does not likes {value}", category="goals", fact=fact)


def write(space: dict[MemoryId, StoredMemory], said: list[Candidate]) -> MergeResult:
    """One write into the space: every memory is near, as in a small space it is."""
    incoming = []
    for one in said:
        vector = hash_vector(one.text)
        near = tuple(Neighbour(memory=old, sim=float(vector @ hash_vector(old.text))) for old in space.values())
        incoming.append(IncomingCandidate(candidate=one, vector=vector, neighbours=near, id=MemoryId(uuid4())))
    merged = merge_candidates(incoming, scope=SCOPE, at=NOON, profile=PROFILE, writing=WRITING)
    space.update({change.after.id: change.after for change in merged.changes})
    return merged


@settings(max_examples=100)
@given(st.lists(st.lists(candidates(), min_size=1, max_size=3), max_size=6))
def test_no_two_memories_have_one_key(writes: list[list[Candidate]]) -> None:
    """The store refuses a second active memory of one stable key: no history of writes makes one."""
    space: dict[MemoryId, StoredMemory] = {}
    for said in writes:
        write(space, said)
        keys = [one.stable_key for one in space.values() if one.stable_key is not None]
        assert len(keys) == len(set(keys))


@settings(max_examples=100)
@given(st.lists(candidates(), max_size=6), candidates())
def test_what_was_just_said_is_known(before: list[Candidate], last: Candidate) -> None:
    """Said again at once, a statement changes nothing, whatever was said before it."""
    space: dict[MemoryId, StoredMemory] = {}
    for said in before:
        write(space, [said])
    write(space, [last])
    assert write(space, [last]).changes == ()


@pytest.mark.parametrize(
    ("before", "last"),
    [
        ([("likes", "Anna"), ("spouse", "Porto")], Candidate(text="The user does not spouse Anna", category="goals")),
        ([("likes", "Porto"), ("visited", "Porto")], make_denial("Porto")),
    ],
)
def test_said_again_it_ends_no_second_memory(before: list[tuple[str, str]], last: Candidate) -> None:
    """A statement that could end either of two memories has ended one of them; said again, it leaves the other."""
    space: dict[MemoryId, StoredMemory] = {}
    for n, (predicate, value) in enumerate(before):
        fact = Fact(kind="preference", predicate=predicate, object=value) if n == 0 else None
        text = f"The user {predicate} {value}"
        write(space, [Candidate(text=text, category="goals", fact=fact, turns=(TURNS[1],))])
    assert [change.action for change in write(space, [last]).changes] == ["UPDATE"]
    assert write(space, [last]).changes == ()


@settings(max_examples=100)
@given(st.lists(candidates(), max_size=8))
def test_what_the_user_said_is_never_a_documents(said: list[Candidate]) -> None:
    """No document changes a memory that the user vouches for."""
    space: dict[MemoryId, StoredMemory] = {}
    for one in said:
        mine = {id_: old for id_, old in space.items() if old.trust == "user"}
        write(space, [one])
        if one.trust == "document":
            assert {id_: space[id_] for id_ in mine} == mine
