"""How a statement reads: words in one spelling, names, figures, owners, denial and tense; and how two compare."""

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.merging.wording import compare_texts
from muniment.memory.rules.statements.parse import parse_statement


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user's wife is a chef", "The user's spouse is a chef"),
        ("用户的老婆是厨师", "用户的配偶是厨师"),
        ("The user owns two bikes", "The user owns 2 bicycles"),
        ("会议在周一开", "会议在星期一开"),
        ("用户需要十二箱纸", "用户需要12箱纸"),
        ("The user jogs each morning", "The user jogs every morning"),
    ],
)
def test_one_thing_has_one_spelling(one: str, other: str) -> None:
    """Who is the same person, and what is the same number or day, reads the same."""
    assert parse_statement(one).words == parse_statement(other).words
    assert parse_statement(one).figures == parse_statement(other).figures
    assert compare_texts(parse_statement(one), parse_statement(other)) == "same"


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The user does not eat pork", True),
        ("The user hates mushrooms", True),
        ("The user doesn't hate mushrooms", False),
        ("The user used to row", True),
        ("The office is closed on Sundays", True),
        ("The user likes coffee without sugar", False),
        ("用户不再抽烟", True),
        ("用户戒烟了", True),
        ("用户在无锡买了戒指", False),
        ("用户的中文不错", False),
        ("用户喜欢别墅", False),
        ("用户喜欢不加糖的茶", False),
        ("书架不是好的", True),
        ("The user notes everything", False),
    ],
)
def test_what_denies(text: str, denied: bool) -> None:
    """Denial is read from whole words and their meaning, not from a character that also stands in other words."""
    assert parse_statement(text).is_negated is denied


@pytest.mark.parametrize(
    ("new", "old", "verdict"),
    [
        ("Kate called Jim about the rent", "Jim called Kate about the rent", "different"),
        ("The bakery on Mill Street is run by Anna Keller", "Anna Keller runs the bakery on Mill Street", "same"),
        ("吴昊借给周涛50块钱", "周涛借给吴昊50块钱", "different"),
        ("Kate was hired by Jim", "Kate hired Jim", "different"),
        ("The user was taught French by Mr Jones", "The user teaches Mr Jones French", "different"),
        ("Kate was hired by Jim", "Jim hired Kate", "same"),
        ("Every week the vine is pruned by Kate", "Every week Kate prunes the vine", "same"),
        ("Kate does not owe Jim", "Jim owes Kate", "different"),
        ("The user rides from Riga to Lyon", "The user rides from Lyon to Riga", "different"),
        ("The user rides to Lyon from Riga", "The user rides from Riga to Lyon", "same"),
        ("The user rides from Lyon to Lyon", "The user rides to Lyon", "same"),
        ("The user rides from Lyon to Lyon", "The user rides from Lyon", "same"),
        ("The user's bus to the port leaves at 9:15", "The user's bus from the port leaves at 17:40", "different"),
        ("The user's bus to the port leaves at 9:15", "The user's bus to the port leaves at 17:40", "supersedes"),
        ("The user does not ride to Riga", "The user rides from Riga", "different"),
        ("The user knitted a scarf for Kate", "The user got a scarf knitted by Kate", "different"),
        ("The user sings for the choir", "The user sings with the choir", "different"),
        ("The user is employed by the city", "The user works for the city", "same"),
        ("The user swims after lunch", "The user swims before lunch", "different"),
        ("The key is under the mat", "The key is on the mat", "different"),
        ("The shop is open from 9:00 to 17:00", "The shop is open from 17:00 to 9:00", "different"),
        ("用户从昆明坐船", "用户坐船去昆明", "different"),
        ("用户收到小王的信", "用户从小王那里收到信", "same"),
        ("The user's stepmother is a pilot", "The user's mother is a pilot", "different"),
        ("The user's eldest son is a pilot", "The user's youngest son is a pilot", "different"),
        ("用户的弟弟会开飞机", "用户会开飞机", "different"),
        ("The user's team meets on Monday", "The user meets on Monday", "different"),
        ("Reports go to Tobias, not to Karen", "Reports go to Karen", "supersedes"),
        ("周报改发给赵经理", "周报发给李经理", "supersedes"),
        ("The printer is on the fifth floor", "The printer is on the third floor", "supersedes"),
        ("The user flew to Paris in 2023", "The user flew to Paris in 2018", "different"),
        ("The deadline is 19 May", "The deadline is 12 May", "supersedes"),
        ("The flat has five rooms", "The flat has four rooms and a terrace", "supersedes"),
        ("Mr. Clarke reviewed the lease", "Mr. Clark reviewed the lease", "different"),
        ("马丽得了游泳奖牌", "马丽的儿子得了游泳奖牌", "different"),
        ("The user borrowed the drill from the neighbour", "The user lent the drill to the neighbour", "different"),
        ("The mortgage runs for twenty-five years", "The mortgage runs for 25 years", "same"),
        (
            "The team switched from Jenkins to Travis for its builds",
            "The team uses Jenkins for its builds",
            "supersedes",
        ),
        ("Aunt June is 60", "Aunt May is 60", "different"),
        ("厨房的书架是好的", "书房的书架是好的", "different"),
        ("The user likes coffee cake", "The user likes coffee", "different"),
        ("The user eats all nuts except walnuts", "The user eats all nuts", "supersedes"),
        ("The user no longer sleeps with the window open", "The user sleeps with the window open", "supersedes"),
        ("The canteen is not open on Sundays", "The office is open on Sundays", "different"),
    ],
)
def test_how_two_compare(new: str, old: str, verdict: str) -> None:
    """Whose it is, who did it to whom, what it takes back and which number it changes decide, near or not."""
    assert compare_texts(parse_statement(new), parse_statement(old), is_vouched=True) == verdict


WORDS = st.lists(
    st.sampled_from(
        [
            "The",
            "user",
            "Anna",
            "not",
            "likes",
            "3",
            "rooms",
            "without",
            "Monday",
            "now",
            "used",
            "to",
            "wife",
            "用户",
            "不再",
            "老婆",
            "王丽",
            "周一",
            "两个",
            "，",
            ".",
        ]
    ),
    max_size=9,
)


@given(WORDS, WORDS)
def test_whatever_is_said_can_be_read_and_compared(one: list[str], other: list[str]) -> None:
    """Any text reads, a text says the same as itself, and no order of words breaks a comparison."""
    a, b = parse_statement(" ".join(one)), parse_statement("".join(other))
    assert compare_texts(a, a, is_vouched=True) == "same"
    assert compare_texts(a, b) in ("same", "supersedes", "different")
    assert a.content == parse_statement(" ".join(one) + ".").content
