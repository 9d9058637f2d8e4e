"""The history before a request: nothing is doubled, and what goes upstream is always a valid conversation."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import dropwhile
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from muniment.faces.proxy.history import insert_window

Message = Mapping[str, Any]
SYSTEM: Message = {"role": "system", "content": "Be kind."}


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def assistant(text: Any, *ids: str) -> Message:
    calls = [{"id": id_, "type": "function", "function": {"name": "find", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if ids else {})}


def result(id_: str, text: str = "done") -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def find_flaw(messages: Sequence[Message]) -> str | None:
    """What an endpoint would refuse: its rules, written apart from what is tested.

    A message with calls is followed by one result for each of its calls, and by nothing else before; a result stands
    nowhere else; an assistant says something or calls."""
    n = 0
    while n < len(messages):
        message = messages[n]
        n += 1
        if message["role"] == "tool":
            return f"a result without a call: {message}"
        if message["role"] != "assistant":
            continue
        calls = message.get("tool_calls")
        if calls is None:
            if message["content"] is None:
                return "an assistant that says nothing"
            continue
        if not calls:
            return "an empty list of calls"
        answered = []
        while n < len(messages) and messages[n]["role"] == "tool":
            answered.append(messages[n]["tool_call_id"])
            n += 1
        if sorted(answered) != sorted(call["id"] for call in calls):
            return f"the calls are {[call['id'] for call in calls]}, the results are of {answered}"
    return None


def find_false_start(messages: Sequence[Message], sent: Sequence[Message]) -> str | None:
    """What a strict template would refuse: an assistant's message of the window before any of a user, unless the
    request has a result of its calls."""
    own = {id(message) for message in sent}
    mended = [message["content"] for message in sent if message.get("tool_calls")]  # without calls that nobody answers
    ids = {message.get("tool_call_id") for message in sent}
    for message in messages:
        if message["role"] == "user":
            break
        if message["role"] == "assistant" and (id(message) in own or message["content"] in mended):
            break
        if message["role"] == "assistant" and not ids & {call["id"] for call in message.get("tool_calls", ())}:
            return f"the window begins with {message}"
    return None


@pytest.mark.parametrize(
    ("window", "request_", "expected"),
    [
        ([], [SYSTEM, user("Hi")], [SYSTEM, user("Hi")]),
        ([user("A"), assistant("B")], [SYSTEM, user("C")], [SYSTEM, user("A"), assistant("B"), user("C")]),
        ([user("A"), assistant("B")], [user("A"), assistant("B"), user("C")], [user("A"), assistant("B"), user("C")]),
        (
            [user("A"), assistant("B"), user("C")],
            [assistant("B"), user("D")],
            [user("A"), user("C"), assistant("B"), user("D")],
        ),
        # Only the result is sent: its call is in the window.
        ([user("A"), assistant(None, "1")], [result("1")], [user("A"), assistant(None, "1"), result("1")]),
        # A call that nobody has answered, and a result whose call is gone.
        ([result("0"), user("A"), assistant(None, "1")], [user("B")], [user("A"), user("B")]),
        ([], [result("0"), user("B")], [user("B")]),
        (
            [user("A"), assistant("So:", "1", "2"), result("2")],
            [user("B")],
            [user("A"), assistant("So:", "2"), result("2"), user("B")],
        ),
        ([user("A"), assistant("So:", "1")], [user("B")], [user("A"), assistant("So:"), user("B")]),
        # What an assistant says, or calls, before the window's first message of a user; but for a call that goes on.
        ([assistant("A")], [SYSTEM, user("B")], [SYSTEM, user("B")]),
        ([assistant("A"), user("B"), assistant("C")], [user("D")], [user("B"), assistant("C"), user("D")]),
        ([assistant("A", "1"), result("1"), assistant("C")], [user("D")], [user("D")]),
        ([user("A"), assistant("B")], [user("A"), user("D")], [user("A"), user("D")]),
        (
            [assistant("X"), assistant("A", "1", "2"), result("2")],
            [result("1")],
            [assistant("A", "1", "2"), result("2"), result("1")],
        ),
        ([assistant("X")], [assistant("A"), user("B")], [assistant("A"), user("B")]),
        # Two conversations at once: a result directly follows its call, in the order of the results.
        (
            [user("A"), assistant(None, "1", "2"), user("X"), result("2"), assistant("Y"), result("1")],
            [user("B")],
            [user("A"), assistant(None, "1", "2"), result("2"), result("1"), user("X"), assistant("Y"), user("B")],
        ),
        # Ids that an upstream gives again and again.
        (
            [user("A"), assistant("a", "0"), result("0", "r")],
            [assistant("b", "0"), result("0", "s"), user("B")],
            [user("A"), assistant("a", "0"), result("0", "r"), assistant("b", "0"), result("0", "s"), user("B")],
        ),
    ],
)  # fmt: skip
def test_where_the_window_goes(window: list[Message], request_: list[Message], expected: list[Message]) -> None:
    """Behind the system message, without what the client sends itself, as a valid chain."""
    assert insert_window(request_, window) == expected


TEXTS = st.sampled_from(["", "ok", "one", "two", "三"])
IDS = st.sampled_from("01234567")


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A valid conversation of users, assistants and tools, in which texts and ids may come again."""
    said: list[Message] = []
    for _ in range(draw(st.integers(0, 6))):
        said.append(user(draw(TEXTS)))
        for _ in range(draw(st.integers(0, 2))):
            ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
            said.append(assistant(draw(st.one_of(st.none(), TEXTS)), *ids))
            said += [result(id_, draw(TEXTS)) for id_ in draw(st.permutations(ids))]
        said.append(assistant(draw(TEXTS)))
    return said


@settings(max_examples=400)
@given(st.data())
def test_the_result_is_always_valid(data: st.DataObject) -> None:
    """Whatever of a conversation is in the window, in any order, and whatever of it the client sends."""
    said, other = data.draw(conversations()), data.draw(conversations())
    window = data.draw(st.permutations(said + other)) if data.draw(st.booleans()) else said
    window = window[data.draw(st.integers(0, len(window))) :]
    sent = [SYSTEM] * data.draw(st.integers(0, 1)) + said[data.draw(st.integers(0, len(said))) :] + [user("new")]
    sent = sent[: data.draw(st.integers(1, len(sent)))]
    whole = insert_window(sent, window)
    assert find_flaw(whole) is None
    assert find_false_start(whole, sent) is None


@given(conversations(), conversations(), st.data())
def test_a_valid_request_goes_untouched(said: list[Message], other: list[Message], data: st.DataObject) -> None:
    """Its own messages are the same objects in the same order, and none of them is there twice."""
    sent = [SYSTEM, *said, user("new")]
    window = [*copy.deepcopy(said[data.draw(st.integers(0, len(said))) :]), *other]
    whole = insert_window(sent, window)
    own, added = ({id(message) for message in messages} for messages in (sent, window))
    assert [id(message) for message in whole if id(message) in own] == list(map(id, sent))
    assert not [message for message in whole if id(message) in added and message in said]


@given(conversations())
def test_a_client_without_history_has_all_of_it(said: list[Message]) -> None:
    """A window that is valid stands whole before a new message, but for what is said again now."""
    whole = insert_window([SYSTEM, user("new")], said)
    spoken = [message for message in said if message["content"] or message.keys() & {"tool_calls", "tool_call_id"}]
    assert whole == [SYSTEM, *dropwhile(lambda message: message["role"] != "user", spoken), user("new")]
