"""Notes: what the rules read no fact in, or only a part, is kept in the person's own words."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.memory import NOTE
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.extraction import notes
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.gate import validate_candidate

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)  # a Friday
CATEGORIES = frozenset(load_settings({"HOME": "/nonexistent"}).categories)


def turn(text: str) -> Turn:
    return Turn.make(session="s", key="k", role="user", text=text, at=AT)


def noted(text: str) -> list[Candidate]:
    """The notes of a message."""
    found = extract_statements(turn(text)).candidates
    return [one for one in found if one.fact and one.fact.predicate == NOTE and not one.is_correction]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("I restore old canoes in the shed.", "The user restores old canoes in the shed."),
        (
            "My knee has been playing up since the marathon, so I swim instead.",
            "The user's knee has been playing up since the marathon, so the user swims instead.",
        ),
        ("My rent is 800 euros", "The user's rent is 800 euros."),
        ("I have an exam tomorrow", "The user has an exam tomorrow (9 May 2026)."),
        ("My flat has two rooms", "The user's flat has two rooms."),
        ("我擅长 SQL", "用户擅长 SQL。"),
        ("我每个周末都去水库钓鱼", "用户每个周末都去水库钓鱼。"),
        ("外婆给我留下一间老茶铺", "外婆给用户留下一间老茶铺。"),
        # who `we`, `our` and a sentence without a subject are about is not certain
        ("We keep eleven hens behind the garage.", 'The user said: "We keep eleven hens behind the garage."'),
        (
            "we're both left-handed and our kids are too",
            'The user said: "we\'re both left-handed and our kids are too"',
        ),
    ],
)
def test_what_is_not_read_is_noted(text: str, note: str) -> None:
    """In the third person where that is certain, else as a quotation; fit to be kept as it is."""
    (one,) = noted(text)
    assert one.text == note
    assert validate_candidate(one, categories=CATEGORIES) == (one, None)
    assert (one.importance, one.kind, one.turns) == (notes.IMPORTANCE, "semantic", (turn(text).id,))


@pytest.mark.parametrize(
    ("text", "fact", "note"),
    [
        ("I live in Porto and drink green tea", "The user lives in Porto", "drink green tea"),
        ("My brother lives in Porto and drives a taxi", "The user's brother lives in Porto", "drives a taxi"),
        ("Please keep answers short and don't use tables", "The user wants answers short", "don't use tables"),
        ("From now on answer in French and call the dog Rex", "The user wants answers in French", "call the dog Rex"),
        ("I'm allergic to penicillin and carry a card in my wallet", "The user is allergic to penicillin", "card"),
    ],
)
def test_what_is_read_in_part_is_noted_beside_the_fact(text: str, fact: str, note: str) -> None:
    """No suffix takes a fact away, and none is lost."""
    assert fact in [one.text for one in extract_statements(turn(text)).facts]
    (one,) = noted(text)
    assert note in one.text


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("I have a peanut allergy and carry an EpiPen.", "The user has a peanut allergy and carries an EpiPen"),
        ("我不吃茄子，闻到就难受。", "用户不吃茄子，闻到就难受"),
        ("我妹妹叫小雪，刚上小学。", "用户的姐妹是小雪（妹妹），刚上小学"),
        ("以后回答我简短一点，别用英文", "用户希望回答简短，别用英文"),
    ],
)
def test_the_rest_of_a_sentence_goes_on_behind_its_fact(text: str, statement: str) -> None:
    """Where it has no subject of its own, so that one memory says all of the sentence."""
    (one,) = extract_statements(turn(text)).candidates
    assert one.text == statement
    assert one.fact is not None
    assert one.fact.predicate != NOTE


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("I have a peanut allergy and my sister carries an EpiPen.", "sister carries an EpiPen"),
        ("I have a peanut allergy, could you list some nuts?", ""),
        ("我不吃茄子，你推荐的菜都有茄子。", ""),
    ],
)
def test_another_subject_does_not_go_on_behind_a_fact(text: str, rest: str) -> None:
    """What somebody else does, and what is asked, is no part of the fact."""
    fact, *others = extract_statements(turn(text)).candidates
    assert "allergy" in fact.text or "茄子" in fact.text
    assert len(fact.text) <= len("The user has a peanut allergy")
    assert [rest in one.text for one in others] == ([True] if rest else [])


@pytest.mark.parametrize(
    "text",
    ["Where do ginkgos grow? It's my favourite tree.", "Do you know Ghent? My sister and I go there every spring."],
)
def test_what_a_sentence_refers_to_stays_with_it(text: str) -> None:
    """A question before `it` or `there` is quoted with the statement."""
    (one,) = noted(text)
    assert text[: text.index("?")] in one.text
    assert one.text.startswith('The user said: "')


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I'm Ruoning, but everybody at the office just calls me Nina.", 2),
        ("说起来我老家就是成都的，你推荐的那家川菜馆不太正宗。", 1),
    ],
)
def test_words_that_a_rule_knows_are_no_remainder(text: str, facts: int) -> None:
    """What stands around a name is a part of the rule that has read the name."""
    assert len(extract_statements(turn(text)).facts) == facts
    assert noted(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I live in Porto.",
        "I am allergic to peanuts.",
        "My sister is Zoe.",
        "我住在杭州。",
    ],
)
def test_what_is_read_whole_has_no_note(text: str) -> None:
    """The fact says all of it."""
    assert extract_statements(turn(text)).facts
    assert noted(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that helps!",
        "What is the capital of Peru?",
        "Should I oil the hinges of my door or not?",
        "Write a poem about the sea.",
        "Translate this paragraph into German for me.",
        "这个函数怎么写？",
        "帮我把这段话翻译成英文",
        "谢谢，辛苦了",
        "ok",
        "Extract the tables from scan.pdf",
        "Sort the rows by date. The first column is the day, the second the amount.",
        "按日期排序，第一列是日期，第二列是金额",
        "foo bar baz qux 123",
        "gbnt wqoe lkzx prtv mmsd qqhj",
    ],
)
def test_what_states_nothing_leaves_nothing(text: str) -> None:
    """Questions, orders with what they are about, thanks, and words at random."""
    assert noted(text) == []


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("I restore canoes. What wood should I use?", "The user restores canoes."),
        ("I've got a shed full of bees, can you suggest a good smoker?", "The user has got a shed full of bees."),
    ],
)
def test_a_question_is_cut_off(text: str, note: str) -> None:
    """Also one that begins behind a comma."""
    assert [one.text for one in noted(text)] == [note]


def test_neighbouring_sentences_share_a_note() -> None:
    """Where one of them cannot be told in the third person, they are quoted together."""
    (one,) = noted("I keep bees. We sell the honey at the market.")
    assert one.text == 'The user said: "I keep bees. We sell the honey at the market."'


def test_a_redacted_sentence_is_left_out() -> None:
    """What stands beside it stays."""
    (one,) = noted("I keep bees behind the house. My code is [redacted:password].")
    assert one.text == "The user keeps bees behind the house."
    assert one.context is None or "secret" not in one.context


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("I keep bees and my code is [redacted:password].", "The user keeps bees."),
        (
            "My code is [redacted:password], and our neighbours keep bees on the roof",
            'The user said: "our neighbours keep bees on the roof"',
        ),
        ("My code is [redacted:password], it ends in 42, and I keep bees", "The user keeps bees."),
        ("门锁密码是[redacted:password]，我养了三箱蜜蜂", "用户养了三箱蜜蜂。"),
    ],
)
def test_of_a_redacted_sentence_the_own_clauses_stay(text: str, note: str) -> None:
    """The clause with the secret goes, and with it what has no subject of its own: it may be about the secret."""
    assert [one.text for one in extract_statements(turn(text)).candidates] == [note]


@pytest.mark.parametrize(
    "text",
    [
        "My code is [redacted:password], it ends in 42.",
        "My codes are [redacted:password], tulip99 and rose77.",
        "My card [redacted:card] runs out in May and has a blue edge.",
    ],
)
def test_what_may_go_on_with_a_secret_is_left_out(text: str) -> None:
    """It has no subject of its own."""
    assert noted(text) == []


@pytest.mark.parametrize(
    ("text", "fact", "note"),
    [
        ("Sorry, I live in Porto, haha. I row at dawn.", "The user lives in Porto", "The user rows at dawn."),
        ("Call me Jo please, I own a kayak", "Preferred name is Jo", "The user owns a kayak."),
        ("Please call me Jo, thanks, and I own a kayak", "Preferred name is Jo", "The user owns a kayak."),
        ("I live in Porto please, and our roof leaks", "The user lives in Porto", 'The user said: "our roof leaks"'),
        ("请叫我小乔，谢谢，我有一条皮划艇", "用户的称呼（偏好的名字）是小乔", "用户有一条皮划艇。"),
    ],
)
def test_what_a_fact_holds_is_not_in_the_note(text: str, fact: str, note: str) -> None:
    """Nor are the courtesies around it."""
    assert [one.text for one in extract_statements(turn(text)).candidates] == [fact, note]


def test_a_clause_that_is_not_read_is_noted_beside_many_facts() -> None:
    """Where more facts than fit are read from a sentence, the words of the less important ones are noted."""
    text = "I work as a nurse, I own a kayak and I am allergic to nuts and I speak French and I play the cello"
    assert [one.text for one in noted(text)] == ['The user said: "I own a kayak, I play the cello"']
    found = extract_statements(turn(text), most=3).candidates
    assert {"The user works as a nurse", "The user is allergic to nuts"} <= {one.text for one in found}
    [note] = [one.text for one in found if one.fact and one.fact.predicate == NOTE]
    assert all(word in note for word in ("kayak", "French", "cello"))
    assert "nurse" not in note


def test_a_date_is_written_beside_the_words_for_it() -> None:
    """And it is the time of the note."""
    (one,) = noted("I've been restoring an old canoe since March.")
    assert one.text == "The user has been restoring an old canoe since March (2026)."
    assert one.event_time == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("We booked the ferry for the 14th of April, two bikes and all", "the 14th of April (2027), two"),
        ("We've booked a barn for the wedding on 3 April and the band is cheap", "on 3 April (2027) and"),
        ("We rowed the lake on the 14th of April, two boats and all", "the 14th of April (2026), two"),
        ("Our lease, signed back in April, is booked as an expense and a mess", "back in April (2026), is"),
        ("The old hull was sold in March and the new one is coming in June", 'in June (2026)"'),
        ("The old hull was sold in March and the new one is coming in June", "in March (2026) and"),
        ("My contract began on 9 October and they will pay me on 9 September", "on 9 October (2025) and"),
        ("We split up over Easter and it was for the best", "over Easter (2026) and"),
        ("We paddle all day tomorrow, us and the dog", "tomorrow (9 May 2026), us"),
        ("我们订了4月19日去青岛的船票,带两辆自行车", "4月19日 (2027年)去青岛"),
        ("我们4月19日去了青岛,带两辆自行车", "4月19日 (2026年)去了青岛"),
    ],
)
def test_a_date_has_the_year_that_its_clause_means(text: str, note: str) -> None:
    """What is booked for April is next April; what was done was last April. Words that stand there are not repeated."""
    (one,) = noted(text)
    assert note in one.text


def test_a_long_sentence_is_cut_at_its_commas() -> None:
    """Every piece fits, and no word is lost."""
    clauses = [
        f"I feed them {grain} in the morning" for grain in ["corn", "oats", "barley", "rye", "wheat", "millet", "peas"]
    ]
    text = "We keep hens behind the house, " + ", ".join(clauses) + "."
    found = noted(text)
    assert len(found) > 1
    assert all(len(one.text) <= notes.MAX_CHARS for one in found)
    assert all(any(clause in one.text for one in found) for clause in clauses)


def test_more_than_fits_is_noted_together() -> None:
    """Where a turn has more facts than it may write, the less important ones are noted, and none is dropped."""
    text = "I like tea. I like jazz. I like skiing. I like chess. I am allergic to peanuts."
    found = extract_statements(turn(text), most=3).candidates
    assert len(found) <= 3
    assert "The user is allergic to peanuts" in [one.text for one in found]
    assert all(any(word in one.text for one in found) for word in ("tea", "jazz", "skiing", "chess"))


@pytest.mark.parametrize(
    ("text", "category", "importance"),
    [
        ("I really want to finish my novel before winter.", "goals", 3),
        ("我的目标是年底前写完小说", "goals", 3),
        ("I restore old canoes in the shed.", "activity", notes.IMPORTANCE),
        ("Please keep answers short and don't use tables", "style", 3),
    ],
)
def test_what_is_to_be_done_is_more_important(text: str, category: str, importance: int) -> None:
    """As in facts: a goal or a wish about answers counts more than how somebody spends an evening."""
    (one,) = noted(text)
    assert (one.category, one.importance) == (category, importance)


def test_what_is_asked_to_be_remembered_is_important() -> None:
    """Its note is worth more than one that was only said, and nothing of it is judged away."""
    (one,) = noted("Remember that we keep the spare key under the third pot.")
    assert one.importance > notes.IMPORTANCE
    assert "third pot" in one.text


def test_a_quotation_mark_does_not_end_the_quotation() -> None:
    """Marks of the person's own are turned into single ones."""
    (one,) = notes.make_notes(['We call our shed "the ark" at home'], turn("x"))
    assert one.text == "The user said: \"We call our shed 'the ark' at home\""


@given(st.lists(st.text(max_size=400), min_size=1, max_size=4))
def test_any_note_fits(sentences: list[str]) -> None:
    """On one line, at most 280 characters long but for the dates that are added."""
    for one in notes.make_notes(sentences, turn("x")):
        assert one.fact is not None
        assert len(one.text) <= notes.MAX_CHARS + 40
        assert len(one.fact.object) <= notes.MAX_CHARS


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("As somebody who plans gardens I should know, but how old do figs get? It's my favourite tree.", "how old do"),
        ("天气不错，你知道银杏能活多少年吗？这是我最喜欢的树。", "你知道"),
    ],
)
def test_of_a_question_before_a_note_only_the_last_clause_is_quoted(text: str, clause: str) -> None:
    """It names what the note is about; what comes before it in the question is no statement."""
    (note,) = noted(text)
    assert note.text.partition('"')[2].startswith(clause)
