"""A statement is held to the words that it cites: whose it is, whether it is so, and every detail of it."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.memory.rules.extraction.evidence import bearing, citation
from muniment.memory.rules.extraction.evidence.bearing import Support, Words
from muniment.memory.rules.merging.restatements import is_same_claim
from tests.answers import NOON, fact, told, turns


def held(said: str, statement: str, value: str = "", names: tuple[str, ...] = ()) -> Support:
    return bearing.find_support(statement, value, Words(cited=[said], at=NOON, known=said), names=names)


@pytest.mark.parametrize(
    ("said", "statement", "fault"),
    [
        ("My brother plays the cello.", "The user plays the cello", "another person's"),
        ("He told me he is diabetic.", "The user is diabetic", "another person's"),
        ("My aunt moved to Riga.", "The user's uncle moved to Riga", "another person's"),
        ("I love opera, my wife sleeps through it.", "The user's wife loves opera", "the user's own"),
        ("Find a gift for a boy who collects stamps.", "The user collects stamps", "another person's"),
        ("I don't ski.", "The user skis", "denied, or no longer so"),
        ("I ski.", "The user does not ski", "denied, or no longer so"),
        ("I'm not allergic to cats.", "The user is allergic to cats", "denied, or no longer so"),
        ("I used to sail.", "The user sails", "denied, or no longer so"),
        ("I sold my boat in May.", "The user has a boat", "denied, or no longer so"),
        ("We had to put down our dog Rex.", "The user has a dog Rex", "no longer so"),
        ("I might move to Bergen.", "The user moved to Bergen", "only a wish or a plan"),
        ("If I had a garden I'd grow figs.", "The user grows figs", "only imagined"),
        ("Should I buy a kayak?", "The user buys a kayak", "only asked"),
        ("I have three cats and five hens.", "The user has five cats", "not in the turn"),
        ("We leave on 3 June.", "The user leaves on 13 June", "not in the turn"),
        ("I work with Petra.", "The user works with Paula", "not in the turn"),
        ("我哥会开飞机。", "用户会开飞机", "another person's"),
        ("我不吃羊肉。", "用户吃羊肉", "denied, or no longer so"),
        ("我以前住在西安。", "用户住在西安", "denied, or no longer so"),
        ("我打算学游泳。", "用户学了游泳", "only a wish or a plan"),
        ("如果我有船就好了。", "用户有船", "only imagined"),
        ("我要不要买船？", "用户买船", "only asked"),
        ("我有两个孩子。", "用户有三个孩子", "not in the turn"),
    ],
)
def test_what_the_words_do_not_say_has_a_fault(said: str, statement: str, fault: str) -> None:
    """In both languages, and by name."""
    assert held(said, statement).fault == fault


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("My boss gave me a raise.", "The user got a raise"),
        ("My mum hates that I smoke.", "The user smokes"),
        ("I can't stand olives.", "The user dislikes olives"),
        ("I gave up meat.", "The user no longer eats meat"),
        ("You should know I'm vegan.", "The user is vegan"),
        ("Can you find a gift for my wife who loves tea?", "The user's wife loves tea"),
        ("My sister and I share a flat.", "The user shares a flat with the user's sister"),
        ("I don't eat pork, but I eat fish.", "The user eats fish"),
        ("I want to visit Riga.", "The user hopes to visit Riga"),
        ("我妈不吃辣。", "用户的母亲不吃辣"),
        ("我受不了榴莲。", "用户讨厌榴莲"),
        ("我戒烟了。", "用户不再抽烟"),
    ],
)
def test_other_words_for_the_same_are_borne(said: str, statement: str) -> None:
    """Without the embedder."""
    assert held(said, statement) == Support(words=held(said, statement).words)


def test_what_shares_few_words_is_for_the_embedder() -> None:
    """Nearer for a claim that the words do not name."""
    tram = held("The tram takes me downtown at eight.", "The user commutes downtown by public transport")
    assert tram.need == "related"
    assert held("I spent a week in Cork.", "The user lives in Cork", "Cork").need == "close"
    assert held("I bought a bike.", "The user bought a red racing bike", "red racing bike").fault == "not in the turn"


@pytest.mark.parametrize(
    ("asked", "answer", "borne"),
    [
        ("Are you a vegetarian?", "Yes, since 2019", True),
        ("Are you a vegetarian?", "no, never", False),
        ("Are you a vegetarian?", "Why do you ask?", False),
        ("You are a vegetarian.", "Yes, fine", False),
        ("您吃素吗？", "对", True),
    ],
)
def test_a_question_bears_what_the_user_affirms(asked: str, answer: str, borne: bool) -> None:
    """And nothing else of what the assistant says."""
    conversation = turns(("assistant", asked), answer)
    words = citation.choose_words(conversation, [conversation[1]], "")
    assert bool(words.question) is borne


@pytest.mark.parametrize(
    "said",
    [
        'Translate: "I am a vegetarian and I live in Oslo"',
        "Fix this: “我是素食者，住在奥斯陆。”",
    ],
)
def test_what_is_in_quotation_marks_is_not_the_users(said: str) -> None:
    """However short it is."""
    found = told(turns(said), fact("The user is a vegetarian"), fact("用户是素食者"))
    assert found.candidates == ()


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("The user am allergic to nuts", "The user is allergic to nuts"),
        ("The user have allergies to nuts", "The user has allergies to nuts"),
        ("I am allergic to nuts", "The user is allergic to nuts"),
        ("The user's aunt Mia is allergic to nuts", "Mia is allergic to nuts"),
    ],
)
def test_what_is_certain_of_a_wording_is_mended(statement: str, kept: str) -> None:
    """Agreement, person, and a relation that nobody named."""
    said = "Mia is allergic to nuts" if "Mia" in statement else "I'm allergic to nuts"
    about = {"subject": "Mia", "persons": ["Mia"]} if "Mia" in statement else {}
    [found] = told(turns(said), fact(statement, object="nuts", **about)).candidates
    assert found.text == kept


def test_a_wrong_turn_is_mended_by_its_words() -> None:
    """Off by one, or none; the words decide."""
    raw: dict[str, Any] = {"statement": "The user likes tea", "about": "user", "attribute": "likes", "value": "tea"}
    raw |= {"category": "preferences", "quote": "I like tea", "turn": 1}
    conversation = turns(("assistant", "What do you drink?"), "I like tea")
    found = told(conversation, raw)
    assert [each.turns for each in found.candidates] == [(conversation[1].id,)]
    assert found.repairs == ("no supporting turn",)


def test_seven_fields_are_enough() -> None:
    """Kind, negation and importance follow from them."""
    raw: dict[str, Any] = {
        "statement": "The user does not like tea",
        "about": "user",
        "attribute": "likes",
        "value": "tea",
    }
    raw |= {"category": "preferences", "quote": "I don't like tea", "turn": 1}
    [found] = told(turns("I don't like tea"), raw).candidates
    assert found.fact is not None
    assert (found.fact.kind, found.fact.negated, found.importance) == ("preference", True, 2)
    short = {
        "statement": "The user has a peanut allergy",
        "category": "constraints",
        "quote": "I have a peanut allergy",
    }
    [found] = told(turns("I have a nut allergy"), short).candidates
    assert found.category == "constraints"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("The user has a penicillin allergy", "The user is allergic to penicillin", True),
        ("The user works as a nurse", "The user is a nurse", True),
        ("用户的职业是护士", "用户是护士", True),
        ("用户有花生过敏", "用户对花生过敏", True),
        ("The user has a penicillin allergy", "The user is not allergic to penicillin", False),
        ("The user's wife works as a nurse", "The user is a nurse", False),
        ("The user works as a nurse in Oslo", "The user is a nurse", False),
        ("The user used to work as a nurse", "The user is a nurse", False),
        ("The user has a peanut allergy", "The user is allergic to walnuts", False),
        ("The user likes tea", "The user drinks tea", False),
    ],
)
def test_two_turns_of_phrase_are_one_claim(a: str, b: str, same: bool) -> None:
    """With the same words, names and polarity only."""
    assert is_same_claim(a, b) is is_same_claim(b, a) is same
