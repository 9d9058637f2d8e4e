"""Merging: what is the same, what corrects, and what only looks alike."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import Fact, Neighbour, StoredMemory, Trust
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.merging.judge import judge_candidate
from muniment.memory.rules.merging.merge import (
    LESS_TRUSTED,
    IncomingCandidate,
    MergeResult,
    merge_candidates,
)
from muniment.memory.rules.merging.restatements import find_band
from tests.engine import NOON

SETTINGS = load_settings({"HOME": "/nonexistent"})
PROFILE, WRITING = SETTINGS.find_profile("default"), SETTINGS.write


def known(text: str, *, fact: Fact | None = None, category: str = "goals", trust: Trust = "user") -> StoredMemory:
    return StoredMemory(
        id=MemoryId(uuid4()),
        kind="semantic",
        category=category,
        text=text,
        fact=fact,
        trust=trust,
        stable_key=fact.key if fact else None,
        created_at=NOON,
        updated_at=NOON,
    )


def bare(text: str, **more: Any) -> Candidate:
    return Candidate(text=text, category="goals", **more)


def meet(candidate: Candidate, *near: tuple[StoredMemory, float], file_rows: int = 0) -> MergeResult:
    one = IncomingCandidate(
        candidate=candidate,
        vector=hash_vector(candidate.text),
        id=MemoryId(uuid4()),
        neighbours=tuple(Neighbour(memory=memory, sim=sim) for memory, sim in near),
    )
    return merge_candidates(
        [one], scope=Scope(owner="ana"), at=NOON, profile=PROFILE, writing=WRITING, file_rows=file_rows
    )


def lives(place: str) -> Fact:
    return Fact(kind="identity", predicate="lives_in", object=place, single=True)


def likes(thing: str, *, negated: bool = False) -> Fact:
    return Fact(kind="preference", predicate="likes", object=thing, negated=negated)


def test_one_value_at_a_time_is_superseded() -> None:
    """A new home replaces the old one under the same id, though the words differ and are fewer."""
    old = known("The user lives in a small flat in the north of Porto", fact=lives("Porto"))
    merged = meet(Candidate(text="The user lives in Braga", category="goals", fact=lives("Braga")), (old, 1.0))
    (change,) = merged.changes
    assert (change.action, change.after.id, change.after.text) == ("UPDATE", old.id, "The user lives in Braga")
    assert change.before == old


def test_another_value_of_many_is_new() -> None:
    """Tea does not replace coffee, however close their vectors are."""
    old = known("The user likes coffee", fact=likes("coffee"))
    (change,) = meet(Candidate(text="The user likes tea", category="goals", fact=likes("tea")), (old, 0.97)).changes
    assert change.action == "ADD"


def test_a_denial_supersedes_the_statement() -> None:
    """No longer liking coffee corrects the liking."""
    old = known("The user likes coffee", fact=likes("coffee"))
    new = Candidate(text="The user does not like coffee", category="goals", fact=likes("coffee", negated=True))
    (change,) = meet(new, (old, 1.0)).changes
    assert (change.action, change.after.id) == ("UPDATE", old.id)


def test_the_same_again_changes_nothing() -> None:
    """The same words, or fewer of them, are no change."""
    old = known("The user likes black coffee", fact=likes("coffee"))
    assert (
        meet(Candidate(text="The user likes coffee", category="goals", fact=likes("coffee")), (old, 1.0)).changes == ()
    )


def test_more_about_the_same_merges() -> None:
    """More words about the same fact are merged into it."""
    old = known("The user likes coffee", fact=likes("coffee"))
    new = Candidate(text="The user likes coffee without sugar", category="goals", fact=likes("coffee"))
    (change,) = meet(new, (old, 1.0)).changes
    assert (change.action, change.meta["notes"]) == ("MERGE", 2)


@pytest.mark.parametrize(
    ("new", "old", "verdict"),
    [
        ("Anna visited the harbour on foot", "Anna visited the harbour on foot.", "same"),
        ("Order 15 boxes of paper", "Order 12 boxes of paper", "supersedes"),
        ("The office is not open on Sundays", "The office is open on Sundays", "supersedes"),
        ("Anna visited the harbour on foot", "Berta visited the market by bus", "different"),
        ("会议在周一开", "会议不在周一开", "supersedes"),
    ],
)
def test_notes_are_judged_by_words_numbers_and_negation(new: str, old: str, verdict: str) -> None:
    """Without a fact only nearly equal words are the same thing."""
    assert judge_candidate(Candidate(text=new, category="activity"), known(old)) == verdict


@pytest.mark.parametrize(
    ("new", "old", "verdict"),
    [
        ("The user moved to Lyon", "The user is preparing for an exam in Lyon.", "different"),
        ("The user moved to Lyon", "The user is training for the Lyon marathon in October (2027).", "different"),
        ("The user switched to tea", "The user drinks tea with milk", "different"),
        ("用户搬到里昂", "用户正在准备里昂的考试", "different"),
        ("The meeting with Dana moved to Thursday", "The user has a meeting with Dana on Wednesday", "supersedes"),
        ("The user's office moved to Lyon", "The user's office is in Paris", "supersedes"),
        ("Moved to Friday: the dentist appointment", "The dentist appointment is on Monday", "supersedes"),
        ("会议改到周五", "会议在周四", "supersedes"),
    ],
)
def test_a_move_corrects_what_moves_and_nothing_that_is_at_its_goal(new: str, old: str, verdict: str) -> None:
    assert judge_candidate(bare(new), known(old)) == verdict


def test_two_people_are_never_merged() -> None:
    """The same words about another person are another memory, even in the auto band."""
    old = known("Met Anna Keller at the trade fair in Basel")
    (change,) = meet(Candidate(text="Met Anna Huber at the trade fair in Basel", category="goals"), (old, 0.99)).changes
    assert change.action == "ADD"


def test_rows_of_a_file_are_not_one_by_their_vectors_alone() -> None:
    """Their source held them apart; what it says word for word twice is one."""
    old = known("The user collects stamps from Cork")
    (change,) = meet(bare("The user sells stamps from Cork"), (old, 0.97), file_rows=1).changes
    assert change.action == "ADD"
    assert meet(bare("The user collects stamps from Cork"), (old, 1.0), file_rows=1).changes == ()


def test_lower_trust_never_overwrites() -> None:
    """What a document says does not correct what the person said; the person corrects the document."""
    said_so = known("The user lives in Porto", fact=lives("Porto"))
    new = Candidate(text="The user lives in Braga", category="goals", fact=lives("Braga"), trust="document")
    assert meet(new, (said_so, 1.0)).changes == ()
    read = known("The user lives in Porto", fact=lives("Porto"), trust="document")
    new = Candidate(text="The user lives in Braga", category="goals", fact=lives("Braga"))
    assert meet(new, (read, 1.0)).changes[0].after.trust == "user"


def test_two_statements_of_one_write_see_each_other() -> None:
    """A value corrected within the same write is one addition with the last value."""
    pair = [
        IncomingCandidate(
            candidate=Candidate(text=f"The user lives in {place}", category="goals", fact=lives(place)),
            vector=hash_vector(place),
            neighbours=(),
            id=MemoryId(uuid4()),
        )
        for place in ("Porto", "Braga")
    ]
    merged = merge_candidates(pair, scope=Scope(owner="ana"), at=NOON, profile=PROFILE, writing=WRITING)
    assert [(change.action, change.after.text) for change in merged.changes] == [("ADD", "The user lives in Braga")]


def test_alike_memories_are_linked_once() -> None:
    """An edge joins a new memory to a close one, smaller id first."""
    old = known("The user wants to sail")
    merged = meet(Candidate(text="The user owns a sailing boat", category="tasks"), (old, 0.7))
    (edge,) = merged.relations
    assert {edge.a, edge.b} == {old.id, merged.changes[0].after.id}
    assert edge.a < edge.b


def test_a_contradiction_by_lower_trust_is_refused_and_counted() -> None:
    """What a document says against the person changes nothing and is told; something else is kept as the document's."""
    said_so = known("The user lives in Porto", fact=lives("Porto"))
    merged = meet(bare("The user lives in Braga", fact=lives("Braga"), trust="document"), (said_so, 1.0))
    assert (merged.changes, merged.refused) == ((), (LESS_TRUSTED,))
    (change,) = meet(bare("The user likes tea", fact=likes("tea"), trust="document"), (said_so, 0.9)).changes
    assert (change.action, change.after.trust) == ("ADD", "document")


def test_what_is_denied_of_another_value_takes_nothing_away() -> None:
    """Not living in Lisbon any more is no news of Porto: both are kept, each under its own key."""
    now = known("The user lives in Porto", fact=lives("Porto"))
    gone = Fact(kind="identity", predicate="lives_in", object="Lisbon", single=True, negated=True)
    (change,) = meet(bare("The user no longer lives in Lisbon", fact=gone), (now, 1.0)).changes
    assert change.action == "ADD"
    assert change.after.stable_key not in (None, now.stable_key)
    again = meet(bare("The user no longer lives in Lisbon", fact=gone), (now, 1.0), (change.after, 1.0))
    assert again.changes == ()


def test_what_happened_twice_is_kept_twice() -> None:
    """Two visits to one city are two memories with a key each; the first told again is none."""
    visit = Fact(kind="event", predicate="visited", object="Rome")
    may = replace(known("The user visited Rome in May 2024", fact=visit), event_time=NOON)
    later = bare("The user visited Rome in June 2025", fact=visit, event_time=NOON + timedelta(days=400))
    (change,) = meet(later, (may, 1.0)).changes
    assert change.action == "ADD"
    assert change.after.stable_key not in (None, may.stable_key)
    assert meet(later, (may, 1.0), (change.after, 0.9)).changes == ()


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ("The user's wife Ana works as a doctor", "The user's wife Ana works as a doctor in Porto", "second"),
        ("The user plays tennis every Sunday with a club", "The user plays tennis every Sunday", "first"),
        ("用户的女儿小雨7岁", "用户的女儿小雨7岁，上小学", "second"),
    ],
)
def test_one_turn_read_twice_is_one_memory(first: str, second: str, left: str) -> None:
    """What rules and a model make of the same turn meets under the richer wording, whatever the vectors say."""
    turn = TurnId(uuid4())
    old = replace(known(first), turns=(turn,))
    merged = meet(bare(second, turns=(turn,)), (old, 0.1))
    assert [change.after.text for change in merged.changes] == ([second] if left == "second" else [])
    assert all(change.action == "MERGE" for change in merged.changes)


def test_two_people_of_one_turn_stay_two() -> None:
    """That both come from one turn does not make one person of two."""
    turn = TurnId(uuid4())
    old = replace(known("Anna plays the cello in the orchestra"), turns=(turn,))
    (change,) = meet(bare("Hanna plays the cello in the orchestra", turns=(turn,)), (old, 0.99)).changes
    assert change.action == "ADD"


def test_what_is_pending_touches_nothing_that_is_active() -> None:
    """A quarantined correction waits beside what it would correct, and the same one waits once."""
    old = known("The user lives in Porto", fact=lives("Porto"))
    waiting = bare("The user lives in Braga", fact=lives("Braga"), trust="document", state="pending")
    (change,) = meet(waiting, (old, 1.0)).changes
    assert (change.action, change.after.state, change.after.stable_key) == ("ADD", "pending", None)
    assert meet(waiting, (old, 1.0), (change.after, 1.0)).changes == ()
    (active,) = meet(bare("The user lives in Braga", fact=lives("Braga")), (old, 1.0), (change.after, 1.0)).changes
    assert active.after.id == old.id


@given(st.floats(-1, 1))
def test_bands_cover_every_similarity(sim: float) -> None:
    """Each similarity has one band, and a higher one never a lower band."""
    order = ["new", "fallback", "check", "auto"]
    assert order.index(find_band(sim, PROFILE)) <= order.index(find_band(min(1.0, sim + 0.1), PROFILE))


TEXTS = st.sampled_from(
    [
        "The user likes tea",
        "The user likes 2 teas",
        "Order 7 boxes",
        "Order 8 boxes",
        "王敏 likes tea",
        "I do not like tea",
        "",
        "。",
        "Tea",
    ]
)


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["goals", "tasks"]), st.floats(0, 1)), max_size=6), TEXTS)
def test_a_merge_touches_only_what_it_was_shown(near: list[tuple[str, str, float]], text: str) -> None:
    """One candidate makes at most one change: an addition under its own id, or a change of a neighbour."""
    memories = [(known(old, category=category), sim) for old, category, sim in near]
    merged = meet(Candidate(text=text, category="goals"), *memories)
    ids = {memory.id for memory, _ in memories}
    assert len(merged.changes) <= 1
    for change in merged.changes:
        assert (change.before is None) == (change.action == "ADD")
        assert (change.after.id in ids) == (change.action != "ADD")
        assert change.after.text == text
    assert all(edge.a < edge.b for edge in merged.relations)


NAMES = st.sampled_from(["Anna Keller", "Anna Huber", "Hanna Keller", "Tom", "Tim", "王丽", "王莉", "李雷", "李磊"])
DEEDS = st.sampled_from(
    [
        "{} repaired the boiler in the cellar",
        "The user met {} at the trade fair in Basel",
        "The user's neighbour {} plays the trumpet",
        "{}教用户的孩子英语",
        "用户在展会上见到了{}",
    ]
)


@given(NAMES, NAMES, DEEDS, st.floats(0.85, 1))
def test_two_people_never_become_one(one: str, other: str, deed: str, sim: float) -> None:
    """However near the vectors are, what one did is not what another did; the same of the same is nothing new."""
    merged = meet(bare(deed.format(other)), (known(deed.format(one)), sim))
    assert [change.action for change in merged.changes] == ([] if one == other else ["ADD"])


PLACES = st.sampled_from(["Porto", "Braga", "the north of Porto", "上海", "Oslo", "a flat in Faro with a balcony"])
PADDING = st.sampled_from(["", " in a small flat with a view of the harbour", " and has done so for twelve years"])


@given(PLACES, PLACES, PADDING, PADDING, st.floats(0, 1))
def test_a_correction_wins_whatever_the_lengths(old: str, new: str, long: str, short: str, sim: float) -> None:
    """Another value of what has one value is what is known afterwards, also when it is told in fewer words."""
    before = known(f"The user lives in {old}{long}", fact=lives(old))
    merged = meet(bare(f"The user lives in {new}{short}", fact=lives(new)), (before, sim))
    known_now = merged.changes[0].after if merged.changes else before
    assert len(merged.changes) <= 1
    assert known_now.id == before.id
    assert new in known_now.text


@given(PLACES, PADDING, st.booleans())
def test_the_same_candidate_twice_changes_nothing_the_second_time(place: str, padding: str, structured: bool) -> None:
    """A merge is idempotent."""
    candidate = bare(f"The user lives in {place}{padding}", fact=lives(place) if structured else None)
    (first,) = meet(candidate).changes
    assert meet(candidate, (first.after, 1.0)).changes == ()
    corrected = meet(candidate, (known("The user lives in Ghent", fact=lives("Ghent") if structured else None), 1.0))
    (second,) = corrected.changes
    assert meet(candidate, (second.after, 1.0)).changes == ()


THINGS = st.permutations(["tea", "coffee", "chess", "the cello", "爬山"])


@given(THINGS)
def test_the_order_of_independent_facts_does_not_matter(things: list[str]) -> None:
    """Facts about different things come to the same memories in any order."""
    incoming = [
        IncomingCandidate(
            candidate=bare(f"The user likes {thing}", fact=likes(thing)),
            vector=hash_vector(thing),
            neighbours=(),
            id=MemoryId(uuid4()),
        )
        for thing in things
    ]
    merged = merge_candidates(incoming, scope=Scope(owner="ana"), at=NOON, profile=PROFILE, writing=WRITING)
    assert sorted(change.after.text for change in merged.changes) == sorted(f"The user likes {one}" for one in things)
    assert {change.action for change in merged.changes} == {"ADD"}
