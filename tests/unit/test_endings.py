"""Which memory a statement in ordinary words ends or corrects, and which it must leave alone."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import NOTE, Fact, Neighbour, StoredMemory, list_replaced
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.merging.endings import correct_text, find_ended
from muniment.memory.rules.merging.merge import IncomingCandidate, merge_candidates
from muniment.memory.rules.statements.parse import find_contrasts
from tests.engine import NOON
from tests.unit.test_merge import known

SETTINGS = load_settings({"HOME": "/nonexistent"})


def said(text: str) -> Candidate:
    """A note of these words."""
    fact = Fact(kind="note", predicate=NOTE, object=text)
    return Candidate(text=text, category="activity", fact=fact, turns=(TurnId(uuid4()),))


def noted(text: str) -> StoredMemory:
    """A note of these words that memory holds."""
    return known(text, fact=said(text).fact, category="activity")


def known_after(*messages: str) -> list[StoredMemory]:
    """What is known after these messages, an hour apart, when every memory is in sight."""
    space: dict[MemoryId, StoredMemory] = {}
    for n, text in enumerate(messages):
        at = NOON + timedelta(hours=n)
        turn = Turn.make(session="s", key=str(n), role="user", text=text, at=at)
        near = tuple(Neighbour(memory=one, sim=0.7) for one in space.values())
        incoming = [
            IncomingCandidate(candidate=one, vector=hash_vector(one.text), neighbours=near, id=MemoryId(uuid4()))
            for one in extract_statements(turn).candidates
        ]
        profile = SETTINGS.find_profile("default")
        done = merge_candidates(incoming, scope=Scope(owner="ana"), at=at, profile=profile, writing=SETTINGS.write)
        space |= {change.after.id: change.after for change in done.changes}
    return [one for one in space.values() if one.state == "active"]


def history(*messages: str) -> list[str]:
    """The texts of what is known after these messages."""
    return [one.text for one in known_after(*messages)]


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        # a home, a job, a course of study, a partner, a diet
        ('The user said: "we\'ve moved out to a farm near Ludlow"', "The user lives in Leeds"),
        ("The user quit last Friday and feels free.", "The user works at Arup"),
        ("The user dropped out in the second year.", "The user is studying law"),
        ('The user said: "so, we broke up in the end"', "The user is dating a cellist"),
        ("The user eats fish again these days.", "The user is vegetarian"),
        ("用户上个月跳槽了。", "用户在谷歌工作"),
        ("用户已经不住南京了。", "用户住在南京"),
        ("用户和她离婚了。", "用户已婚"),
        # a thing by its name
        ("The user sold the canoe in spring.", "The user has a red canoe"),
        ("The user gave up pottery.", "The user does pottery on Mondays"),
        ("The trip to Lofoten is cancelled.", "The user is planning a trip to Lofoten"),
        ("用户把摩托车卖了。", "用户有一辆摩托车"),
        ("用户放弃学大提琴了。", "用户在学大提琴"),
    ],
)
def test_an_ending_ends_what_it_is_about(text: str, memory: str) -> None:
    """It finds that memory alone among others."""
    one = noted(memory)
    others = [noted(other) for other in ("The user likes strong tea", "The user's sister plays chess", "用户喜欢下棋")]
    assert find_ended(said(text), [*others, one]) == [one]


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        # the move, job and wedding of another
        ("The user's brother moved to Bari.", "The user lives in Turin"),
        ("The user's sister quit last week.", "The user works at Arup"),
        ("The user's cousin got divorced.", "The user is married"),
        ("用户的妈妈搬到了南京。", "用户住在杭州"),
        ("The user moved to Bari.", "The user's brother lives in Turin"),
        # another thing
        ("The user sold the canoe.", "The user has a blue bicycle"),
        ("The user gave up pottery.", "The user does yoga on Mondays"),
        ("用户把摩托车卖了。", "用户有一只猫"),
        # what is no ending
        ("The user likes the canoe.", "The user has a red canoe"),
        ("用户每天骑摩托车。", "用户有一辆摩托车"),
        # what says itself that something ended
        ("The user moved to Bari.", "The user no longer lives in Turin"),
    ],
)
def test_what_is_not_about_a_memory_ends_nothing(text: str, memory: str) -> None:
    """Neither what is another's, nor another thing, nor what just goes on."""
    assert find_ended(said(text), [noted(memory)]) == []


def test_where_two_fit_alike_none_is_chosen() -> None:
    """Both are found, so that merging ends neither."""
    two = [noted("The user has a red canoe"), noted("The user has a blue canoe")]
    assert len(find_ended(said("The user sold the canoe."), two)) == 2


def test_what_is_out_of_reach_stays() -> None:
    """A pinned memory, one that says more than this, one of the same turn, and one that is not active."""
    text = "The user sold the canoe."
    one = noted("The user has a red canoe")
    assert find_ended(said(text), [one]) == [one]
    several = noted('The user said: "I have a red canoe. It came from an aunt in Oban."')
    assert find_ended(said(text), [several]) == []
    assert find_ended(said(text), [replace(one, pinned=True)]) == []
    assert find_ended(said(text), [replace(one, state="superseded")]) == []
    candidate = said(text)
    assert find_ended(candidate, [replace(one, turns=candidate.turns)]) == []


def test_of_two_facts_the_judge_decides() -> None:
    """Both have a relation and a value, which say more than their words."""
    home = known("The user lives in Leeds", fact=Fact(kind="identity", predicate="lives_in", object="Leeds"))
    fact = Fact(kind="event", predicate="moved_to", object="Marketing")
    assert find_ended(replace(said("The user moved to Marketing"), fact=fact), [home]) == []


@pytest.mark.parametrize(
    ("text", "contrasts"),
    [
        ("It's Rowan, not Rowena", [("Rowan", "Rowena")]),
        ("her name is Emily not Emma", [("Emily", "Emma")]),
        ("its emily not emma", [("emily", "emma")]),
        ("I'm a nurse, not a doctor", [("nurse", "doctor")]),
        ("The user's colleague is Joris, not Joost", [("Joris", "Joost")]),
        ("他叫小雪，不叫小雨", [("小雪", "小雨")]),
        ("I do not live in Porto", []),
        ("I'm not a doctor", []),
        ("we're really not happy", []),
    ],
)
def test_what_is_and_what_is_not(text: str, contrasts: list[tuple[str, str]]) -> None:
    """The `not` of a verb contrasts nothing."""
    assert find_contrasts(text) == contrasts


@pytest.mark.parametrize(
    ("text", "memory", "corrected"),
    [
        ("Her name is Emily, not Emma", "The user's niece is Emma", "The user's niece is Emily"),
        ("It's spelled Katharyn, with a y", "The user's boss is Katharine", "The user's boss is Katharyn"),
        ("The viewing is on Monday, not Tuesday", "The viewing is on Tuesday", "The viewing is on Monday"),
        ("他叫小雪，不叫小雨", "用户的妹妹是小雨", "用户的妹妹是小雪"),
        ("Her name is Emily, not Emma", "The user's niece is Clara", None),
        ("The user does not live in Porto", "The user lives in Porto", None),
    ],
)
def test_a_value_is_put_right(text: str, memory: str, corrected: str | None) -> None:
    """The rest of the memory stays as it is."""
    assert correct_text(text, memory) == corrected


@pytest.mark.parametrize(
    ("messages", "words", "gone"),
    [
        (("I have a red canoe in the shed.", "I sold the canoe last week."), "sold the canoe", "red canoe"),
        (("My niece Emma is learning the harp.", "Sorry, it's Emily, not Emma."), "Emily", "Emma"),
        (("我家有一辆旧摩托车。", "我把摩托车卖了。"), "卖了", "有一辆"),
        # what is meant stands in the sentence before, and the attitude names nothing
        (("I really hate ironing shirts.", "I've come round to ironing. I actually like it now."), "round", "hates"),
        # a date in the memory that has it
        (
            (
                "I'm training for the Bergen half marathon on 12 June.",
                "Correction, the half marathon is on the 19th of June.",
            ),
            "Bergen half marathon on 19 June",
            "12 June",
        ),
        (
            ("My dentist appointment is on 5 December.", "Sorry, the dentist appointment is on the 8th."),
            "8 Dec",
            "5 Dec",
        ),
        (("I have a meeting with Dana on Wednesday.", "The meeting with Dana moved to Thursday."), "Dana", "on 13 May"),
        (("I have an exam with Dr Kern on 8 May.", "Sorry, the exam is on 9 May."), "Kern on 9 May 2026.", "8 May"),
        (("我5月8日有考试。", "说错了，考试是5月9日。"), "2026年5月9日", "5月8日"),
        # a name in all that is known of one person
        (("My colleague Joost draws the plans.", "My colleague's name is Joris, not Joost."), "Joris draws", "Joost"),
    ],
)
def test_what_was_known_makes_way(messages: tuple[str, ...], words: str, gone: str) -> None:
    """The new words stand where the old ones stood."""
    left = " ".join(history(*messages))
    assert words in left
    assert gone not in left


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (("I live in Turin.", "My brother moved to Bari."), "The user lives in Turin"),
        (("I live in Turin.", "My parents sold their house in Bari."), "The user lives in Turin"),
        (("我住在杭州。", "我妈妈搬到南京了。"), "用户住在杭州"),
        (("I'm allergic to peanuts.", "I don't eat peanuts."), "The user is allergic to peanuts"),
        (("I work at Arup.", "I left my umbrella on the train."), "The user works at Arup"),
        (("I live in Leeds.", "We moved the piano into the kitchen."), "The user lives in Leeds"),
    ],
)
def test_what_was_known_stays(messages: tuple[str, ...], kept: str) -> None:
    """What only looks like an ending takes nothing away."""
    assert kept in history(*messages)


def test_a_correction_that_is_not_certain_puts_nothing_right() -> None:
    """Two people may have the wrong name."""
    known_before = ("My niece Emma is learning the harp.", "My boss Emma is retiring.")
    left = history(*known_before, "Sorry, it's Emily, not Emma.")
    assert "The user's niece is Emma" in left
    assert not any("Emily is" in text for text in left)


@pytest.mark.parametrize(
    "correction", ["Correction, the 10k is on 19 June.", "The half marathon on 19 June was great."]
)
def test_a_date_of_something_else_corrects_none(correction: str) -> None:
    """Neither the date of another thing nor a date that corrects nothing."""
    known_before = "I'm training for the Bergen half marathon on 12 June."
    assert "The user is training for the Bergen half marathon on 12 June (2026)." in history(known_before, correction)


def test_what_may_be_ended_is_marked() -> None:
    """Two canoes and one that was sold: all three stay, and the newest is marked with the other two."""
    space = known_after(
        "I have a red canoe at the lake.", "I have a green canoe at home.", "I sold the canoe last week."
    )
    *canoes, sold = space
    assert sorted(list_replaced(sold)) == sorted(str(canoe.id) for canoe in canoes)
    assert len(canoes) == 2
