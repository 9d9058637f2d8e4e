"""Labelled sentences: what the rules make of what people say."""

from datetime import UTC, datetime

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.memory import is_note
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.gate import validate_candidate

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)  # a Friday
CATEGORIES = frozenset(load_settings({"HOME": "/nonexistent"}).categories)

STATEMENTS = [
    # identity
    ("Hi, call me Ana.", "profile", ["Preferred name is Ana"]),
    ("I have asthma and take ibuprofen", "constraints", ["The user has asthma", "The user takes ibuprofen"]),
    ("I have asthma and diabetes", "constraints", ["The user has asthma", "The user has diabetes"]),
    ("We live in Bergen", "profile", ["The user lives in Bergen"]),
    ("My sister is vegan", "relationships", ["The user's sister is vegan"]),
    (
        "Our daughter Mia is 4",
        "relationships",
        ["The user's daughter is Mia", "The user's daughter Mia is 4 years old"],
    ),
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
    (
        "I work at Acme as a data scientist.",
        "profile",
        ["The user works at Acme", "The user works as a data scientist"],
    ),
    ("I'm a product manager at Globex", "profile", ["The user works as a product manager", "The user works at Globex"]),
    ("I don't work at Acme anymore", "profile", ["The user no longer works at Acme"]),
    ("I live in the US now", "profile", ["The user lives in the US"]),
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
    ("I don't like coffee any more.", "preferences", ["The user does not like coffee any more"]),
    ("My favourite colour is green", "preferences", ["The user's favourite colour is green"]),
    ("I love being surrounded by my family", "preferences", ["The user loves being surrounded by the user's family"]),
    ("Answer briefly, please", "style", ["The user wants answers briefly"]),
    ("Please always reply in Spanish", "style", ["The user wants answers in Spanish"]),
    ("Don't use emojis.", "style", ["The user does not want emojis in answers"]),
    # constraints
    ("I am lactose intolerant", "constraints", ["The user is lactose intolerant"]),
    (
        "I'm allergic to peanuts and shellfish",
        "constraints",
        ["The user is allergic to peanuts", "The user is allergic to shellfish"],
    ),
    ("I am not allergic to cats", "constraints", ["The user is not allergic to cats"]),
    ("I'm not allergic to cats anymore", "constraints", ["The user is no longer allergic to cats"]),
    ("Actually I'm no longer allergic to cats", "constraints", ["The user is no longer allergic to cats"]),
    ("I'm a vegetarian, so no ham please", "constraints", ["The user is vegetarian"]),
    ("I'm no longer vegan", "constraints", ["The user is no longer vegan"]),
    ("I don't eat pork", "constraints", ["The user does not eat pork"]),
    ("I can't eat gluten", "constraints", ["The user cannot eat gluten"]),
    ("I have asthma", "constraints", ["The user has asthma"]),
    ("My budget for the trip is $2,000", "constraints", ["The user's budget for the trip is $2,000"]),
    # people
    ("My wife's name is Maria.", "relationships", ["The user's wife is Maria"]),
    ("I'm married to John", "relationships", ["The user's spouse is John"]),
    ("Tom is my boss.", "relationships", ["The user's boss is Tom"]),
    ("My dog is called Rex", "relationships", ["The user's dog is Rex"]),
    ("I have a cat named Luna", "relationships", ["The user's cat is Luna"]),
    ("My sister Ana studies law in Porto", "relationships", ["The user's sister is Ana"]),
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
    ("I need to call the dentist tomorrow", "tasks", ["The user needs to call the dentist on 9 May 2026"]),
    ("Remind me to renew my passport", "tasks", ["The user needs to renew the user's passport"]),
    ("Don't forget to buy milk", "tasks", ["The user needs to buy milk"]),
    # experience, skill, event
    ("I speak French and Portuguese", "knowledge", ["The user speaks French", "The user speaks Portuguese"]),
    ("I moved to Lisbon last year", "event", ["The user moved to Lisbon in 2025"]),
    # to remember
    ("Remember that I park my car in B2", "activity", ["The user parks the user's car in B2"]),
    ("Remember that lunch is at 12:30 with Tom", "activity", ["Lunch is at 12:30 with Tom"]),
    ("remember my locker code: 55-11, thanks", "activity", ["The user's locker code: 55-11"]),
    ("My flight to Oslo is on Friday at 9:40", "event", ["The user's flight to Oslo is on 15 May 2026 at 9:40"]),
    ("My wife's birthday is on May 12", "event", ["The user's wife's birthday is on May 12"]),
    ("Remember that Tom broke the vase", "activity", ["Tom broke the vase"]),
    ("Remember that the fridge broke", "activity", ["The fridge broke"]),
    ("Remember that sales fell last quarter", "activity", ["Sales fell in Q1 2026"]),
    ("Remember that Vera and Tom have a boat", "activity", ["Vera and Tom have a boat"]),
    ("Remember that Mondays need a plan", "activity", ["Mondays need a plan"]),
    ("Note: my bike is a blue Gazelle", "activity", ["The user's bike is a blue Gazelle"]),
    ("Can you remember that I'm vegan?", "constraints", ["The user is vegan"]),
    # things and sums of one's own
    # Chinese
    ("我叫李雷，住在上海，是一名程序员", "profile", ["用户的名字是李雷", "用户住在上海", "用户的职业是程序员"]),
    ("我是木匠", "profile", ["用户的职业是木匠"]),
    ("我的航班是12月3日", "event", ["用户的航班是2026年12月3日"]),
    ("我的面试改到下周五早上8点半了", "event", ["用户的面试是2026年5月15日早上8点半"]),
    ("我的结婚纪念日是5月7日", "event", ["用户的结婚纪念日是5月7日"]),
    ("我的车是一辆白色的比亚迪", "activity", ["用户的车是一辆白色的比亚迪"]),
    ("我的新手机是iPhone 13", "activity", ["用户的手机是iPhone 13"]),
    ("请叫我小敏", "profile", ["用户的称呼（偏好的名字）是小敏"]),
    ("我是成都人，今年三十岁", "profile", ["用户来自成都", "用户三十岁"]),
    ("我不再住在北京了", "profile", ["用户不再住在北京"]),
    ("我在青鸟公司当产品经理", "profile", ["用户在青鸟公司工作", "用户的职业是产品经理"]),
    ("我的生日是5月7日", "profile", ["用户的生日是5月7日"]),
    ("我喜欢爬山和游泳", "preferences", ["用户喜欢爬山", "用户喜欢游泳"]),
    ("我不喜欢香菜了", "preferences", ["用户不再喜欢香菜"]),
    ("我最讨厌下雨天", "preferences", ["用户讨厌下雨天"]),
    ("我更喜欢茶而不是咖啡", "preferences", ["用户喜欢茶而不是咖啡"]),
    ("我最喜欢的颜色是蓝色", "preferences", ["用户最喜欢的颜色是蓝色"]),
    ("以后请用英文回答", "style", ["用户希望用英文回答"]),
    ("回答简短一点", "style", ["用户希望回答简短"]),
    ("我对花生和虾仁过敏", "constraints", ["用户对花生过敏", "用户对虾仁过敏"]),
    ("我乳糖不耐受", "constraints", ["用户乳糖不耐受"]),
    ("我不再吃素了", "constraints", ["用户不再吃素"]),
    ("我不能吃辣", "constraints", ["用户不能吃辣"]),
    ("我有高血压", "constraints", ["用户患有高血压"]),
    ("我的预算是5000元", "constraints", ["用户的预算是5000元"]),
    ("我的论文截止日期是下周五", "event", ["用户的论文截止日期是2026年5月15日"]),
    ("王敏是我老婆", "relationships", ["用户的配偶是王敏（老婆）"]),
    ("我女儿叫小雨", "relationships", ["用户的女儿是小雨"]),
    ("我妹妹住在成都", "relationships", ["用户的姐妹（妹妹）住在成都"]),
    ("我养了一只猫，叫小白", "relationships", ["用户养了宠物猫，名叫小白"]),
    ("提醒我明天给医生打电话", "tasks", ["用户需要于2026年5月9日给医生打电话"]),
    ("我会说法语", "knowledge", ["用户会说法语"]),
    ("2024年8月我搬到了杭州", "event", ["用户于2024年8月搬到杭州"]),
    ("记住我的车停在B2层", "activity", ["用户的车停在B2层"]),
    # said in other ways
    ("我在明达公司工作", "profile", ["用户在明达公司工作"]),
    (
        "I like long walks along quiet country lanes, wine",
        "preferences",
        ["The user likes long walks along quiet country lanes"],
    ),
    ("我老婆王芳很累", "relationships", ["用户的配偶是王芳（老婆）"]),
    ("我妈妈李梅最喜欢跳舞", "relationships", ["用户的母亲是李梅（妈妈）"]),
    ("This is Omar speaking", "profile", ["The user's name is Omar"]),
    ("I'm fluent in German", "knowledge", ["The user speaks German"]),
    ("I work as a nurse for kids", "profile", ["The user works as a nurse"]),
    ("I work for Initech as a tester", "profile", ["The user works at Initech", "The user works as a tester"]),
    ("I'm on a keto diet", "constraints", ["The user is on a keto diet"]),
    ("I never eat meat", "constraints", ["The user never eats meat"]),
    ("Keep your answers short", "style", ["The user wants answers short"]),
    (
        "I don't like olives, capers or anchovies",
        "preferences",
        ["The user does not like olives", "The user does not like capers", "The user does not like anchovies"],
    ),
    ("My parents live in Ohio", "relationships", ["The user's parents live in Ohio"]),
    ("My son is 7", "relationships", ["The user's son is 7 years old"]),
    ("My wife works at Globex", "relationships", ["The user's wife works at Globex"]),
    ("我的老家在四川", "profile", ["用户来自四川"]),
    ("我已婚", "profile", ["用户已婚"]),
    ("我不再是护士了", "profile", ["用户不再是护士"]),
    ("我是中国人", "profile", ["用户来自中国"]),
    ("我在学吉他", "goals", ["用户学吉他"]),
    ("我老公李强在医院工作", "relationships", ["用户的配偶是李强（老公）", "用户的配偶李强（老公）在医院工作"]),
]

NOTES = [
    ("I play tennis, chess and the piano", "interests", 'The user said: "I play tennis, chess and the piano"'),
    ("We went skiing at Christmas.", "interests", 'The user said: "We went skiing at Christmas (2025)."'),
    ("Last summer we visited Rome", "activity", 'The user said: "Last summer (2025) we visited Rome"'),
    ("My flight is on Christmas Eve", "event", "The user's flight is on Christmas Eve (2026)."),
    ("I have two cats and a dog", "relationships", 'The user said: "I have two cats and a dog"'),
    ("I was born in Lagos", "profile", "The user was born in Lagos."),
    ("I work in IT", "profile", "The user works in IT."),
    ("I work in finance at Globex", "profile", "The user works in finance at Globex."),
    ("I don't work in marketing anymore", "activity", "The user does not work in marketing anymore."),
    ("I can't stand loud music", "preferences", "The user cannot stand loud music."),
    ("I'm a huge fan of chess", "interests", "The user is a huge fan of chess."),
    ("I prefer tea over coffee", "preferences", "The user prefers tea over coffee."),
    ("Sushi is my favorite food", "preferences", "Sushi is the user's favorite food."),
    ("I can't work on Sundays", "activity", "The user cannot work on Sundays."),
    ("I have two kids", "relationships", "The user has two kids."),
    ("I have two black cats, Milo and Otis", "relationships", 'The user said: "I have two black cats, Milo and Otis"'),
    (
        "We have 3 children named Anna, Ben, and Eva",
        "relationships",
        'The user said: "We have 3 children named Anna, Ben, and Eva"',
    ),
    ("I have two cats, Siamese and Persian", "relationships", 'The user said: "I have two cats, Siamese and Persian"'),
    ("I have two cats, Milo, Otis and Max", "relationships", 'The user said: "I have two cats, Milo, Otis and Max"'),
    ("I have two sons, Anna's and Ben's", "relationships", "The user said: \"I have two sons, Anna's and Ben's\""),
    ("I have two sisters, Anna and I", "relationships", 'The user said: "I have two sisters, Anna and I"'),
    ("Max can't eat gluten", "constraints", 'The user said: "Max can\'t eat gluten"'),
    ("My brother is studying medicine", "relationships", "The user's brother is studying medicine."),
    (
        "I'm training for the Lisbon marathon in October",
        "goals",
        "The user is training for the Lisbon marathon in October (2026).",
    ),
    ("I want to learn Spanish.", "goals", "The user wants to learn Spanish."),
    ("I'd love to visit Japan next spring", "goals", 'The user said: "I\'d love to visit Japan next spring (2027)"'),
    ("My goal is to write a novel", "goals", "The user's goal is to write a novel."),
    ("I'm saving up for a house", "goals", "The user is saving up for a house."),
    ("I don't want to run the marathon any more", "goals", "The user does not want to run the marathon any more."),
    ("I used to work as a teacher in Madrid", "history", "The user used to work as a teacher in Madrid."),
    ("I've been painting for seven years", "interests", "The user has been painting for seven years."),
    ("I've climbed Mont Blanc", "activity", "The user has climbed Mont Blanc."),
    ("I'm good at chess", "knowledge", "The user is good at chess."),
    ("I know Python and Rust", "knowledge", 'The user said: "I know Python and Rust"'),
    ("I know how to sail a dinghy", "knowledge", "The user knows how to sail a dinghy."),
    ("I play the violin", "interests", "The user plays the violin."),
    ("I got married in June 2019", "event", "The user got married in June 2019."),
    ("Yesterday I adopted a puppy", "relationships", "Yesterday (7 May 2026) the user adopted a puppy."),
    (
        "My mom and I baked bread last weekend",
        "relationships",
        "The user's mom and the user baked bread last weekend (the weekend of 2 May 2026).",
    ),
    ("I'm flying to Rome on Monday", "event", "The user is flying to Rome on Monday."),
    ("I plan to call Ben at 18:05", "goals", "The user plans to call Ben at 18:05."),
    ("I prefer to work 9–17", "preferences", "The user prefers to work 9–17."),
    ("My car is a red Skoda", "profile", "The user's car is a red Skoda."),
    ("Our new car is a Tesla Model 3 now", "activity", 'The user said: "Our new car is a Tesla Model 3 now"'),
    ("My work phone is an iPhone 13", "activity", "The user's work phone is an iPhone 13."),
    ("My rent is now about $1,200 a month", "activity", "The user's rent is now about $1,200 a month."),
    ("My salary is 50,000 a year", "activity", "The user's salary is 50,000 a year."),
    ("My flat is on the third floor", "profile", "The user's flat is on the third floor."),
    ("我姐姐在波尔图学法律", "relationships", "用户的姐姐在波尔图学法律。"),
    ("我弟弟在北京大学读计算机", "relationships", "用户的弟弟在北京大学读计算机。"),
    ("论文的截止日期是下周五", "tasks", '用户说："论文的截止日期是下周五 (2026年5月15日)"'),
    ("我打算明年去日本旅游", "goals", "用户打算明年 (2027年)去日本旅游。"),
    ("我的目标是明年跑完马拉松", "goals", "用户的目标是明年 (2027年)跑完马拉松。"),
    ("我正在备战里斯本马拉松", "activity", "用户正在备战里斯本马拉松。"),
    ("我做过电商运营", "history", "用户做过电商运营。"),
    ("我以前在北京工作过三年", "profile", "用户以前在北京工作过三年。"),
    ("我昨天去了医院", "event", "用户昨天 (2026年5月7日)去了医院。"),
    ("我下个月要去北京出差", "event", "用户下个月 (2026年6月)要去北京出差。"),
    ("I'm not into horror films", "activity", "The user is not into horror films."),
    ("My daughter was born on 3 March 2020", "relationships", "The user's daughter was born on 3 March 2020."),
    ("My boss hates meetings", "relationships", "The user's boss hates meetings."),
    ("My niece has asthma", "relationships", "The user's niece has asthma."),
    ("I hope to finish my thesis by June 2027", "goals", "The user hopes to finish the user's thesis by June 2027."),
    (
        "I can't play chess but I'm learning Japanese",
        "interests",
        "The user cannot play chess but the user is learning Japanese.",
    ),
    ("我必须明天交房租", "tasks", "用户必须明天 (2026年5月9日)交房租。"),
]


@pytest.mark.parametrize(("text", "category", "statements"), STATEMENTS)
def test_a_statement(text: str, category: str, statements: list[str]) -> None:
    """What is said becomes third-person statements in the category of their kind, each fit to be kept as it is."""
    turn = Turn.make(session="s", key="k", role="user", text=text, at=AT)
    candidates = extract_statements(turn).facts
    assert [one.text for one in candidates] == statements
    assert {one.category for one in candidates} == {category}
    for one in candidates:
        assert validate_candidate(one, categories=CATEGORIES) == (one, None)
        assert one.turns == (turn.id,)


@pytest.mark.parametrize(("text", "category", "note"), NOTES)
def test_a_note(text: str, category: str, note: str) -> None:
    """What needs no structure is kept in the person's words, in the third person or quoted, with its dates."""
    turn = Turn.make(session="s", key="k", role="user", text=text, at=AT)
    [kept] = extract_statements(turn).candidates
    assert (kept.category, kept.text) == (category, note)
    assert kept.fact is not None
    assert is_note(kept.fact)
    assert validate_candidate(kept, categories=CATEGORIES) == (kept, None)


def test_a_secret_is_taken_out_whole() -> None:
    """What the rules make of a secret still says that it is one, so that it is refused."""
    turn = Turn.make(session="s", key="k", role="user", text="Remember that my PIN is [redacted:password]", at=AT)
    assert [validate_candidate(one, categories=CATEGORIES) for one in extract_statements(turn).facts] == [
        (None, "a secret")
    ]
