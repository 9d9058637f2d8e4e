"""Two known statements about different people: names, kin and owners tell them apart."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.merging.consolidate import guard_judgement
from muniment.memory.rules.statements.parse import parse_statement
from muniment.memory.rules.statements.people import has_different_people, has_other_names
from tests.unit.test_consolidate import pair


@given(
    st.sampled_from(["Rosa", "Theo", "The user's boss", "王芳", "The neighbour"]),
    st.sampled_from(["has a goat", "sings"]),
)
def test_the_user_is_nobody_else(other: str, does: str) -> None:
    """What somebody does the user does not, whatever the words, nor what somebody of the user's does; the user's own is
    the user's."""
    mine, theirs = parse_statement(f"The user {does}"), parse_statement(f"{other} {does}")
    assert has_different_people(mine, theirs) is has_different_people(theirs, mine) is True
    assert not has_different_people(
        parse_statement("The user has an old goat"), parse_statement("The user's goat is old")
    )


@pytest.mark.parametrize(("a", "b", "two"), [
    ("王芳会说法语", "李强会说法语", True), ("王芳会说法语", "王芳会讲法语", False),
    ("李强的姐姐是王芳", "王芳是李强的姐姐", False),
    ("黄海的书约好周五取", "周五送来的是谢飞的书", True), ("王芳问哪天开门", "王芳芳问哪天开门", True),
    ("黄海问哪天开门", "问哪天开门的是黄海", False),
    ("那辆车是黄海燕修的", "黄海修的车", True), ("王芳会说法语", "王芳也会说法语", False),
    ("王芳爱喝茶", "王芳现在爱喝茶", False), ("王芳不会骑车", "王芳骑不了车", False), ("王芳的猫", "王芳芳的猫", True),
    ("周末用户去爬山", "用户去爬山", False),
    ("白天用户在家", "用户在家", False), ("黄海养了猫", "黄海燕家里有猫", True), ("黄海养了猫", "黄海家里有猫", False),
    ("车是黄海燕的", "黄海有一辆车", True), ("开车的是黄海", "黄海燕开车", True),
    ("黄海燕养了猫", "黄海燕家里有猫", False),
    ("黄海2019年搬家了", "黄海搬家了", False), ("黄海今年搬了家", "黄海搬家了", False),
])  # fmt: skip
def test_chinese_names_are_told_apart(a: str, b: str, two: bool) -> None:
    """By how a text begins, unless the other one has that name, too."""
    assert (
        has_different_people(parse_statement(a), parse_statement(b))
        is has_different_people(parse_statement(b), parse_statement(a))
        is two
    )


@pytest.mark.parametrize(("a", "b", "two"), [
    ("修车的是黄海", "修车的是谢飞", True), ("修车的是黄海", "修车的是黄海燕", True),
    ("给李强送书", "给李强强送书", True),
    ("周五黄海要取书", "黄海周五要去取书", False), ("小王周三去游泳", "小黄周三去游泳", True),
    ("阿美会做饭", "阿梅会做饭", True),
    ("李阿姨送来了汤", "王阿姨送来了汤", True), ("欧阳娜唱歌", "欧阳娜娜唱歌", True),
    ("用户高中在上海读书", "用户高中时在上海读书", False),
    ("用户每天早上在阳台给番茄浇水", "用户早上都会在阳台上给番茄浇水", False),
])  # fmt: skip
def test_chinese_names_are_told_apart_anywhere(a: str, b: str, two: bool) -> None:
    """Each has a name that the other does not have, wherever it stands; nobody calls these the same."""
    assert (
        has_other_names(parse_statement(a), parse_statement(b))
        is has_other_names(parse_statement(b), parse_statement(a))
        is two
    )
    assert guard_judgement("same", pair(a, b), ()) == ("different" if two else "same")


@pytest.mark.parametrize(("a", "b", "two"), [
    ("The user's tutor has a goat", "The user has a goat", True),
    ("The user's new dentist lives in Graz", "The user lives in Graz", True),
    ("The user's tutor's name is Theo", "Theo is the user's tutor", False),
    ("The user's home is in Graz", "The user lives in Graz", False),
    ("The user's sister-in-law has a goat", "A goat is what the user's sister-in-law has", False),
    ("The user's sister-in-law has a goat", "The user's sister has a goat", True),
    ("The user's printer is broken", "The user has a broken printer", False),
    ("The user never eats olives", "The user does not eat olives", False),
])  # fmt: skip
def test_somebody_of_the_user_s_is_not_the_user(a: str, b: str, two: bool) -> None:
    """Whatever they are to the user, as long as the word is one for a person; a thing of the user's is the user's."""
    assert (
        has_different_people(parse_statement(a), parse_statement(b))
        is has_different_people(parse_statement(b), parse_statement(a))
        is two
    )


@pytest.mark.parametrize(("a", "b", "two"), [
    ("小伍的导师是姜师傅", "姜师傅退休了，房阿姨的导师改为小赵", True),
    ("放学是王老师接秦朗的孩子", "放学是姜师傅接阿明的孩子", True),
    ("用户的大舅喜欢陈醋", "用户的二舅喜欢陈醋", True), ("贺岚喜欢葱花", "贺岚的搭档喜欢葱花", True),
    ("The user's student indents by 5", "The user's student's boss indents by 5", True),
    ("The user's student paints", "The user's former student paints", True),
    ("用户的助教周五出院", "用户周五出院", True), ("用户的助教的手机丢了", "用户的手机丢了", True),
    ("用户的书房的灯坏了", "用户书房的灯坏了", False),
    ("The user's notary is saving for a boat", "The user is saving for a kayak", True),
    ("The user's herald has run", "The user has run", True),
    ("荣嘉怡2026年8月10日去拍照", "2026年10月16日邱文浩去露营", True),
    ("荣嘉怡2026年8月10日去拍照", "2026年8月10日荣嘉怡去拍照", False),
    ("The user's desk is oak", "The user has an oak desk", False),
    ("The user's team has 5 members", "The user has a team of 5", False),
    ("The user's soundbar broke", "The user's son-in-law's dash cam broke", True),
    ("The user's son-in-law's dash cam broke", "The dash cam of the user's son-in-law broke", False),
    ("用户的姐姐住在北京", "用户姐姐住在北京", False), ("用户的组长周五交初稿", "用户周五交初稿", True),
    ("用户的组长周五交初稿", "周五用户的组长交初稿", False), ("用户的个人网站挂了", "用户的网站挂了", False),
    ("用户的摄影师爱喝茶", "用户的花店员工爱喝茶", True),
    ("王芳的红色的车坏了", "王芳的车坏了", False),
    ("Rashid met Mr Hale", "Rashid met Mrs Hale", True), ("Aunt Jo sings", "Uncle Jo sings", True),
    ("Mr Hale sings", "Hale sings", False),
    ("Martin's trainer broke an ankle", "Martin broke an ankle", True),
    ("Martin's printer is new", "Martin has a new printer", False),
    ("Bo's sparring partner sings", "Bo's tennis partner sings", True),
    ("The user's manager sings", "The user's former manager sings", True),
    ("The user's team stores data", "The user's trainee's team stores data", True),
    ("Bo's new tutor sings", "Bo's tutor sings", False),
    ("吃火锅的时候用户爱点土豆片", "用户的堂妹吃火锅爱点土豆片", True),
    ("The user's half-sister sings", "The user's half-brother sings", True),
    ("The shed in Bo's lodger's yard is red", "The shed in Bo's yard is red", True),
    ("Ana is Bo's hairdresser", "Ana cuts Bo's hair", False),
])  # fmt: skip
def test_kin_titles_and_owners_tell_people_apart(a: str, b: str, two: bool) -> None:
    """An uncle is not another uncle, a partner is not whose partner it is, and a Mr is no Mrs."""
    assert (
        has_different_people(parse_statement(a), parse_statement(b))
        is has_different_people(parse_statement(b), parse_statement(a))
        is two
    )


@pytest.mark.parametrize(("a", "b", "two"), [
    ("Ericsson is Nils's supplier", "Wanda's supplier is now Ericsson", True),
    ("James' supplier is Ericsson", "Wanda's supplier is Ericsson now", True),
    ("Nils's supplier is Philips", "Nils's supplier is now Ericsson", False),
    ("Nils's sister's cat is Mo", "Mo is Nils's sister's cat", False),
    ("It's Nils who rows", "Nils's sport is rowing", False),
])  # fmt: skip
def test_what_belongs_to_one_is_not_anothers(a: str, b: str, two: bool) -> None:
    """Whose a thing is does not change because the thing does: another owner is no new value."""
    assert (
        has_different_people(parse_statement(a), parse_statement(b))
        is has_different_people(parse_statement(b), parse_statement(a))
        is two
    )
