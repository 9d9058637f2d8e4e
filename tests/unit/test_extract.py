"""Extraction by rule: near misses that state nothing, keys, what is to be forgotten, and what holds for any text."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, strategies as st

from muniment.memory.records import Candidate, Fact, Role, Turn
from muniment.memory.rules.extract import extract
from muniment.memory.settings import load

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)  # a Friday
CATEGORIES = frozenset(load({"HOME": "/nonexistent"}).categories)


def turn(text: str, role: Role = "user") -> Turn:
    return Turn.make(session="s", key="k", role=role, text=text, at=AT)


def found(text: str) -> list[Candidate]:
    return list(extract(turn(text)).candidates)


def fact(text: str) -> Fact:
    (one,) = found(text)
    assert one.fact is not None
    return one.fact


@pytest.mark.parametrize(
    "text",
    [
        # supposed, wished, hedged
        "I wish I lived in Rome",
        "If I lived in Rome, I would be happy and I'd love my job",
        "What if I moved to Paris?",
        "I'd live in Monaco if I were rich",
        "I might move to Spain next year",
        "Maybe I like jazz",
        "I'm not sure I like jazz",
        "I could eat a horse",
        "I almost moved to Oslo last year",
        "I dreamt I lived in Rome",
        # asked
        "Do I like tea?",
        "Should I become a nurse?",
        "I'm vegan?",
        "你喜欢我吗？",
        "我是不是应该吃素？",
        "我住在哪里？",
        # said by or about others
        "My friend said he lives in Rome",
        "My boss thinks I'm lazy",
        "She told me I live in the past",
        '"I live in Rome," said Tom.',
        'He wrote: "I am allergic to nuts and I work at Globex."',
        "Everyone says I'm funny",
        "He lives in Rome",
        "My friend says she is vegan",
        "我朋友说他住在北京",
        "他说我是医生",
        "听说我要搬到上海",
        # played, quoted, joked
        "In my novel, I am a pilot from Mars. I am 30 years old.",
        "Translate: I am a vegetarian.",
        "Pretend I'm a doctor.",
        "Write a story where my name is Bob. I live in Oslo.",
        "I'm allergic to Mondays, just kidding.",
        "> I live in Rome",
        "`my name is Bob`",
        "翻译：我对花生过敏",
        "假装你是我老婆",
        "我对星期一过敏，开玩笑的",
        # not what it looks like
        "I live in fear",
        "I work in silence",
        "i work in it",
        "I work in a bank",
        "I work in finance mode",
        "I LOVE IT",
        "I like all of us",
        "Do I work in IT?",
        "My friend says I work in IT",
        "If I worked in IT, I would be rich",
        "I work hard",
        "I'm OK",
        "I'm Tired",
        "I'm 10 minutes late",
        "I'm a big believer in luck",
        "I'm from a small town",
        "I'm happy",
        "My name is on the list",
        "My dog is cute",
        "my car is a mess",
        "My car is a MESS",
        "My car is a Lemon",
        "my phone is a lifesaver",
        "my life is a joke",
        "My bike is a gift from Ben",
        "My car is a copy of a Ferrari",
        "My dream car is a Porsche",
        "My sister's car is a red Skoda",
        "Ben's car is a red Skoda",
        "My wife says my car is a red Skoda",
        "If my car is a Skoda, it is old",
        "My car is a red Skoda?",
        "My rent is high",
        "My rent is 800 euros too high",
        "My dream salary is 50,000 a year",
        "My room is on the floor",
        "My wife is angry",
        "I like it",
        "I love you",
        "I hate this",
        "I love how you explain",
        "I want to ask you something",
        "I want to go home",
        "I can't wait for the weekend",
        "I can't believe it",
        "I need to go",
        "I have a question",
        "I know what you mean",
        "I'm trying to stay positive",
        "Call me later",
        "Can you call me a taxi?",
        "I went there yesterday with him",
        "我希望我住在北京",
        "如果我住在北京就好了",
        "我想问一下天气",
        "我叫他来",
        "我叫了外卖",
        "我是好人",
        "我在家工作",
        "我喜欢这个",
        "这是我老婆",
        "我老婆生气了",
        "我差点搬到上海",
        # says it of something that is not named
        "I like because reasons",
        "I like the smell",
        "I'm good at the game",
        "I'm good at a game of cards",
        "Remember that ok",
        "叫我一声",
        "My friend It is my friend",
        "I'm flying on Monday",
        "I'm married to my job, my wife Happy says",
        "大家叫我什么都行",
        "我在家里工作",
        "I was born in a small town",
        "My birthday is soon",
        "My mother tongue is complicated",
        "I'm studying it",
        "I study for you",
        "My budget is tight",
        "The deadline for the report is unclear",
        "I can't eat it",
        "Answer in riddles",
        "I don't hate tea",
        "I can't like everything",
        "My favourite thing is when you smile",
        "I prefer it",
        "I worked at it",
        "I've built it",
        "I'm good at it",
        "I'm not allergic to it",
        "I speak up",
        "I play with my food",
        "I know it",
        "I have a meeting",
        "I have it on Monday",
        "I'm training for it",
        "I'm trying to relax",
        "I'm 200 years old",
        "I work at it",
        "I was happy yesterday",
        "My sister finished it yesterday",
        "My sister is a dreamer",
        "My sister studies for the exam",
        "My son studies hard",
        "My sister studies it",
        "My cat studies birds",
        "My sister says she studies law",
        "Does my sister study law?",
        "My friend has two cats, Milo and Otis",
        "Do I have two cats, Milo and Otis?",
        "My sister lives in a tent",
        "Remember that it is so",
        "我200岁",
        "我的生日是秘密",
        "我住在一个小区",
        "我是一个好人",
        "我来自他家",
        "我是你的老师",
        "我在那里上班",
        "我不讨厌他",
        "我不讨厌茶",
        "我喜欢他的猫",
        "我更喜欢你",
        "我最喜欢的人是你",
        "我对你过敏",
        "我不吃这个",
        "我的预算是秘密",
        "论文的截止日期是秘密",
        "我打算陪你去",
        "我的目标是超过他",
        "我正在学习他的方法",
        "我做过这个",
        "我在那里工作过",
        "我擅长这个",
        "我必须陪你去",
        "我昨天去了那里",
        "我昨天很累",
        "我搬到了他家",
        "程序员是我老师",
        "记住他",
        # not to be remembered or forgotten
        "Remember when we met?",
        "I remember that day",
        "Remember to be kind",
        "I don't remember his name",
        "I forgot my keys",
        "我忘了带钥匙",
    ],
)
def test_a_near_miss_states_nothing(text: str) -> None:
    """Supposed, asked, reported, quoted, played, joked or idle: nothing of it is a fact of the user."""
    assert extract(turn(text)).candidates == ()
    assert extract(turn(text)).forget == ()


def test_three_facts_of_one_message() -> None:
    """A name, an intolerance and a goal, with the month of the goal as its time."""
    name, body, goal = found(
        "Hi, call me Ana. I am lactose intolerant and I'm training for the Lisbon marathon in October."
    )
    assert (name.text, name.importance) == ("Preferred name is Ana", 2)
    assert (body.text, body.importance) == ("The user is lactose intolerant", 4)
    assert goal.event_time == datetime(2026, 10, 1, tzinfo=UTC)
    assert goal.fact == Fact(
        kind="goal", predicate="trains_for", object="Lisbon marathon", entities=("Lisbon",), single=False
    )


def test_four_facts_in_chinese() -> None:
    """Standard words stand beside the words said, so that both find the memory."""
    candidates = found("王敏是我老婆，我做过电商运营，我擅长 SQL。2024年8月我搬到了杭州。")
    for one, word in zip(candidates, ("配偶", "电商", "SQL", "杭州"), strict=True):
        assert word in one.text
    assert candidates[3].event_time == datetime(2024, 8, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I like coffee", "I don't like coffee any more"),
        ("I love coffee", "I hate coffee"),
        ("I'm vegan", "I'm no longer vegan"),
        ("I'm allergic to cats", "I'm not allergic to cats"),
        ("I live in Rome", "I don't live in Rome anymore"),
        ("I want to run the marathon", "I don't want to run the marathon any more"),
        ("I speak Dutch", "I don't speak Dutch"),
        ("我喜欢香菜", "我不喜欢香菜了"),
        ("我吃素", "我不再吃素了"),
        ("我打算学游泳", "我不打算学游泳了"),
    ],
)
def test_a_contradiction_has_the_same_key(before: str, after: str) -> None:
    """Merging sees that the two speak of one thing, and that the second denies it."""
    yes, no = fact(before), fact(after)
    assert yes.key == no.key
    assert (yes.negated, no.negated) == (False, True)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Call me Ana", "Call me Annie"),
        ("I live in Rome", "I live in Oslo"),
        ("My favourite colour is green", "My favourite colour is blue"),
        ("Tom is my boss", "My boss is called Sara"),
        ("The deadline for the report is on 3 June 2026", "The deadline for the report is on 5 June 2026"),
        ("My car is a red Skoda", "My new car is a blue Tesla"),
        ("My rent is 800 euros", "Our rent is 900 euros now"),
        ("我住在上海", "我住在杭州"),
        ("我老婆叫王敏", "我老婆是李娜"),
    ],
)
def test_one_value_at_a_time_has_one_key(first: str, second: str) -> None:
    """The second value will replace the first."""
    assert fact(first).single
    assert fact(first).key == fact(second).key


def test_another_language_has_the_same_attribute() -> None:
    """Predicates are English whatever the language, so that a fact corrects its translation."""
    for english, chinese in (
        ("I live in Rome", "我住在上海"),
        ("I'm allergic to nuts", "我对花生过敏"),
        ("Ann is my wife", "王敏是我老婆"),
    ):
        assert fact(english).attribute == fact(chinese).attribute


def test_somebody_elses_fact_is_theirs() -> None:
    """What is said of a sister never has the user as its subject."""
    named, lives = found("My sister Ida lives in Bergen")
    assert named.fact is not None
    assert lives.fact is not None
    assert (named.fact.subject, named.fact.persons) == ("user", ("Ida",))
    assert (lives.fact.subject, lives.fact.predicate, lives.fact.location) == ("Ida", "lives_in", "Bergen")


@pytest.mark.parametrize(
    ("question", "answer", "statement"),
    [
        ("Nice! What's your name?", "Ana", "The user's name is Ana"),
        ("What should I call you?", "Bo.", "Preferred name is Bo"),
        ("Where do you live?", "Rome", "The user lives in Rome"),
        ("How old are you?", "34", "The user is 34 years old"),
        ("请问怎么称呼您？", "小敏", "用户的称呼（偏好的名字）是小敏"),
        ("你住在哪里？", "杭州", "用户住在杭州"),
    ],
)
def test_a_bare_answer(question: str, answer: str, statement: str) -> None:
    """It is a statement after the assistant's question, and nothing without it."""
    asked = extract(turn(answer), previous=(turn(question, "assistant"),))
    assert [one.text for one in asked.candidates] == [statement]
    assert extract(turn(answer)).candidates == ()
    assert extract(turn(answer), previous=(turn(question, "user"),)).candidates == ()


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_only_the_user_speaks_of_the_user(role: Role) -> None:
    """The same words from another role hold nothing."""
    assert extract(turn("I live in Rome. Forget my diet.", role)) == extract(turn("", "user"))


def test_the_last_word_counts() -> None:
    """A thing said twice is found once, as it was said last."""
    assert len(found("I like tea. I like tea. I really like tea!")) == 1
    assert [one.text for one in found("I live in Rome. No, I live in Oslo now.")] == ["The user lives in Oslo"]


def test_a_long_message_is_read_from_its_start() -> None:
    """No more statements than can be meant, and none from beyond the first thousand clauses."""
    assert len(found(" ".join(f"I like dish{n}." for n in range(60)))) == 24
    assert found("It rains. " * 1200 + "I like tea.") == []
    assert len(found("It rains. " * 900 + "I like tea.")) == 1


PIECES = st.sampled_from(
    ["I", "I'm", "my", "like", "live in", "Rome", "call me", "Ana", "and", "but", ",", ".", "not", "allergic to", "yesterday", "last May",
     "remember that", "forget", "sister", "is", "want to", "我", "是", "喜欢", "住在", "叫", "对", "过敏", "了", "，", "。", "去年", "老婆", "记住", '"', "(", "?"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=14).map(" ".join), st.lists(PIECES, max_size=14).map("".join)))
@example("I \ud800 like tea")
def test_any_text_can_be_read(text: str) -> None:
    """No text raises; what is found names its turn, stays in range and in a known category."""
    for one in found(text):
        assert one.turns == (turn(text).id,)
        assert 1 <= one.importance <= 5
        assert one.category in CATEGORIES
        assert one.fact is not None


@pytest.mark.parametrize(
    "unit",
    [
        "I like ",
        "my sister ",
        "and I ",
        "remember that ",
        "a, ",
        "I'm ",
        "我",
        "我喜欢",
        "，我",
        "\"'",
        "I have been ",
        "if ",
        "`",
        "in May ",
        "forget about ",
        "forget x, please ",
    ],
)
def test_long_texts_are_cheap(unit: str) -> None:
    """A hundred thousand characters without a sentence take no more than a moment."""
    start = time.process_time()
    extract(turn(unit * (100_000 // len(unit))))
    assert time.process_time() - start < 5
