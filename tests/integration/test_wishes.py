"""What a person asks to forget in words: what goes, what stays, and what is told."""

from __future__ import annotations

import pytest

from muniment.memory.client import Memory
from tests.engine import engine, said, scope

ENGLISH = (
    "I live in Rome. My wife's name is Olga. My wife works as a dentist.",
    "I work as a nurse. My birthday is May 3. My sister lives in Rome.",
    "Remember that my phone number is 555 0199. My dog is called Rex. My cat is called Tom.",
    "Remember that Ben lives in Rome and knows my wife's name. Remember that my diet is strange.",
)
CHINESE = (
    "我住在罗马。我妻子叫小红。我是护士。",
    "我的生日是5月3日。记住我的电话号码是5550199。我姐姐住在罗马。",
    "我的狗叫旺财。",
)


async def texts(memory: Memory) -> set[str]:
    return {one.text for one in await memory.list(scope())}


@pytest.mark.parametrize(
    ("known", "wish", "gone"),
    [
        (ENGLISH, "Forget where I live.", "The user lives in Rome"),
        (ENGLISH, "forget that I live in Rome", "The user lives in Rome"),
        (ENGLISH, "forget my wife's name", "The user's wife is Olga"),
        (ENGLISH, "Forget that my wife is called Olga", "The user's wife is Olga"),
        (ENGLISH, "Can you forget my job, please?", "The user works as a nurse"),
        (ENGLISH, "forget my wife's job", "The user's wife works as a dentist"),
        (ENGLISH, "forget when my birthday is", "The user's birthday is May 3"),
        (ENGLISH, "forget my phone number", "The user's phone number is 555 0199"),
        (ENGLISH, "forget my dog's name", "The user's dog is Rex"),
        (ENGLISH, "forget my diet", "The user's diet is strange"),
        (CHINESE, "忘记我住在哪里", "用户住在罗马"),
        (CHINESE, "忘记我妻子的名字", "用户的配偶是小红（妻子）"),
        (CHINESE, "请忘掉我的工作。", "用户的职业是护士"),
        (CHINESE, "忘记我的电话号码", "用户的电话号码是5550199"),
        (CHINESE, "忘记我的狗叫什么", "用户的宠物是旺财（狗）"),
    ],
)
async def test_the_memory_that_is_meant_goes(database_url: str, known: tuple[str, ...], wish: str, gone: str) -> None:
    """It alone, though others have the same words and are about somebody else; and there is nothing to tell."""
    async with engine(database_url) as memory:
        for text in known:
            await memory.learn(scope(), said(text))
        before = await texts(memory)
        asked = said(wish)
        assert (await memory.learn(scope(), asked)).unmatched_requests == ()
        assert before - await texts(memory) == {gone}
        again = await memory.learn(scope(), asked)
        assert (again.changes, again.unmatched_requests) == ((), ())  # the turn was cut short and is done once more


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ("Forget my dog's name", 'Nothing was forgotten for "my dog\'s name"'),
        ("Don't remember where I live", 'Nothing was forgotten for "where I live"'),
        ("forget where I was born", 'Nothing was forgotten for "where I was born"'),
        ("forget about the zebra " + "that eats " * 20, 'eats…"'),
        ("forget my phone number", "`muniment forget ID`"),
        ("forget everything about me", "`muniment erase --user ana`"),
        ("忘记我的年龄", "没有忘记任何内容：没有哪条记忆确定就是“我的年龄”"),
        ("忘记关于我的一切", "`muniment erase --user ana`"),
    ],
)
async def test_what_is_not_sure_stays_and_is_told(database_url: str, wish: str, told: str) -> None:
    """One of several, what nobody has said, somebody else's, and everything: nothing changes, and a sentence says
    so."""
    async with engine(database_url) as memory:
        for text in (
            "My dog is called Rex. My dog is called Fido. I live in Rome.",
            "Remember that Ben's phone number is 5.",
        ):
            await memory.learn(scope(), said(text))
        before = await texts(memory)
        assert len(before) == 4
        receipt = await memory.learn(scope(), said(wish))
        assert receipt.changes == ()
        assert [told in one for one in receipt.unmatched_requests] == [True]
        assert await texts(memory) == before


async def test_what_a_turn_tells_anew_is_met_by_that(database_url: str) -> None:
    """Who asks to forget a value and gives another one has corrected it, and is told nothing else."""
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("I live in Rome."))
        receipt = await memory.learn(scope(), said("Forget where I live. I live in Porto now."))
        assert receipt.unmatched_requests == ()
        assert await texts(memory) == {"The user lives in Porto"}


async def test_of_many_wishes_the_first_are_told(database_url: str) -> None:
    """A page of them is not answered with a page."""
    async with engine(database_url) as memory:
        receipt = await memory.learn(
            scope(), said(" ".join(f"Forget the {one}." for one in ("ape", "bear", "cat", "dog")))
        )
        assert [one.split('"')[1] for one in receipt.unmatched_requests] == ["the ape", "the bear", "the cat"]
