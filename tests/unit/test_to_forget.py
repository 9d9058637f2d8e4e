"""What a person asks to forget, and what is no such wish."""

from datetime import UTC, datetime

import pytest

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements


def turn(text: str) -> Turn:
    return Turn.make(session="s", key="1", role="user", text=text, at=datetime(2026, 5, 4, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Forget that I like jazz.", "I like jazz"),
        ("Please forget about my diet", "my diet"),
        ("Delete everything you know about my job", "my job"),
        ("Don't remember my address", "my address"),
        ("忘掉我的饮食习惯", "饮食习惯"),
        ("请忘记我喜欢爵士乐", "喜欢爵士乐"),
        ("别记我的电话", "电话"),
        ("忘记我对花生过敏这件事。", "对花生过敏"),
        ("请把我住在上海这一点忘掉吧", "住在上海"),
    ],
)
def test_what_is_to_be_forgotten(text: str, phrase: str) -> None:
    """The phrase is as said, so that its words find the memory; it is not learnt on the way."""
    asked = extract_statements(turn(text))
    assert tuple(one.words for one in asked.forget_requests) == (phrase,)
    assert asked.candidates == ()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Please forget where I live, thanks.", ["identity|user|lives_in|"]),
        ("Can you forget what my job is?", ["identity|user|works_as|"]),
        ("Stop remembering who I work for", ["identity|user|works_at|"]),
        ("forget when I was born", ["identity|user|birthday|"]),
        ("Forget my name.", ["identity|user|name|", "identity|user|preferred_name|"]),
        ("forget what my wife is called", ["relationship|user|spouse|"]),
        ("Forget the name of my older sister", ["relationship|user|sister|"]),
        ("forget my kids' names", [f"relationship|user|{one}|" for one in ("child", "son", "daughter")]),
        ("Forget my wife's job", ["relationship|user's spouse|works_as|"]),
        ("忘记我现在住在哪里", ["identity|user|lives_in|"]),
        ("请忘掉我的工作吧。", ["identity|user|works_as|"]),
        ("忘记我叫什么名字", ["identity|user|name|", "identity|user|preferred_name|"]),
        ("忘记我妻子的名字", ["relationship|user|spouse|"]),
        ("把我孩子的名字忘掉", [f"relationship|user|{one}|" for one in ("child", "son", "daughter")]),
        ("忘记我老婆在哪里工作", ["relationship|user's spouse|works_at|"]),
        ("我希望你忘记我住在哪里", ["identity|user|lives_in|"]),
    ],
)
def test_an_attribute_to_be_forgotten(text: str, keys: list[str]) -> None:
    """It is named without its value, and known by the key under which its values are kept."""
    (wish,) = extract_statements(turn(text)).forget_requests
    assert [*wish.key_prefixes] == keys
    assert not wish.is_void
    assert gate.find_skip_reason(text, "user") is None


@pytest.mark.parametrize(
    "text",
    ["Forget where I live, I moved.", "forget how I feel", "Forget what I said.", "Don't remember my wife's name",
        "忘了我的生日",
     "forget everything", "Forget everything you know about me, please", "delete all my data", "忘记关于我的一切",
     "把我所有的信息都删除"],
)  # fmt: skip
def test_a_wish_that_is_not_sure_is_told(text: str) -> None:
    """Nobody's memory is meant by it for certain, or all of them."""
    (wish,) = extract_statements(turn(text)).forget_requests
    assert wish.is_void or wish.everything


@pytest.mark.parametrize(
    "text",
    ["Forget it", "forget about it, thanks", "Don't forget me", "忘了吧", "别忘了我", "Never forget where I live",
        "Forget how hard it is",
     "Should I forget where I live?", "Will you forget my job?", "You always forget where I live", "你忘了我的生日",
     "忘掉这件事吧",
     "要不要忘记我住在哪里？",
     '"Forget my job" is a song.', "She said: 「忘记我住在哪里」", "「忘记我住在哪里」",
     "Delete everything in this folder",
     "Clear the notes section", "Forget I said anything.", "Forget the rain, let's go out", "请不要忘记我的生日"],
)  # fmt: skip
def test_an_idiom_forgets_nothing(text: str) -> None:
    """To forget it is to go on; a question, a quotation, a reproach and other work are no wish."""
    assert extract_statements(turn(text)).forget_requests == ()
