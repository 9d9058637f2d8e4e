"""What a reply says of the hot path: what was noted, and what was not kept and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import SecretStr

from muniment.memory.config.settings import Settings
from muniment.memory.domain.memory import State, list_replaced
from muniment.memory.domain.scope import Scope
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.testing.openai_server import ScriptedOpenAI
from tests.graph.conftest import Talk, last


async def test_the_reply_names_what_was_noted(talk: Callable[..., Talk]) -> None:
    """In one line, and where nothing was noted it does not pretend."""
    ana = talk()
    assert last(await ana.say("I like jazz.")).splitlines()[0] == "Noted: The user likes jazz."
    assert last(await ana.say("我喜欢茶。")).startswith("已记下：")
    assert last(await ana.say("Hello!")) == "I have read that."
    assert "Noted" not in last(await ana.say("What do I like?"))


async def test_what_was_just_said_is_no_news(talk: Callable[..., Talk]) -> None:
    """Neither as header nor quoted back; asked about it is answered, and another conversation is told."""
    ana = talk()
    await ana.say("I am training for the Lisbon marathon.")
    state = await ana.say("My marathon shoes for the Lisbon marathon are red.")
    assert state["header"] == ""
    assert "training" not in last(state)
    assert "training" in last(await ana.say("Which marathon am I training for?"))
    other = await ana.say("The Lisbon marathon is hard.", thread="b")
    assert "training" in other["header"]
    assert "training" in last(other)


async def test_it_asks_what_is_replaced(talk: Callable[..., Talk]) -> None:
    """Where a statement may end one of several, the person is asked, and can answer by forgetting one."""
    ana = talk()
    await ana.say("I have a red canoe at the lake.")
    await ana.say("I have a green canoe at home.")
    reply = last(await ana.say("I sold the canoe last week."))
    assert "Does that replace " in reply
    assert "red canoe" in reply
    assert "green canoe" in reply
    assert "Does that replace" not in last(await ana.say("Forget the red canoe."))
    assert "Does that replace" not in last(await ana.say("I bought an oar."))


CANOES = ("I have a red canoe at the lake.", "I have a green canoe at home.", "I sold the canoe last week.")


async def list_texts(ana: Talk, *states: State) -> set[str]:
    return {one.text for one in await ana.memory.list(Scope(owner="ana"), states=states or ("active",))}


@pytest.mark.parametrize(
    ("answer", "gone", "said"),
    [
        ("The red one.", {"The user has a red canoe at the lake."}, "Replaced: The user has a red canoe at the lake."),
        ("yes, the red canoe", {"The user has a red canoe at the lake."}, "Replaced: "),
        ("ja, both", {"The user has a red canoe at the lake.", "The user has a green canoe at home."}, "Replaced: "),
        ("no", set(), "All of it stays."),
    ],
)
async def test_the_answer_settles_what_is_replaced(
    talk: Callable[..., Talk], answer: str, gone: set[str], said: str
) -> None:
    """A yes supersedes what it names, as any supersession with its journal and a way back; a no takes the mark off."""
    ana = talk()
    for text in CANOES:
        await ana.say(text)
    before = await list_texts(ana)
    assert said in last(await ana.say(answer))
    assert await list_texts(ana) == before - gone
    replaced = await ana.memory.list(Scope(owner="ana"), states=("superseded",))
    assert {one.text for one in replaced} == gone
    (sold,) = [one for one in await ana.memory.list(Scope(owner="ana")) if "sold" in one.text]
    assert list_replaced(sold) == []
    for one in replaced:
        assert one.superseded_by == sold.id
        assert (await ana.memory.history(Scope(owner="ana"), one.id))[0].action == "MERGE"
        await ana.memory.restore(Scope(owner="ana"), one.id)
    assert await list_texts(ana) == before
    assert "Does that replace" not in last(await ana.say("yes"))


@pytest.mark.parametrize("answer", ["What is the weather?", "I have a red canoe at the lake.", '"no"', "> no", "no?"])
async def test_another_message_settles_nothing(talk: Callable[..., Talk], answer: str) -> None:
    """Nor does what stands in quotation marks; a yes to a question about two is asked again, once it is clear it
    counts, and a later one does not."""
    ana = talk()
    for text in CANOES:
        await ana.say(text)
    before = await list_texts(ana)
    await ana.say(answer)
    assert await list_texts(ana) == before
    await ana.say("the red one")
    assert await list_texts(ana) == before


async def test_a_yes_that_does_not_say_which_is_asked_again(talk: Callable[..., Talk]) -> None:
    """The question is about two."""
    ana = talk()
    for text in CANOES:
        await ana.say(text)
    assert "Does that replace" in last(await ana.say("是的"))
    assert "green canoe" in last(await ana.say("the green one"))
    assert await list_texts(ana, "superseded") == {"The user has a green canoe at home."}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Remember my password is hunter2x.", ["a password", "never kept", "I kept nothing of that"]),
        ("记住我的密码是 hunter22", ["密码", "机密内容从不保存", "没有记住"]),
        ("Please remember: what is the weather?", ["I kept nothing of that", "it is a question"]),
        ("Remember that I like jazz. My token is sk-abcdefghijklmnop1234567890", ["Noted: ", "jazz", "an API key"]),
        (
            "My wifi password is hunter2x and my neighbours keep bees",
            ["Noted: ", "neighbours keep bees", "a password"],
        ),
        ("我的密码是 hunter22，我养了三箱蜜蜂", ["三箱蜜蜂", "密码", "机密内容从不保存"]),
    ],
)
async def test_what_is_not_kept_is_said(talk: Callable[..., Talk], text: str, said: list[str]) -> None:
    """A request to remember that comes to nothing, and a secret, with the reason, in the person's language."""
    reply = last(await talk().say(text))
    assert all(part in reply for part in said), reply
    assert "hunter2" not in reply


async def test_a_model_hides_nothing_of_it(talk: Callable[..., Talk]) -> None:
    """The reply of a model ends with what was not kept; what was noted it may leave to the model."""
    with ScriptedOpenAI("Done, I will remember it.") as server:
        chat = OpenAIChat("scripted", api_key=SecretStr("k"), base_url=server.base_url)
        reply = last(await talk(chat).say("Remember my password is hunter2x."))
        await chat.close()
    assert reply.startswith("Done, I will remember it.")
    assert "I kept nothing of that" in reply


async def test_what_is_known_is_said_to_be(talk: Callable[..., Talk]) -> None:
    """The same request again changes nothing, and the reply does not claim otherwise."""
    ana = talk()
    await ana.say("Remember that I like jazz.")
    assert last(await ana.say("Remember that I like jazz.", thread="b")).endswith("I know that already.")


async def test_a_cap_is_said(talk: Callable[..., Talk], settings: Settings) -> None:
    """What the day's limit refuses is not lost in silence."""
    ana = talk()
    object.__setattr__(ana.memory.engine.settings.write, "per_day", 1)
    await ana.say("I like jazz.")
    assert "more than 1 a day" in last(await ana.say("Remember that I own a boat."))
