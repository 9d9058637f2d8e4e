"""The quick look before quoted text is searched for passes over nothing in which something would be found."""

from __future__ import annotations

import re
from itertools import chain

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.language.signs import SignedPattern, fold_text, has_sign
from muniment.memory.rules.provenance import announcements, documents, leads, quoted, requests
from muniment.memory.rules.provenance.quoted import find_quoted_spans, may_quote
from tests import paste_forms, pastes
from tests.golden import inputs

MODULES = (announcements, documents, leads, quoted, requests)
VALUES = [
    found
    for module in MODULES
    for value in vars(module).values()
    for found in (value if isinstance(value, tuple) else (value,))
]
SIGNED = [value for value in VALUES if isinstance(value, SignedPattern)]
PATTERNS = [value.regex if isinstance(value, SignedPattern) else value for value in VALUES]
SOURCES = [found.pattern for found in PATTERNS if isinstance(getattr(found, "pattern", None), str)]
WORDS = sorted({word for source in SOURCES for word in re.findall(r"[A-Za-z]{2,}|[\u3400-\u9fff]+", source)})
BLANKS = st.sampled_from([" ", "  ", ", ", ". ", "! ", "\t", "", "。", "，", "-", "'", " I'm a "])
# What a pattern of a span begins with, as far as hypothesis can write it.
SPANS = [
    requests._FOREIGN_VOICE.regex.pattern,
    requests._OPENED.pattern,
    requests._OPENED_ZH.pattern,
    requests._PLAYED.pattern,
    requests._PLAYED_ZH.pattern,
    requests._WRITE.pattern + ".{0,9}" + requests._CONTENT.pattern.removeprefix("(?i)"),
    requests._WRITE_ZH.pattern + requests._CONTENT_ZH.pattern,
    requests._SAY.pattern,
    requests._SAY_ZH.pattern,
    documents._HEADED.pattern,
    documents._SALUTATION.pattern,
    documents._COMMAND.pattern,
    documents._OBJECT.pattern,
    documents._LOG.pattern,
    quoted._TAG.pattern,
    *(signed.regex.pattern for signed in announcements._LOOSE),
]


LEADS = [
    "_INTO",
    "_WORK",
    "_WORK_ZH",
    "_OWNED",
    "_OWNED_ZH",
    "_BARE",
    "_BARE_ZH",
    "_THIS_TEXT",
    "_REPORT",
    "_REPORT_ZH",
]


def is_lead(text: str) -> bool:
    is_asked_for = leads.is_work_on_text(text) or leads.is_reported(text)
    return is_asked_for or leads.names_text(text) or leads.points_at_text(text)


def passes(text: str) -> None:
    if not may_quote(text):
        assert find_quoted_spans(text) == []


def test_the_texts_of_the_golden_files() -> None:
    """Whole and in pieces, which have lost their marks."""
    texts = [record["text"] for record in inputs.load()["text"]]
    forms = (*paste_forms.FORMS, *paste_forms.FORMS_ZH, *pastes.WRAPPERS, *pastes.WRAPPERS_ZH)
    texts += [form if isinstance(form, str) else form[0] for form in forms]
    pieces = chain.from_iterable(re.split(r"[\n:：?？\"“「『«<>`\[{]+", text) for text in texts)
    for text in chain(texts, pieces):
        passes(text)
        passes(text.upper())


@pytest.mark.parametrize("source", SPANS)
@given(data=st.data())
def test_what_a_pattern_matches(source: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(source, re.IGNORECASE | re.MULTILINE)))
    passes(text)
    passes(re.sub(r"[\n:：?？\"“「『«<>`\[{]", "", text))


@pytest.mark.parametrize("signed", SIGNED, ids=[signed.regex.pattern[:40] for signed in SIGNED])
@given(data=st.data())
def test_what_a_signed_pattern_matches_has_one_of_its_signs(signed: SignedPattern, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(signed.regex.pattern, re.IGNORECASE | re.MULTILINE)))
    assert not signed.regex.search(text) or has_sign(fold_text(text), signed.signs)


@pytest.mark.parametrize("name", LEADS)
@given(data=st.data())
def test_a_lead_has_a_sign(name: str, data: st.DataObject) -> None:
    """A clause without one is no lead."""
    text = data.draw(st.from_regex(re.compile(getattr(leads, name).pattern, re.IGNORECASE)))
    assert not is_lead(text) or (leads.may_be_lead(text) and leads.may_lead(fold_text(text)))


@pytest.mark.parametrize("name", ["_SUPPOSED", "_SUPPOSED_ZH", "_PLAYED", "_PLAYED_ZH"])
@given(data=st.data())
def test_what_is_imagined_or_played_has_a_sign(name: str, data: st.DataObject) -> None:
    """A message without one is not searched for fiction."""
    pattern = getattr(requests, name)
    text = data.draw(st.from_regex(re.compile(pattern.pattern, re.IGNORECASE), fullmatch=True))
    assert not requests.is_fictional(text) or requests.MAY_BE_FICTION.search(text)


@given(st.lists(st.tuples(st.sampled_from(WORDS), BLANKS), max_size=9))
def test_any_words_of_the_patterns(words: list[tuple[str, str]]) -> None:
    text = "".join(chain.from_iterable(words))
    passes(text)
    passes(text.capitalize())
    assert not is_lead(text) or leads.may_be_lead(text)
    assert not requests.is_fictional(text) or requests.MAY_BE_FICTION.search(text)


@pytest.mark.parametrize(
    "text",
    ["I live in Porto and my sister works at a bakery. I love hiking.", "我住在上海，喜欢爬山。", "thanks!"],
)
def test_what_has_no_sign(text: str) -> None:
    assert not may_quote(text)


@pytest.mark.parametrize(
    "text",
    [
        "Dear Bo, I moved to Rome. Kind regards Al",
        "fix my grammar – I goes home",
        "帮我写封信，说我不去了",
        "can you rate this essay - I grew up in Rome",
        "I dreamt I lived on the moon",
        "you be my doctor and I am a patient",
        "SELECT name from people",
        "reply to this 'I live in Rome'",
        "改成英文，我住在罗马",
    ],
)
def test_one_sign_is_enough(text: str) -> None:
    assert may_quote(text)
    assert find_quoted_spans(text)


@pytest.mark.parametrize("text", ["wrıte a story where I am rich", "TRANSLATE  this. I am rich", "Act\tas my boss"])
def test_spellings_of_a_sign(text: str) -> None:
    assert may_quote(text)
