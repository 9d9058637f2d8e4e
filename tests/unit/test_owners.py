"""Whose a thing is: of two owners' things of one kind neither says anything of the other."""

from __future__ import annotations

import pytest

from muniment.memory.domain.memory import Fact
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction.alignment import align_candidates
from muniment.memory.rules.merging.consolidate import guard_judgement
from muniment.memory.rules.merging.wording import compare_texts, is_guarded
from muniment.memory.rules.statements.parse import parse_statement
from tests.unit.test_consolidate import pair


@pytest.mark.parametrize(("a", "b"), [
    ("The user's phone number is 555 0199", "Ben's phone number is 555 0111"),
    ("My phone number is 555 0199", "Ben Smith's new phone number is 555 0111"),
    ("The user's phone number is 555 0199", "The phone number of Ben is 555 0111"),
    ("The user's birthday is on 3 May", "The user's dog's birthday is on 4 May"),
    ("The plumber's phone number is 555 0199", "The user's phone number is 555 0111"),
    ("The user's phone number is 555 0199", "O'Brien's phone number is 555 0111"),
    ("The user's dog is a poodle", "James' dog is a poodle"),
    ("Ben's wife's birthday is on 3 May", "The user's wife's birthday is on 4 May"),
    ("用户的电话号码是5550199", "本的电话号码是5550111"),
    ("用户的狗是贵宾犬", "汤姆的狗是贵宾犬"),
    ("用户的电话号码是5550199", "小美的电话号码是5550111"),
    ("The user's number is 555 0199", "His number is 555 0111"),
    ("The user's address is 12 Elm Street", "Her address is 5 Oak Road"),
    ("The user's email is a@b.org", "Their email is c@d.org"),
    ("Ben's birthday is on 3 May", "Her birthday is on 4 May"),
    ("Her job is in sales", "His job is in retail"),
    ("The user weighs 80 kg", "He weighs 90 kg"),
    ("用户的电话号码是5550199", "他的电话号码是5550111"),
])  # fmt: skip
def test_what_two_have_stays_two(a: str, b: str) -> None:
    """Neither takes the other's place nor is the same, however sure an embedder or a model is of it."""
    for new, old in ((parse_statement(a), parse_statement(b)), (parse_statement(b), parse_statement(a))):
        assert compare_texts(new, old) == compare_texts(new, old, is_vouched=True) == "different"
        assert is_guarded(new, old)
    assert guard_judgement("same", pair(a, b), ()) == guard_judgement("supersedes", pair(a, b), ()) == "different"


@pytest.mark.parametrize(("a", "b"), [
    ("The user's phone number is 555 0199", "User's new phone number is 555 0111"),
    ("The phone number of the user is 555 0199", "My phone number is 555 0111"),
    ("Ben's phone number is 555 0199", "555 0199 is the user's phone number, not Ben's"),
    ("Ben's phone number is 555 0199", "Ben Smith's phone number is 555 0111"),
    ("The user's friend Ben's phone number is 555 0199", "Ben's phone number is 555 0111"),
    ("The plumber's phone number is 555 0199", "The user's plumber's phone number is 555 0111"),
    ("The user's standup is at 9:30", "Monday's standup is at 10"),
    ("The flat's rent is 800", "The user's rent is 900"),
    ("The user's wedding is at Ben's house", "The user's wedding is now at Ana's house"),
    ("用户的电话号码是5550199", "用户新的电话号码是5550111"),
    ("用户的电话号码是5550199", "新的电话号码是5550111"),
    ("用户的妻子的电话号码是5550199", "用户的老婆的电话号码是5550111"),
    ("用户最喜欢的餐厅是运河边的路易餐厅", "用户最喜欢的餐厅是诺维酒吧"),
])  # fmt: skip
def test_another_word_for_an_owner_is_no_other_owner(a: str, b: str) -> None:
    """Nor is a quality or a day one, nor whoever is said not to be it: a correction is not lost."""
    assert compare_texts(parse_statement(b), parse_statement(a)) == "supersedes"


def test_a_model_s_word_for_ben_s_is_not_filed_under_the_user_s() -> None:
    """In nearly all words alike, of one turn and of one subject as far as the model says."""
    mine, his = (
        Candidate(
            text=f"{whose} car insurance expires soon",
            category="activity",
            fact=Fact(kind="note", predicate="note", object=f"{whose} car insurance expires soon"),
        )
        for whose in ("The user's", "Ben's")
    )
    assert align_candidates([his], [mine]) == (his,)
