"""Merging: two readings of one turn, and corrections that look like something else."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import Fact, Neighbour, StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.merging.merge import OUTDATED, IncomingCandidate, MergeResult, merge_candidates
from tests.engine import NOON
from tests.unit.test_merge import PROFILE, WRITING, bare, known, lives, meet


def of_one_turn(*texts: str) -> list[str]:
    """What is left of statements that are read from one turn by two readers, in order."""
    turn = TurnId(uuid4())
    memories: list[StoredMemory] = []
    for kind, predicate, value, text in (one.split("|") for one in texts):
        fact = Fact(kind=kind, predicate=predicate, object=value, subject="user")  # type: ignore[arg-type]
        one = replace(bare(text, fact=fact), turns=(turn,))
        for change in meet(one, *((memory, 0.8) for memory in memories)).changes:
            memories = [memory for memory in memories if memory.id != change.after.id] + [change.after]
    return [memory.text for memory in memories]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (
            ("preference|prefers|green tea|The user drinks only green tea",
                "preference|drinks|green tea|The user only has green tea"),
            ["The user drinks only green tea"],
        ),
        (
            ("identity|works_as|nurse|The user works as a nurse", "identity|works_at|Arup|The user works at Arup"),
            ["The user works as a nurse", "The user works at Arup"],
        ),
        (
            (
                "skill|skilled_in|Rhino|The user is good with Rhino",
                "skill|skilled_in|QGIS|The user is good with QGIS",
                "skill|skilled_in|QGIS and Rhino|The user is quite good with QGIS and Rhino",
            ),
            ["The user is good with Rhino", "The user is good with QGIS"],
        ),
        (
            (
                "skill|skilled_in|Rhino|The user is good with Rhino",
                "skill|skilled_in|QGIS|The user is good with QGIS",
                "skill|skilled_in|Revit|The user is good with Revit",
            ),
            ["The user is good with Rhino", "The user is good with QGIS", "The user is good with Revit"],
        ),
    ],
)  # fmt: skip
def test_two_readings_of_a_turn(said: tuple[str, ...], left: list[str]) -> None:
    """The same value under another predicate is one memory, another value is not; what is known in parts is not said
    again."""
    assert of_one_turn(*said) == left


def related(name: str, said: str) -> Candidate:
    fact = Fact(kind="relationship", predicate="colleague", object=name, persons=(name,))
    return Candidate(text=said, category="relationships", fact=fact)


def test_a_corrected_name_keeps_what_is_known_of_the_person() -> None:
    """`Joris, not Joost`: what Joost does, Joris does; what another colleague does stays."""
    old = known("The user's colleague Joost draws the plans", fact=related("Joost", "").fact, category="relationships")
    ben = known("The user's colleague Ben draws the maps", fact=related("Ben", "").fact, category="relationships")
    new = related("Joris", "The user's colleague is Joris, not Joost")
    [change] = meet(new, (ben, 0.7), (old, 0.6)).changes
    assert (change.action, change.before) == ("UPDATE", old)
    assert change.after.text == "The user's colleague Joris draws the plans"
    assert change.after.stable_key == "relationship|user|colleague|joris"
    bare_name = known("The user's colleague is Joost", fact=related("Joost", "").fact, category="relationships")
    [change] = meet(new, (bare_name, 0.6)).changes
    assert change.after.text == "The user's colleague is Joris"


def eats(text: str, predicate: str, value: str) -> Candidate:
    kind = "constraint" if predicate == "cannot" else "preference"
    fact = Fact(kind=kind, predicate=predicate, object=value)  # type: ignore[arg-type]
    return Candidate(text=text, category="profile" if predicate == "cannot" else "preferences", fact=fact)


@pytest.mark.parametrize(
    ("old", "new", "decided"),
    [
        (("用户不吃香菜", "cannot", "吃香菜"), ("用户爱上香菜", "likes", "香菜"), True),
        (("The user does not eat pork", "cannot", "eat pork"), ("The user now likes pork", "likes", "pork"), True),
        (("The user does not eat pork", "cannot", "eat pork"), ("The user loves pork", "likes", "pork"), False),
        (
            ("The user cannot eat cheese", "cannot", "eat cheese"),
            ("The user now likes cheese", "likes", "cheese"),
            False,
        ),
        (("The user does not eat pork", "cannot", "eat pork"), ("The user loves beef", "likes", "beef"), False),
    ],
)
def test_who_likes_what_was_not_eaten_eats_again(
    old: tuple[str, str, str], new: tuple[str, str, str], decided: bool
) -> None:
    """What one does not eat one may come to like; what one must not eat, or just goes without, one may
    like all the same."""
    before, candidate = eats(*old), eats(*new)
    memory = known(before.text, fact=before.fact, category=before.category)
    [change] = meet(candidate, (memory, 0.4)).changes
    assert (change.action == "UPDATE") is decided


def test_a_firm_with_a_shorter_name_is_a_correction() -> None:
    """Havn is what Havn & Stad is called now; Lisbon is where Lisbon, Portugal is."""
    firms = [Fact(kind="identity", predicate="works_at", object=one, single=True) for one in ("Havn & Stad", "Havn")]
    [change] = meet(
        bare("The user works at Havn", fact=firms[1]), (known("The user works at Havn & Stad", fact=firms[0]), 1.0)
    ).changes
    assert (change.action, change.after.text) == ("UPDATE", "The user works at Havn")
    home = known("The user lives in Lisbon, Portugal", fact=lives("Lisbon, Portugal"))
    assert meet(bare("The user lives in Lisbon", fact=lives("Lisbon")), (home, 1.0)).changes == ()


def test_the_race_with_another_day_is_the_same_race() -> None:
    """`The half marathon is on the 19th` moves the one that is known; `a marathon in Rome` is another."""
    fact = Fact(kind="goal", predicate="trains_for", object="Rotterdam half marathon")
    race = known("The user is training for the Rotterdam half marathon on 12 April 2026", fact=fact)
    moved = replace(fact, object="half marathon")
    text = "The half marathon that the user is training for is on 19 April 2026"
    [change] = meet(bare(text, fact=moved), (race, 0.79)).changes
    assert (change.action, change.after.text) == ("UPDATE", text)
    another = bare("The user is training for a half marathon in May 2027", fact=moved)
    assert [one.action for one in meet(another, (race, 0.79)).changes] == ["ADD"]


def late(candidate: Candidate, memory: StoredMemory) -> MergeResult:
    """What comes of a candidate whose turn was an hour before the one that the memory is from."""
    one = IncomingCandidate(
        candidate=candidate,
        vector=hash_vector(candidate.text),
        id=MemoryId(uuid4()),
        neighbours=(Neighbour(memory=memory, sim=0.8),),
    )
    at = NOON - timedelta(hours=1)
    return merge_candidates([one], scope=Scope(owner="ana"), at=at, profile=PROFILE, writing=WRITING)


def test_a_late_look_takes_nothing_back() -> None:
    """A turn that is read after later turns corrects nothing that they say, and says nothing again."""
    home = known("The user lives in Delft", fact=lives("Delft"), category="goals")
    done = late(bare("The user lives in Rotterdam", fact=lives("Rotterdam")), home)
    assert (done.changes, done.refused) == ((), (OUTDATED,))
    assert late(bare("The user lives in Delft", fact=lives("Delft")), home).changes == ()
    likes = known("用户爱上香菜", fact=eats("", "likes", "香菜").fact, category="preferences")
    done = late(eats("用户不吃香菜", "cannot", "吃香菜"), likes)
    assert (done.changes, done.refused) == ((), (OUTDATED,))


def test_a_late_look_adds_what_nobody_has_said() -> None:
    """It adds what is new, as of when it was said, and what is known of somebody whose name has been put right
    since."""
    home = known("The user lives in Delft", fact=lives("Delft"))
    [change] = late(bare("The user wants to open a studio"), home).changes
    assert (change.action, change.after.updated_at) == ("ADD", NOON - timedelta(hours=1))
    joris = known("The user's colleague is Joris, not Joost", fact=related("Joris", "").fact, category="relationships")
    [change] = late(related("Joost", "The user's colleague Joost draws the plans"), joris).changes
    assert (change.action, change.after.text) == ("MERGE", "The user's colleague Joris draws the plans")
    assert (change.after.fact, change.after.updated_at) == (joris.fact, joris.updated_at)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (("I work at Arup.", "I left Arup."), ["The user left Arup"]),
        (("I work at Arup.", "I left Rome yesterday."), ["The user works at Arup", "The user left Rome on 3 May 2026"]),
        (("I'm single.", "I got married yesterday."), ["The user got married yesterday (3 May 2026)."]),
        (("I'm married.", "I got married in 2015."), ["The user got married in 2015."]),
        (("I'm learning Polish", "I stopped learning Polish"), ["The user stopped learning Polish."]),
        (("I like drinking tea.", "I don't like tea any more."), ["The user does not like tea any more"]),
        (("I love pigs.", "I don't like eating pigs."), ["The user loves pigs", "The user does not like eating pigs"]),
        (("我喜欢喝绿茶", "我现在不喜欢绿茶了"), ["用户不再喜欢绿茶"]),
        (("My sister Vera lives in Turin", "Vera moved to Bari"), ["The user's sister is Vera", "Vera moved to Bari"]),
        (("我妹妹小红住在杭州", "小红搬到了南京"), ["用户的姐妹是小红（妹妹）", "小红搬到了南京"]),
        (("我在谷歌工作", "我昨天离开了谷歌"), ["用户于2026年5月3日离开了谷歌"]),
        (("我在谷歌工作", "我昨天离开了家"), ["用户在谷歌工作", "用户于2026年5月3日离开了家"]),
        (("我单身", "我昨天结婚了"), ["用户昨天 (2026年5月3日)结婚了。"]),
        (("我今年34岁", "我今天满35岁了"), ["用户35岁"]),
        (("My exam is on 8 May", "My exam was moved to 9 May at 10:15"), ["The user's exam is on 9 May 2026 at 10:15"]),
        (("My flight to Oslo is on 8 May", "My flight to Rome is on 9 May"),
            ["The user's flight to Oslo is on 8 May 2026", "The user's flight to Rome is on 9 May 2026"]),
        (("My mum lives in Turin", "My mum has moved to Bari"), ["The user's mum moved to Bari"]),
        (("My mum lives in Turin", "My dad moved to Bari"),
            ["The user's mum lives in Turin", "The user's dad moved to Bari"]),
        (("My aunt lives in Turin", "My aunt moved to Bari"),
            ["The user's aunt lives in Turin", "The user's aunt moved to Bari"]),
        (("我女儿叫紫涵", "纠正一下，是子涵"), ["用户的女儿是子涵"]),
        (("我女儿叫紫涵", "不对，是明天"), ["用户的女儿是紫涵"]),
        (("My niece is Rowena", "Sorry, it's Rowana."), ["The user's niece is Rowana"]),
        (("My niece is Rowena", "Sorry, it's Tuesday."), ["The user's niece is Rowena"]),
    ],
)  # fmt: skip
def test_what_happened_ends_what_was(said: tuple[str, ...], left: list[str]) -> None:
    """Who moved, left or married says so without taking anything back; what only looks like it ends nothing."""
    memories: list[StoredMemory] = []
    for n, text in enumerate(said):
        turn = Turn.make(session="s", key=str(n), role="user", text=text, at=NOON)
        for one in extract_statements(turn).candidates:
            for change in meet(one, *((memory, 0.7) for memory in memories)).changes:
                memories = [memory for memory in memories if memory.id != change.after.id] + [change.after]
    assert [memory.text for memory in memories] == left


def test_a_name_alone_corrects_the_fact_as_well() -> None:
    """Its value and its persons, by which it is found."""
    old = known("The user's niece is Rowena", fact=related("Rowena", "").fact, category="relationships")
    said = 'The user said: "Sorry, it\'s Rowana."'
    new = Candidate(text=said, category="activity", fact=Fact(kind="note", predicate="said", object=said))
    [change] = meet(replace(new, is_correction=True), (old, 0.6)).changes
    assert change.after.fact is not None
    assert (change.after.fact.object, change.after.fact.persons) == ("Rowana", ("Rowana",))
