"""Where additions stand."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, strategies as st

from muniment.chain import Addition, Message, TurnContext, place_additions
from muniment.chain.values import MessageRole
from tests.chain.middlewares import make_turn


def add(turn: TurnContext, *pairs: tuple[str, str]) -> TurnContext:
    """The turn with additions, each a placement and a text."""
    additions = [
        Addition(source="a", text=text, placement="system" if place == "s" else "user") for place, text in pairs
    ]
    return replace(turn, additions=tuple(additions))


def test_each_place() -> None:
    """System additions end the system message, those of the user the user's last message; in their order."""
    turn = add(make_turn("hello", system="Be brief."), ("u", "one"), ("s", "two"), ("u", "three"), ("s", ""))
    assert [message.text for message in place_additions(turn)] == ["Be brief.\n\ntwo", "hello\n\none\n\nthree"]


def test_earlier_messages_stay_as_they_were() -> None:
    """Only the last message of the user has an addition, also where calls and results follow it."""
    roles: tuple[MessageRole, ...] = ("user", "assistant", "user", "assistant", "tool")
    turn = replace(make_turn(), messages=tuple(Message(role=role, text=role) for role in roles))
    texts = [message.text for message in place_additions(add(turn, ("u", "one")))]
    assert texts == ["user", "assistant", "user\n\none", "assistant", "tool"]


def test_a_system_message_is_made_where_there_is_none() -> None:
    placed = place_additions(add(make_turn("hello"), ("s", "two")))
    assert [(message.role, message.text) for message in placed] == [("system", "two"), ("user", "hello")]


def test_without_a_message_of_the_user_nothing_is_put_before_a_model() -> None:
    turn = replace(make_turn(), messages=(Message(role="assistant", text="hi"),))
    assert place_additions(add(turn, ("u", "one"))) == turn.messages


@given(texts=st.lists(st.tuples(st.sampled_from("su"), st.text()), max_size=4))
def test_the_same_bytes_for_each_step(texts: list[tuple[str, str]]) -> None:
    """What a turn has is placed the same each time, whatever the messages of a tool loop behind it."""
    turn = add(make_turn("hello", system="Be brief."), *texts)
    steps = (Message(role="assistant", text=""), Message(role="tool", text="found", tool_call_id="c"))
    first, again = place_additions(turn), place_additions(replace(turn, messages=(*turn.messages, *steps)))
    assert again == (*first, *steps)
    assert all(text in first[place == "u"].text for place, text in texts)
