"""Consolidation by the rules: who stays, who gives way, and what is held apart whoever calls it the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.consolidation import Finding, GainedEdge, Judgement, MemoryGraph, Pair, RunChange
from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.journal import Delta, JournalEntry
from muniment.memory.domain.memory import MAY_REPLACE, NOTE, Fact, StoredMemory
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.merging import pair_answers
from muniment.memory.rules.merging.consolidate import (
    MAX_TRIES,
    ConsolidationState,
    count_duplicates,
    guard_judgement,
    is_near,
    judge_pair,
    order_pair,
)
from muniment.memory.rules.merging.undo import plan_undo
from muniment.memory.rules.retrieval.render import render_delta_header
from tests.engine import NOON

SETTINGS = load_settings({"HOME": "/nonexistent"})
PROFILE = SETTINGS.find_profile("default")
LASTING = frozenset({"profile"})
RUN = RunId(uuid4())
LATER = NOON + timedelta(days=3)


def memory(text: str, *, at: datetime = NOON, category: str = "activity", **more: Any) -> StoredMemory:
    one: dict[str, Any] = {"kind": "semantic", "created_at": NOON, "updated_at": at} | more
    return StoredMemory(id=MemoryId(uuid4()), category=category, text=text, **one)


def pair(older: str | StoredMemory, newer: str | StoredMemory, sim: float = 0.9, **more: Any) -> Pair:
    first = memory(older, **more) if isinstance(older, str) else older
    second = memory(newer, at=LATER, **more) if isinstance(newer, str) else newer
    return Pair(older=first, newer=second, sim=sim)


def fact(predicate: str, value: str, *, kind: Any = "identity", subject: str = "user", **more: Any) -> Fact:
    return Fact(kind=kind, predicate=predicate, object=value, subject=subject, **more)


def board(*memories: StoredMemory, edges: dict[tuple[MemoryId, MemoryId], float] | None = None) -> ConsolidationState:
    known = {one.id: one for one in memories}
    return ConsolidationState(
        members=MemoryGraph(rev=memories[0].rev, memories=known, edges=edges or {}),
        run_id=RUN,
        context_categories=LASTING,
    )


def found(one: Pair, judgement: Judgement) -> Finding:
    return Finding(pair=one, judgement=judgement, source="model")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user's brother Tom plays chess", "The user's sister Ida plays chess"),
        ("The user owes Ben 40 euros", "The user owes Ben 60 euros"),
        ("The user eats mushrooms", "The user does not eat mushrooms"),
        ("Tom lent Ben a bicycle", "Ben lent Tom a bicycle"),
        ("The user's left knee hurts", "The user's right knee hurts"),
        ("The user met Clark at the fair", "The user met Dana at the fair"),
        ("Rosa has a berth on the ferry from Split", "Rosa has a berth on the ferry to Split"),
        ("用户不吃香菜", "用户吃香菜"),
        ("用户欠小王40元", "用户欠小王60元"),
    ],
)
def test_what_is_never_the_same(older: str, newer: str) -> None:
    """Another person, number, side or role, and a denial, are held apart even when a model calls them the same."""
    assert guard_judgement("same", pair(older, newer), LASTING) == "different"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user swims in the harbour every morning", "Each morning the user takes a dip in the harbour"),
        ("The user is fond of strong coffee", "The user loves a strong coffee"),
        ("用户每天早上跑步", "用户早上总是去跑步"),
    ],
)
def test_a_paraphrase_is_the_models_to_judge(older: str, newer: str) -> None:
    """Other words for the same are no reason to hold two apart: the rules doubt, and the model's word counts."""
    one = pair(older, newer, 0.7)
    assert judge_pair(one, PROFILE, LASTING) == ("different", False)
    assert guard_judgement("same", one, LASTING) == "same"


def test_whose_words_they_are_counts() -> None:
    """The same words of two people are two memories; of one person, or of nobody known, they are one."""
    for actors, judgement in ((("ana", "ben"), "different"), (("ana", "ana"), "same"), (("ana", None), "same")):
        older, newer = (memory("The user is tired", actor_id=one) for one in actors)
        assert judge_pair(pair(older, newer), PROFILE, LASTING) == (judgement, True)


def test_a_value_that_changes_supersedes() -> None:
    """A single value is superseded by a later one of the same subject, and stays beside another subject's."""
    porto = memory("The user lives in Porto", fact=fact("lives_in", "Porto", single=True))
    braga = memory("The user lives in Braga", at=LATER, fact=fact("lives_in", "Braga", single=True))
    tom = memory("Tom lives in Braga", at=LATER, fact=fact("lives_in", "Braga", single=True, subject="Tom"))
    assert judge_pair(pair(porto, braga), PROFILE, LASTING) == ("supersedes", True)
    assert judge_pair(pair(porto, tom), PROFILE, LASTING) == ("different", True)


@pytest.mark.parametrize(
    ("older", "newer", "kept"),
    [
        ({"pinned": True}, {}, True),
        ({"trust": "user"}, {"trust": "agent"}, True),
        ({"trust": "agent"}, {"trust": "user"}, False),
        ({"category": "profile"}, {"category": "profile"}, True),
        ({}, {}, False),
    ],
)
def test_what_is_never_superseded(older: dict[str, Any], newer: dict[str, Any], kept: bool) -> None:
    """What is pinned, what a more trusted source said, and what is always in context but for another value of the
    same."""
    was = memory("The user trains on Monday", **older)
    now = memory("The user trains on Friday", at=LATER, **newer)
    assert guard_judgement("supersedes", pair(was, now), LASTING) == ("different" if kept else "supersedes")


def test_the_later_one_is_the_one_that_tells_of_a_later_time() -> None:
    """Two that tell of a time are ordered by it, others by when they were last said."""
    early, late = (memory("x", at=at, event_time=when) for at, when in ((LATER, NOON), (NOON, LATER)))
    assert order_pair(late, early) == (early, late)
    assert order_pair(replace(early, event_time=None), late)[1] == replace(early, event_time=None)


@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [
        ({"trust": "document"}, {"trust": "agent"}, 0),
        ({}, {"pinned": True}, 1),
        ({"fact": fact("likes", "tea", kind="preference")}, {}, 0),
        ({"text": "The user likes green tea in the morning"}, {"text": "The user likes green tea"}, 0),
        ({}, {}, 1),
    ],
)
def test_who_stays(first: dict[str, Any], second: dict[str, Any], stays: int) -> None:
    """Of two that say the same the more trusted one stays, then the pinned, the structured, the longer, the newer
    one."""
    text = "The user likes tea"
    named: list[dict[str, Any]] = [{"text": text, "at": NOON} | first, {"text": text, "at": LATER} | second]
    both = [memory(**one) for one in named]
    table = board(*both)
    assert table.apply_finding(found(pair(both[0], both[1]), "same"))[0] == "same"
    left = [one for one in table.members.memories.values() if one.state == "active"]
    assert [one.id for one in left] == [both[stays].id]
    assert left[0].text == both[stays].text
    assert table.members.memories[both[1 - stays].id].superseded_by == left[0].id


def test_a_decision_meets_what_the_ones_before_it_left() -> None:
    """Of a chain each pair is decided as its members are by then: one that has given way takes nobody's place."""
    a, b, c = (memory("The user likes tea", at=NOON + timedelta(days=n)) for n in range(3))
    table = board(a, b, c)
    fates = [table.apply_finding(found(pair(*two), "same"))[0] for two in ((a, b), (a, c), (b, c))]
    assert fates == ["same", "outdated", "same"]
    now = table.members.memories
    assert [now[one.id].state for one in (a, b, c)] == ["superseded", "superseded", "active"]
    assert table.changes[-2].meta["notes"] == 3


def test_what_no_longer_says_what_was_judged_is_left_alone() -> None:
    """Another text, another state or a memory that is gone makes a finding outdated; a pin does not."""
    old, new = memory("The user likes tea"), memory("The user likes tea", at=LATER)
    one = found(pair(old, new), "same")
    for now in (replace(new, text="The user likes chai"), replace(new, state="soft_deleted")):
        assert board(old, now).apply_finding(one)[0] == "outdated"
    assert board(old).apply_finding(one)[0] == "outdated"
    assert board(old, replace(new, pinned=True)).apply_finding(one)[0] == "same"


def test_edges_go_over_at_their_greatest_strength() -> None:
    """What stays gets the edges of what goes, not to itself, and what each was before is in the journal."""
    goes, stays = memory("The user likes tea"), memory("The user likes tea", at=LATER)
    weak, strong, new = (memory(text) for text in "xyz")

    def key(a: StoredMemory, b: StoredMemory) -> tuple[MemoryId, MemoryId]:
        return min(a.id, b.id), max(a.id, b.id)

    edges = {key(goes, weak): 0.5, key(stays, weak): 0.8, key(goes, strong): 0.9, key(stays, strong): 0.6,
             key(goes, new): 0.7, key(goes, stays): 0.95}  # fmt: skip
    table = board(goes, stays, weak, strong, new, edges=dict(edges))
    table.apply_finding(found(pair(goes, stays), "same"))
    assert {one: relation.strength for one, relation in table.relations.items()} == {
        key(stays, strong): 0.9,
        key(stays, new): 0.7,
    }
    gained = {UUID(one): (now, before) for one, now, before in table.changes[0].meta["edges"]}
    assert gained == {strong.id: (0.9, 0.6), new.id: (0.7, None)}


def test_an_edge_that_came_twice_goes_back_to_what_it_was_at_first() -> None:
    """Two merges into one memory made the edge stronger twice; one of those that gave way is gone for good
    meanwhile."""
    first, second, stays, other = (memory(text, at=NOON + timedelta(days=n)) for n, text in enumerate("abcd"))
    low, high = min(stays.id, other.id), max(stays.id, other.id)
    into = [
        {"rev": 3, "from": str(first.id), "edges": [[str(other.id), 0.5, 0.2]]},
        {"rev": 5, "from": str(second.id), "edges": [[str(other.id), 0.9, 0.5]]},
    ]
    gone = replace(second, state="superseded", superseded_by=stays.id)
    steps = [
        RunChange(before=stays, now=stays, journal_metas=tuple(reversed(into)), is_untouched=True),
        RunChange(before=second, now=gone, journal_metas=({"rev": 6, "into": str(stays.id)},), is_untouched=False),
    ]
    back = plan_undo(steps, RUN)
    assert back.edges == (GainedEdge(low=low, high=high, now=0.9, before=0.2),)
    assert back.separated_groups == (frozenset({stays.id, second.id}),)
    assert [change.after for change in back.changes] == [stays]


@pytest.mark.parametrize("tries", [0, MAX_TRIES - 2, MAX_TRIES - 1])
def test_a_pair_without_an_answer_is_left_as_it_is(tries: int) -> None:
    """It changes nothing, and counts against the pair only while its memories are what was asked about."""
    old, new = memory("The user likes tea"), memory("The user likes tea", at=LATER)
    asked = Finding(pair=replace(pair(old, new), tries=tries), judgement=None, source="model")
    table = board(old, new)
    assert table.apply_finding(asked) == ("unanswered", asked)
    assert not table.changes
    assert board(old, replace(new, text="The user likes chai")).apply_finding(asked)[0] == "outdated"


def test_what_is_known_in_general_is_not_lost_to_an_agent() -> None:
    """It survives what is an agent's, also of one of its runs, whatever else is for that; it is not superseded by it;
    two agents' stay two."""
    home = fact("lives_in", "Porto", single=True)
    general = memory("The user lives in Porto", trust="agent", fact=home)
    theirs = memory("The user lives in Porto.", at=LATER, agent_id="a", run_id="r")
    for both in ((general, theirs), (replace(theirs, updated_at=NOON), replace(general, updated_at=LATER))):
        table = board(*both)
        assert table.apply_finding(found(pair(*both), "same"))[0] == "same"
        assert [one.id for one in table.members.memories.values() if one.state == "active"] == [general.id]
    moved = memory("The user lives in Braga", at=LATER, fact=fact("lives_in", "Braga", single=True))
    own = replace(general, agent_id="a")
    for older, agent, judgement in (
        (general, "a", "different"),
        (theirs, "b", "different"),
        (own, "a", "supersedes"),
        (own, None, "supersedes"),
    ):
        assert guard_judgement("supersedes", pair(older, replace(moved, agent_id=agent)), LASTING) == judgement
    assert judge_pair(pair(theirs, replace(general, agent_id="b")), PROFILE, LASTING) == ("different", True)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [(None, None, None), ("r", None, None), (None, "r", None), ("r", "r", "r"), ("r", "s", "s")],
)
def test_two_turns_may_say_one_thing(before: str | None, after: str | None, same: str | None) -> None:
    """The run that something was said in is no bar: each turn has one of its own on a server. What is of no run stays
    first, and a later value is of the run that it was said in."""
    former = memory("The user lives in Porto", fact=fact("lives_in", "Porto", single=True), run_id=before)
    again = replace(former, id=MemoryId(uuid4()), updated_at=LATER, run_id=after)
    moved = replace(again, text="The user lives in Braga", fact=fact("lives_in", "Braga", single=True))
    told: list[tuple[StoredMemory, Judgement, str, str | None]]
    told = [(again, "same", "same", same), (moved, "supersedes", "superseded", after)]
    for newer, judgement, fate, run in told:
        table = board(former, newer)
        assert table.apply_finding(found(pair(former, newer), judgement))[0] == fate
        assert [one.run_id for one in table.members.memories.values() if one.state == "active"] == [run]


def test_near_is_by_meaning_or_by_words() -> None:
    """A pair below the bands is not compared, unless both have one stable key; Chinese may be compared by its words."""
    assert not is_near(pair("The user likes tea", "The user reads a lot", 0.1), PROFILE)
    tea = fact("likes", "tea", kind="preference")
    assert is_near(pair(memory("Tea!", fact=tea), memory("The user likes tea", fact=tea), 0.1), PROFILE)
    latin = PROFILE.model_copy(update={"scripts": ("latin",)})
    assert is_near(pair("用户喜欢喝茶", "用户很喜欢喝茶", 0.0), latin)
    assert count_duplicates([pair("用户喜欢喝茶", "用户喜欢喝茶。", 0.0)], latin, LASTING) == 1


def test_an_answer_is_read_pair_by_pair() -> None:
    """Unknown numbers and verdicts, and a pair answered in two ways, are no answer; a text without the form is an
    error."""
    told = """Here: {"pairs": [{"pair": 1, "verdict": "same"}, {"pair": 2, "verdict": "SUPERSEDES "},
    {"pair": 3, "verdict": "maybe"}, {"pair": 4, "verdict": "same"}, {"pair": 4, "verdict": "different"},
    {"pair": 9, "verdict": "same"}, 7]}"""
    assert pair_answers.parse_answer(told, 5) == {1: "same", 2: "supersedes"}
    assert pair_answers.parse_answer('{"pairs": "none"}', 5) == {}
    with pytest.raises(BadExtraction):
        pair_answers.parse_answer("I would say the first two are the same.", 2)
    one = pair(memory("The user likes tea", event_time=NOON), "The user likes chai")
    assert pair_answers.encode_pairs([one])["pairs"][0]["earlier"] == {
        "text": "The user likes tea",
        "said": "2026-05-04",
        "when": "2026-05-04",
    }


def test_a_run_is_told_in_one_line_of_each_pair() -> None:
    """A thread reads of what stays: an update where it outdates the other one, else a merge with the number of notes;
    of what a run did and its undoing took back it reads nothing."""
    ids = [MemoryId(uuid4()) for _ in range(4)]

    def entry(n: int, of: int, action: Any = "MERGE", **meta: Any) -> JournalEntry:
        return JournalEntry(
            rev=Revision(n), memory_id=ids[of], action=action, ts=NOON, category="goals", text=f"text {of}", meta=meta
        )

    def told(*entries: JournalEntry) -> list[str]:
        delta = Delta(since=Revision(0), rev=entries[-1].rev, entries=entries)
        return render_delta_header(delta, SETTINGS.categories, 9).splitlines()[1:]

    merged = entry(1, 0, run="r", why="same", notes=2, **{"from": "b"}), entry(2, 1, run="r", why="same", into="a")
    updated = entry(3, 2, run="r", why="supersedes", notes=2, **{"from": "d"}), entry(4, 3, run="r", into="c")
    assert told(*merged, *updated) == ["- ↑updated: [Goals] text 2", "- ↔merged: Combined 2 notes about text 0"]
    again = entry(5, 0, run="s", why="same", notes=3, **{"from": "e"})
    assert told(*merged, again) == ["- ↔merged: Combined 4 notes about text 0"]
    back = entry(6, 0, "RESTORE", undo="r", stayed=True), entry(7, 1, "RESTORE", undo="r")
    assert told(*merged, *back) == []
    assert told(*back) == ["- +restored: [Goals] text 1"]


def test_what_was_said_again_is_not_outdated_by_what_came_between() -> None:
    """Berlin, Munich, Berlin: after the two Berlins are one, Munich supersedes nothing."""
    first = memory("The user lives in Berlin, the capital of Germany", fact=fact("lives_in", "Berlin", single=True))
    between = memory("The user lives in Munich", at=NOON + timedelta(days=1))
    again = memory("The user lives in Berlin", at=LATER)
    table = board(first, between, again)
    assert table.apply_finding(found(pair(first, between), "supersedes"))[0] in ("superseded", "distinct")
    table = board(first, between, again)
    assert table.apply_finding(found(pair(first, again), "same"))[0] == "same"
    assert table.members.memories[first.id].state == "active"
    assert table.apply_finding(found(pair(first, between), "supersedes"))[0] == "outdated"
    assert table.members.memories[first.id].state == "active"


def test_two_notes_have_no_attribute_in_common() -> None:
    """They share a predicate, which says nothing: what is always in context does not give way to another note."""
    older = memory("The user keeps bees in the attic", category="profile", fact=fact(NOTE, "bees", kind="note"))
    newer = memory("The user keeps hens", at=LATER, category="profile", fact=fact(NOTE, "hens", kind="note"))
    assert guard_judgement("supersedes", pair(older, newer), LASTING) == "different"


def uncertain() -> tuple[StoredMemory, StoredMemory, Pair]:
    """A memory, a later one of another category and far from it that perhaps replaces it, and the pair."""
    older = memory("The user has a red canoe", category="activity")
    newer = memory("The user sold the canoe", at=LATER, category="event", tags=(f"{MAY_REPLACE}{older.id}", "sport"))
    return older, newer, pair(older, newer, sim=0.0)


def test_what_is_perhaps_replaced_is_the_models_to_judge() -> None:
    """It is compared however far it is, and the rules are not sure."""
    older, newer, both = uncertain()
    assert is_near(both, PROFILE)
    assert not is_near(replace(both, newer=replace(newer, tags=())), PROFILE)
    assert not judge_pair(both, PROFILE, LASTING)[1]
    early = replace(newer, event_time=NOON - timedelta(days=9))
    assert order_pair(early, replace(older, event_time=NOON)) == (replace(older, event_time=NOON), early)


def test_a_model_says_whether_it_is_replaced() -> None:
    """With a yes the older one is superseded; with a no both stay, and the mark goes."""
    older, newer, both = uncertain()
    table = board(older, newer)
    assert table.apply_finding(found(both, "supersedes"))[0] == "superseded"
    assert table.members.memories[older.id].state == "superseded"
    table = board(older, newer)
    assert table.apply_finding(found(both, "different"))[0] == "distinct"
    assert table.members.memories[older.id].state == "active"
    assert table.members.memories[newer.id].tags == ("sport",)
    pinned = replace(older, pinned=True)
    table = board(pinned, newer)
    assert table.apply_finding(found(pair(pinned, newer, sim=0.0), "supersedes"))[0] == "distinct"
