"""What is kept of the user's things and of others' things of the same kind."""

from __future__ import annotations

import pytest

from tests.engine import engine, said, scope


@pytest.mark.parametrize(
    ("told", "left"),
    [
        (
            ("Remember that my phone number is 555 0199.", "Remember that Ben's phone number is 555 0111."),
            {"The user's phone number is 555 0199", "Ben's phone number is 555 0111"},
        ),
        (
            ("Remember that my phone number is 555 0199. Remember that Ben's phone number is 555 0111.",),
            {"The user's phone number is 555 0199", "Ben's phone number is 555 0111"},
        ),
        (
            ("Remember that my dog is a big poodle. Remember that Ben's dog is a big poodle.",),
            {"The user's dog is a big poodle", "Ben's dog is a big poodle"},
        ),
        (
            ("记住我的电话号码是5550199。", "记住本的电话号码是5550111。", "记住我姐姐的电话号码是5550123。"),
            {"用户的电话号码是5550199", "本的电话号码是5550111", "用户姐姐的电话号码是5550123"},
        ),
        (
            ("My name is Ana.", "Remember that my phone number is 555 0199.",
                "Remember that Ana's phone number is 555 0111."),
            {"The user's name is Ana", "Ana's phone number is 555 0111"},
        ),
        (
            ("我叫小美。", "记住我的电话号码是5550199。", "记住小美的电话号码是5550111。"),
            {"用户的名字是小美", "小美的电话号码是5550111"},
        ),
    ],
)  # fmt: skip
async def test_nobody_s_things_are_lost_for_anothers(database_url: str, told: tuple[str, ...], left: set[str]) -> None:
    """In two turns or in one; the user may be called by the name that is known of them."""
    async with engine(database_url) as memory:
        for text in told:
            await memory.learn(scope(), said(text))
        assert {one.text for one in await memory.list(scope())} == left
