"""Extraction by rule: labelled sentences, near misses that state nothing, and what holds for any text."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, strategies as st

from muniment.memory.records import Candidate, Fact, Role, Turn
from muniment.memory.rules.extract import extract
from muniment.memory.rules.validate import validate
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


STATEMENTS = [
    # identity
    ("Hi, call me Ana.", "profile", ["Preferred name is Ana"]),
    ("Please just call me Bo", "profile", ["Preferred name is Bo"]),
    ("I'd like to be called Sam.", "profile", ["Preferred name is Sam"]),
    ("call me mia", "profile", ["Preferred name is Mia"]),
    ("My name is José.", "profile", ["The user's name is José"]),
    ("Hey! I'm Priya.", "profile", ["The user's name is Priya"]),
    ("I'm Ana, a nurse from Porto.", "profile", ["The user's name is Ana", "The user works as a nurse"]),
    ("My pronouns are they/them", "profile", ["The user's pronouns are they/them"]),
    ("I'm 34 years old.", "profile", ["The user is 34 years old"]),
    ("I just turned 50!", "profile", ["The user is 50 years old"]),
    ("My birthday is May 7", "profile", ["The user's birthday is May 7"]),
    ("I'm Italian.", "profile", ["The user is Italian"]),
    ("I'm originally from Ghana", "profile", ["The user comes from Ghana"]),
    ("I live in New York City with a friend", "profile", ["The user lives in New York City"]),
    ("btw i live in lisbon now", "profile", ["The user lives in lisbon"]),
    ("I'm based in The Hague", "profile", ["The user lives in The Hague"]),
    ("I no longer live in Berlin.", "profile", ["The user no longer lives in Berlin"]),
    ("I was born in Lagos", "profile", ["The user was born in Lagos"]),
    (
        "I work at Acme as a data scientist.",
        "profile",
        ["The user works at Acme", "The user works as a data scientist"],
    ),
    ("I'm a product manager at Globex", "profile", ["The user works as a product manager", "The user works at Globex"]),
    ("I don't work at Acme anymore", "profile", ["The user no longer works at Acme"]),
    ("I'm married.", "profile", ["The user is married"]),
    ("I'm studying marine biology", "profile", ["The user studies marine biology"]),
    ("My mother tongue is Polish", "profile", ["The user's native language is Polish"]),
    # preferences
    ("I really like strong tea.", "preferences", ["The user likes strong tea"]),
    (
        "I like tea, coffee and jazz",
        "preferences",
        ["The user likes tea", "The user likes coffee", "The user likes jazz"],
    ),
    ("I like rock and pop music", "preferences", ["The user likes rock and pop music"]),
    ("I hate mushrooms but love olives", "preferences", ["The user hates mushrooms", "The user loves olives"]),
    ("I can't stand loud music", "preferences", ["The user cannot stand loud music"]),
    ("I don't like coffee any more.", "preferences", ["The user no longer likes coffee"]),
    ("I'm a huge fan of chess", "preferences", ["The user is a fan of chess"]),
    ("I prefer tea over coffee", "preferences", ["The user prefers tea over coffee"]),
    ("My favourite colour is green", "preferences", ["The user's favourite colour is green"]),
    ("Sushi is my favorite food", "preferences", ["The user's favourite food is Sushi"]),
    ("I love being surrounded by my family", "preferences", ["The user loves being surrounded by the user's family"]),
    ("Answer briefly, please", "style", ["The user wants answers briefly"]),
    ("Please always reply in Spanish", "style", ["The user wants answers in Spanish"]),
    ("Don't use emojis.", "style", ["The user does not want emojis in answers"]),
    ("I prefer short answers", "style", ["The user prefers short answers"]),
    # constraints
    ("I am lactose intolerant", "profile", ["The user is lactose intolerant"]),
    (
        "I'm allergic to peanuts and shellfish",
        "profile",
        ["The user is allergic to peanuts", "The user is allergic to shellfish"],
    ),
    ("Actually I'm no longer allergic to cats", "profile", ["The user is no longer allergic to cats"]),
    ("I'm a vegetarian, so no ham please", "profile", ["The user is vegetarian"]),
    ("I'm no longer vegan", "profile", ["The user is no longer vegan"]),
    ("I don't eat pork", "profile", ["The user does not eat pork"]),
    ("I can't eat gluten", "profile", ["The user cannot eat gluten"]),
    ("I have asthma", "profile", ["The user has asthma"]),
    ("I can't work on Sundays", "preferences", ["The user cannot work on Sundays"]),
    ("My budget for the trip is $2,000", "constraints", ["The user's budget is $2,000"]),
    ("The deadline for the report is next Friday", "constraints", ["The deadline for the report is on 15 May 2026"]),
    # people
    ("My wife's name is Maria.", "relationships", ["The user's wife is Maria"]),
    ("I'm married to John", "relationships", ["The user's spouse is John"]),
    ("Tom is my boss.", "relationships", ["The user's boss is Tom"]),
    ("My dog is called Rex", "relationships", ["The user's dog is Rex"]),
    ("I have a cat named Luna", "relationships", ["The user's cat is Luna"]),
    ("I have two kids", "relationships", ["The user has two kids"]),
    (
        "My sister Ida lives in Bergen",
        "relationships",
        ["The user's sister is Ida", "The user's sister Ida lives in Bergen"],
    ),
    ("My wife is allergic to shellfish", "relationships", ["The user's wife is allergic to shellfish"]),
    (
        "My brother Luca is a chef",
        "relationships",
        ["The user's brother is Luca", "The user's brother Luca works as a chef"],
    ),
    # goals and tasks
    (
        "I'm training for the Lisbon marathon in October",
        "goals",
        ["The user is training for the Lisbon marathon in October 2026"],
    ),
    ("I want to learn Spanish.", "goals", ["The user wants to learn Spanish"]),
    ("I'd love to visit Japan next spring", "goals", ["The user wants to visit Japan in spring 2027"]),
    ("My goal is to write a novel", "goals", ["The user wants to write a novel"]),
    ("I'm saving up for a house", "goals", ["The user is saving up for a house"]),
    ("I don't want to run the marathon any more", "goals", ["The user no longer wants to run the marathon"]),
    ("I need to call the dentist tomorrow", "tasks", ["The user needs to call the dentist on 9 May 2026"]),
    ("Remind me to renew my passport", "tasks", ["The user needs to renew the user's passport"]),
    ("Don't forget to buy milk", "tasks", ["The user needs to buy milk"]),
    # experience, skill, event
    ("I used to work as a teacher in Madrid", "profile", ["The user used to work as a teacher in Madrid"]),
    ("I've been painting for seven years", "profile", ["The user has been painting for seven years"]),
    ("I've climbed Mont Blanc", "profile", ["The user has climbed Mont Blanc"]),
    ("I speak French and Portuguese", "profile", ["The user speaks French", "The user speaks Portuguese"]),
    ("I'm good at chess", "profile", ["The user is good at chess"]),
    ("I know Python and Rust", "profile", ["The user knows Python", "The user knows Rust"]),
    ("I know how to sail a dinghy", "profile", ["The user knows how to sail a dinghy"]),
    ("I play the violin", "profile", ["The user plays the violin"]),
    ("I moved to Lisbon last year", "event", ["The user moved to Lisbon in 2025"]),
    ("I got married in June 2019", "event", ["The user got married in June 2019"]),
    ("Yesterday I adopted a puppy", "event", ["The user adopted a puppy on 7 May 2026"]),
    (
        "My mom and I baked bread last weekend",
        "event",
        ["The user and the user's mom baked bread on the weekend of 2 May 2026"],
    ),
    ("I'm flying to Rome on Monday", "event", ["The user is flying to Rome on 11 May 2026"]),
    # to remember
    ("Remember that I park my car in B2", "activity", ["The user parks the user's car in B2"]),
    ("Note: my bike is a blue Gazelle", "activity", ["The user's bike is a blue Gazelle"]),
    ("Can you remember that I'm vegan?", "profile", ["The user is vegan"]),
    # Chinese
    ("我叫李雷，住在上海，是一名程序员", "profile", ["用户的名字是李雷", "用户住在上海", "用户的职业是程序员"]),
    ("请叫我小敏", "profile", ["用户的称呼（偏好的名字）是小敏"]),
    ("我是成都人，今年三十岁", "profile", ["用户是成都人", "用户三十岁"]),
    ("我不再住在北京了", "profile", ["用户不再住在北京"]),
    ("我在青鸟公司当产品经理", "profile", ["用户在青鸟公司工作", "用户的职业是产品经理"]),
    ("我的生日是5月7日", "profile", ["用户的生日是5月7日"]),
    ("我喜欢爬山和游泳", "preferences", ["用户喜欢爬山", "用户喜欢游泳"]),
    ("我不喜欢香菜了", "preferences", ["用户不再喜欢香菜"]),
    ("我最讨厌下雨天", "preferences", ["用户讨厌下雨天"]),
    ("我更喜欢茶而不是咖啡", "preferences", ["用户更喜欢茶而不是咖啡"]),
    ("我最喜欢的颜色是蓝色", "preferences", ["用户最喜欢的颜色是蓝色"]),
    ("以后请用英文回答", "style", ["用户希望用英文回答"]),
    ("回答简短一点", "style", ["用户希望回答简短"]),
    ("我对花生和虾仁过敏", "profile", ["用户对花生过敏", "用户对虾仁过敏"]),
    ("我乳糖不耐受", "profile", ["用户乳糖不耐受"]),
    ("我不再吃素了", "profile", ["用户不再吃素"]),
    ("我不能吃辣", "profile", ["用户不能吃辣"]),
    ("我有高血压", "profile", ["用户患有高血压"]),
    ("我的预算是5000元", "constraints", ["用户的预算是5000元"]),
    ("论文的截止日期是下周五", "constraints", ["用户的论文截止日期是2026年5月15日"]),
    ("王敏是我老婆", "relationships", ["用户的配偶是王敏（老婆）"]),
    ("我女儿叫小雨", "relationships", ["用户的女儿是小雨"]),
    ("我妹妹住在成都", "relationships", ["用户的姐妹（妹妹）住在成都"]),
    ("我养了一只猫，叫小白", "relationships", ["用户养了宠物猫，名叫小白"]),
    ("我打算明年去日本旅游", "goals", ["用户打算于2027年去日本旅游"]),
    ("我的目标是明年跑完马拉松", "goals", ["用户的目标是2027年跑完马拉松"]),
    ("我正在备战里斯本马拉松", "goals", ["用户正在备战里斯本马拉松"]),
    ("提醒我明天给医生打电话", "tasks", ["用户需要于2026年5月9日给医生打电话"]),
    ("我做过电商运营", "profile", ["用户做过电商运营"]),
    ("我以前在北京工作过三年", "profile", ["用户在北京工作过三年"]),
    ("我擅长 SQL", "profile", ["用户擅长 SQL"]),
    ("我会说法语", "profile", ["用户会说法语"]),
    ("2024年8月我搬到了杭州", "event", ["用户于2024年8月搬到杭州"]),
    ("我昨天去了医院", "event", ["用户于2026年5月7日去了医院"]),
    ("我下个月要去北京出差", "event", ["用户计划于2026年6月去北京出差"]),
    ("记住我的车停在B2层", "activity", ["用户的车停在B2层"]),
]


@pytest.mark.parametrize(("text", "category", "statements"), STATEMENTS)
def test_a_statement(text: str, category: str, statements: list[str]) -> None:
    """What is said becomes third-person statements in the category of their kind, each fit to be kept as it is."""
    candidates = found(text)
    assert [one.text for one in candidates] == statements
    assert {one.category for one in candidates} == {category}
    for one in candidates:
        assert validate(one, categories=CATEGORIES) == (one, None)
        assert one.turns == (turn(text).id,)


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
        "I work hard",
        "I'm OK",
        "I'm Tired",
        "I'm 10 minutes late",
        "I'm a big believer in luck",
        "I'm from a small town",
        "I'm happy",
        "My name is on the list",
        "My dog is cute",
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
    ],
)
def test_what_is_to_be_forgotten(text: str, phrase: str) -> None:
    """The phrase is as said, so that its words find the memory; it is not learnt on the way."""
    asked = extract(turn(text))
    assert asked.forget == (phrase,)
    assert asked.candidates == ()


@pytest.mark.parametrize("text", ["Forget it", "forget about it, thanks", "Don't forget me", "忘了吧", "别忘了我"])
def test_an_idiom_forgets_nothing(text: str) -> None:
    """To forget it is to go on."""
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


def test_said_twice_is_found_once() -> None:
    """A key occurs once in a turn."""
    assert len(found("I like tea. I like tea. I really like tea!")) == 1


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
    ],
)
def test_long_texts_are_cheap(unit: str) -> None:
    """A hundred thousand characters without a sentence take no more than a moment."""
    start = time.process_time()
    extract(turn(unit * (100_000 // len(unit))))
    assert time.process_time() - start < 5
