"""Other people's words in a person's message, and how they try to pass for the person's."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from itertools import product

import pytest

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.provenance.quoted import TurnParts, find_quoted_instructions, split_quoted
from muniment.memory.rules.provenance.requests import MAY_BE_FICTION, is_fictional
from tests import own_messages, paste_forms, pastes


def turn(text: str) -> Turn:
    return Turn.make(session="a", key="a", role="user", text=text, at=datetime(2026, 5, 4, tzinfo=UTC), source=None)


def split(text: str) -> TurnParts:
    return split_quoted(turn(text))


def find_leaks(statement: str, own: str) -> list[str]:
    """The parts of a statement that stand among a person's own words, by the beginnings of its sentences."""
    parts = [part.strip() for part in statement.replace("。", ".").replace("，", ".").replace(". ", ".").split(".")]
    return [part for part in parts if part and part in own.replace("。", ".").replace("，", ".")]


@pytest.mark.parametrize(
    ("wrapper", "own", "statements"),
    [(*wrapper, pastes.STATEMENTS) for wrapper in pastes.WRAPPERS]
    + [(*wrapper, pastes.STATEMENTS_ZH) for wrapper in pastes.WRAPPERS_ZH],
)
def test_a_pasted_statement_is_not_the_persons(wrapper: str, own: tuple[str, ...], statements: tuple[str, ...]) -> None:
    """In each of twenty wrappers, in two languages, none of twenty statements becomes the person's."""
    for statement in statements:
        text = split(wrapper.format(statement)).own_text
        assert find_leaks(statement, text) == []
        assert [part for part in own if part not in text] == []


@pytest.mark.parametrize(
    "text",
    [form.format("I live in Oslo and my name is Torvald.") for form in paste_forms.FORMS]
    + [form.format("我住在奥斯陆，我叫陶瓦德。") for form in paste_forms.FORMS_ZH],
)
def test_a_document_comes_in_many_forms(text: str) -> None:
    """Translations, quotations, exports, listings and fiction are told from the person's words by their structure."""
    assert not any(word in split(text).own_text for word in ("Oslo", "Torvald", "奥斯陆", "陶瓦德"))


@pytest.mark.parametrize("text", pastes.BREAKOUTS)
def test_a_closing_mark_inside_ends_no_quotation(text: str) -> None:
    """What a document says after a mark of its own is still the document's."""
    assert not any(town in split(text).own_text for town in ("Oslo", "奥斯陆"))


@pytest.mark.parametrize("text", [spoof.format(said) for spoof, said in product(pastes.SPOOFS, pastes.APPROVALS)])
def test_a_document_consents_to_nothing(text: str) -> None:
    """An approval inside a document is not the person's."""
    assert not any(said in split(text).own_text for said in pastes.APPROVALS)


@pytest.mark.parametrize("text", [*pastes.OWN, *own_messages.OWN])
def test_a_message_of_ones_own_stays_whole(text: str) -> None:
    """Lists with colons, times, titles and reports of others are the person's words."""
    assert split(text) == TurnParts(own_text=text)


@pytest.mark.parametrize(
    "text", ["translate this: ", "my boss said: ", "老板说：", "write a letter:", "act as a pirate"]
)
def test_a_lead_may_introduce_nothing(text: str) -> None:
    """A message may end where a quotation would begin."""
    found = split(text)
    assert (found.own_text.strip(), found.quotes) == (text.strip(), ())


@pytest.mark.parametrize(("text", "town"), pastes.ORDERED)
def test_what_is_to_be_written_states_nothing(text: str, town: str) -> None:
    """Letters for others, texts to correct, role play and fiction say nothing about the person."""
    assert town not in split(text).own_text


@pytest.mark.parametrize("text", pastes.FICTIONAL)
def test_a_supposition_is_one(text: str) -> None:
    """Hypotheses, fiction and play are told from statements."""
    assert is_fictional(text)
    assert MAY_BE_FICTION.search(text)


@pytest.mark.parametrize("text", pastes.REAL)
def test_a_statement_is_no_supposition(text: str) -> None:
    """The words of hypotheses and play occur in statements, too."""
    assert not is_fictional(text)
    assert split(text).own_text == text


@pytest.mark.parametrize(
    "unit",
    [
        "Marta: hi\n",
        "A: x / ",
        "[10:02] Marta: hi\n",
        "Marta 10:02\nhi\n",
        "said 'a ",
        "翻译：「a」",
        'translate: "a" ',
        "<user>",
        "「",
        "a = b;\n",
        "=",
        "- ",
        " ",
        "a,b,c\n",
        "a:\n  b: c\n",
        '{"a": ',
        "Dear Ms Lund,\n",
        "write a letter that ",
        "麻烦",
        "请帮我写",
        "how do you say ",
        "act as a ",
        "我说：",
        "my son's ",
        "I'm playing a ",
        "2026-05-04 10:02:11 INFO\n",
        "a.b@c:~",
    ],
)
def test_a_long_message_is_cheap(unit: str) -> None:
    """A hundred thousand characters of marks, names, leads and orders take no more than a moment."""
    start = time.process_time()
    find_quoted_instructions(turn(unit * (100_000 // len(unit)) + "'\n:"))
    assert time.process_time() - start < 3
