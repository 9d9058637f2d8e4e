"""Labelled sentences: what the rules make of what people say."""

from datetime import UTC, datetime

import pytest

from muniment.memory.records import Turn
from muniment.memory.rules.extract import extract
from muniment.memory.rules.validate import validate
from muniment.memory.settings import load

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)  # a Friday
CATEGORIES = frozenset(load({"HOME": "/nonexistent"}).categories)

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
    ("I live in the US now", "profile", ["The user lives in the US"]),
    ("I work in IT", "profile", ["The user works in IT"]),
    ("I'm working in the fashion industry", "profile", ["The user works in the fashion industry"]),
    ("I work in finance at Globex", "profile", ["The user works in finance", "The user works at Globex"]),
    ("I don't work in marketing anymore", "profile", ["The user no longer works in marketing"]),
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
    ("I am not allergic to cats", "profile", ["The user is not allergic to cats"]),
    ("I'm not allergic to cats anymore", "profile", ["The user is no longer allergic to cats"]),
    ("Actually I'm no longer allergic to cats", "profile", ["The user is no longer allergic to cats"]),
    ("I'm a vegetarian, so no ham please", "profile", ["The user is vegetarian"]),
    ("I'm no longer vegan", "profile", ["The user is no longer vegan"]),
    ("I don't eat pork", "profile", ["The user does not eat pork"]),
    ("I can't eat gluten", "profile", ["The user cannot eat gluten"]),
    ("I have asthma", "profile", ["The user has asthma"]),
    ("I can't work on Sundays", "preferences", ["The user cannot work on Sundays"]),
    ("My budget for the trip is $2,000", "constraints", ["The user's budget for the trip is $2,000"]),
    ("The deadline for the report is next Friday", "constraints", ["The deadline for the report is on 15 May 2026"]),
    # people
    ("My wife's name is Maria.", "relationships", ["The user's wife is Maria"]),
    ("I'm married to John", "relationships", ["The user's spouse is John"]),
    ("Tom is my boss.", "relationships", ["The user's boss is Tom"]),
    ("My dog is called Rex", "relationships", ["The user's dog is Rex"]),
    ("I have a cat named Luna", "relationships", ["The user's cat is Luna"]),
    ("I have two kids", "relationships", ["The user has two kids"]),
    (
        "I have two black cats, Milo and Otis",
        "relationships",
        ["The user has two black cats", "The user's cat is Milo", "The user's cat is Otis"],
    ),
    (
        "We have 3 children named Anna, Ben, and Eva",
        "relationships",
        ["The user has 3 children", "The user's child is Anna", "The user's child is Ben", "The user's child is Eva"],
    ),
    ("I have two cats, Siamese and Persian", "relationships", ["The user has two cats"]),
    ("I have two cats, Milo, Otis and Max", "relationships", ["The user has two cats"]),
    ("I have two sons, Anna's and Ben's", "relationships", ["The user has two sons"]),
    ("I have two sisters, Anna and I", "relationships", ["The user has two sisters"]),
    (
        "My sister Ana studies law in Porto",
        "relationships",
        ["The user's sister is Ana", "The user's sister Ana studies law in Porto"],
    ),
    ("Max can't eat gluten", "relationships", ["Max cannot eat gluten"]),
    ("Ana Silva doesn't drink milk, so no latte", "relationships", ["Ana Silva does not drink milk"]),
    ("James doesn't eat meat", "relationships", ["James does not eat meat"]),
    ("Max is allergic to nuts", "relationships", ["Max is allergic to nuts"]),
    ("James is allergic to nuts", "relationships", ["James is allergic to nuts"]),
    ("My brother is studying medicine", "relationships", ["The user's brother studies medicine"]),
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
    ("Remember that lunch is at 12:30 with Tom", "activity", ["Lunch is at 12:30 with Tom"]),
    ("remember my locker code: 55-11, thanks", "activity", ["The user's locker code: 55-11"]),
    ("My flight to Oslo is on Friday at 9:40", "event", ["The user's flight to Oslo is on 15 May 2026 at 9:40"]),
    ("My wife's birthday is on May 12", "event", ["The user's wife's birthday is on May 12"]),
    ("I plan to call Ben at 18:05", "goals", ["The user plans to call Ben at 18:05"]),
    ("I prefer to work 9–17", "preferences", ["The user prefers to work 9–17"]),
    ("Note: my bike is a blue Gazelle", "activity", ["The user's bike is a blue Gazelle"]),
    ("Can you remember that I'm vegan?", "profile", ["The user is vegan"]),
    # things and sums of one's own
    ("My car is a red Skoda", "activity", ["The user's car is a red Skoda"]),
    ("Our new car is a Tesla Model 3 now", "activity", ["The user's car is a Tesla Model 3"]),
    ("My work phone is an iPhone 13", "activity", ["The user's work phone is an iPhone 13"]),
    ("My rent is 800 euros", "activity", ["The user's rent is 800 euros"]),
    ("My rent is now about $1,200 a month", "activity", ["The user's rent is about $1,200 a month"]),
    ("My salary is 50,000 a year", "activity", ["The user's salary is 50,000 a year"]),
    ("My flat is on the third floor", "activity", ["The user's flat is on the third floor"]),
    # Chinese
    ("我叫李雷，住在上海，是一名程序员", "profile", ["用户的名字是李雷", "用户住在上海", "用户的职业是程序员"]),
    ("我是木匠", "profile", ["用户的职业是木匠"]),
    ("我的航班是12月3日", "event", ["用户的航班是2026年12月3日"]),
    ("我的面试改到下周五早上8点半了", "event", ["用户的面试是2026年5月15日早上8点半"]),
    ("我的结婚纪念日是5月7日", "event", ["用户的结婚纪念日是5月7日"]),
    ("我的车是一辆白色的比亚迪", "activity", ["用户的车是一辆白色的比亚迪"]),
    ("我的新手机是iPhone 13", "activity", ["用户的手机是iPhone 13"]),
    ("我姐姐在波尔图学法律", "relationships", ["用户的姐妹（姐姐）在波尔图学法律"]),
    ("我弟弟在北京大学读计算机", "relationships", ["用户的兄弟（弟弟）在北京大学读计算机"]),
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
    ("我的论文截止日期是下周五", "constraints", ["用户的论文截止日期是2026年5月15日"]),
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
    # said in other ways
    ("我在明达公司工作", "profile", ["用户在明达公司工作"]),
    (
        "I like long walks along quiet country lanes, wine",
        "preferences",
        ["The user likes long walks along quiet country lanes"],
    ),
    ("我老婆王芳很累", "relationships", ["用户的配偶是王芳（老婆）"]),
    ("我妈妈李梅最喜欢跳舞", "relationships", ["用户的母亲是李梅（妈妈）", "用户的母亲李梅（妈妈）最喜欢跳舞"]),
    ("This is Omar speaking", "profile", ["The user's name is Omar"]),
    ("I'm fluent in German", "profile", ["The user speaks German"]),
    ("I work as a nurse for kids", "profile", ["The user works as a nurse"]),
    ("I work for Initech as a tester", "profile", ["The user works at Initech", "The user works as a tester"]),
    ("I'm on a keto diet", "profile", ["The user is on a keto diet"]),
    ("I never eat meat", "profile", ["The user never eats meat"]),
    ("Keep your answers short", "style", ["The user wants answers short"]),
    ("I'm not into horror films", "preferences", ["The user is not into horror films"]),
    (
        "I don't like olives, capers or anchovies",
        "preferences",
        ["The user does not like olives", "The user does not like capers", "The user does not like anchovies"],
    ),
    ("My daughter was born on 3 March 2020", "event", ["The user's daughter was born on 3 March 2020"]),
    ("My parents live in Ohio", "relationships", ["The user's parents live in Ohio"]),
    ("My boss hates meetings", "relationships", ["The user's boss hates meetings"]),
    ("My son is 7", "relationships", ["The user's son is 7 years old"]),
    ("My niece has asthma", "relationships", ["The user's niece has asthma"]),
    ("My wife works at Globex", "relationships", ["The user's wife works at Globex"]),
    ("I have an exam tomorrow", "event", ["The user has an exam on 9 May 2026"]),
    ("I hope to finish my thesis by June 2027", "goals", ["The user hopes to finish the user's thesis by June 2027"]),
    ("I can't play chess but I'm learning Japanese", "goals", ["The user is learning Japanese"]),
    ("我的老家在四川", "profile", ["用户来自四川"]),
    ("我已婚", "profile", ["用户已婚"]),
    ("比起茶我更喜欢咖啡", "preferences", ["用户更喜欢咖啡而不是茶"]),
    ("我不再是护士了", "profile", ["用户不再是护士"]),
    ("我是中国人", "profile", ["用户是中国人"]),
    ("我在学吉他", "goals", ["用户正在学吉他"]),
    ("我必须明天交房租", "tasks", ["用户需要于2026年5月9日交房租"]),
    ("我老公李强在医院工作", "relationships", ["用户的配偶是李强（老公）", "用户的配偶李强（老公）在医院工作"]),
]


@pytest.mark.parametrize(("text", "category", "statements"), STATEMENTS)
def test_a_statement(text: str, category: str, statements: list[str]) -> None:
    """What is said becomes third-person statements in the category of their kind, each fit to be kept as it is."""
    turn = Turn.make(session="s", key="k", role="user", text=text, at=AT)
    candidates = extract(turn).candidates
    assert [one.text for one in candidates] == statements
    assert {one.category for one in candidates} == {category}
    for one in candidates:
        assert validate(one, categories=CATEGORIES) == (one, None)
        assert one.turns == (turn.id,)


def test_a_secret_is_taken_out_whole() -> None:
    """What the rules make of a secret still says that it is one, so that it is refused."""
    turn = Turn.make(session="s", key="k", role="user", text="Remember that my PIN is [redacted:password]", at=AT)
    assert [validate(one, categories=CATEGORIES) for one in extract(turn).candidates] == [(None, "a secret")]
