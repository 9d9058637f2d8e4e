"""What people leave out when they speak: subjects, names that came before, and what an aside belongs to."""

from datetime import UTC, datetime

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.gate import validate_candidate

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)  # a Friday
CATEGORIES = frozenset(load_settings({"HOME": "/nonexistent"}).categories)

STATEMENTS = [
    # names and firms
    ("Everyone at school calls me Bobby", ["Preferred name is Bobby"]),
    ("My friends call me Lou", ["Preferred name is Lou"]),
    ("I work at a startup called Plume as a designer", ["The user works as a designer"]),
    # people
    (
        "Lena, who's my sister, lives in Turin. She works as a vet.",
        ["The user's sister is Lena", "The user's sister Lena lives in Turin", "The user's sister Lena works as a vet"],
    ),
    ("My mum lives in Leeds. She's 71.", ["The user's mum lives in Leeds", "The user's mum is 71 years old"]),
    ("I'm allergic to nuts and my wife is vegan", ["The user is allergic to nuts", "The user's wife is vegan"]),
    ("My wife and I live in Oslo", ["The user lives in Oslo", "The user's wife lives in Oslo"]),
    ("My mum and I are vegan", ["The user is vegan", "The user's mum is vegan"]),
    # ornaments, of which some are all there is
    ("I'm vegan 🌱", ["The user is vegan"]),
    ("🎉 I moved to Porto", ["The user moved to Porto"]),
    ("I live in Zürich 🏔️ and I don't eat meat 🙅‍♀️!", ["The user lives in Zürich", "The user does not eat meat"]),
    ("我住在北京🏙️，对花生过敏 🥜", ["用户住在北京", "用户对花生过敏"]),
    ("I love 🍣", ["The user loves 🍣"]),
    ("I'm vegan 😂", []),
    # what an aside belongs to
    ("About your replies: keep them brief", ["The user wants answers brief"]),
    ("No bullet points please", ["The user does not want bullet points in answers"]),
    ("Bullet points are fine", ["The user welcomes bullet points in answers"]),
    ("Slang is not okay with me", ["The user does not welcome slang in answers"]),
    ("Concise answers please", ["The user wants answers concise"]),
    ("Turns out I'm lactose intolerant", ["The user is lactose intolerant"]),
    ("I don't want to spend more than $300 on that", ["The user's budget is at most $300"]),
    ("I'm on blood thinners", ["The user is on blood thinners"]),
    # Chinese: who it is about goes without saying
    ("目前住在苏州", ["用户住在苏州"]),
    ("老婆在银行上班", ["用户的配偶（老婆）在银行上班"]),
    ("我弟弟叫小宇，今年十二岁", ["用户的兄弟是小宇（弟弟）", "用户的兄弟小宇（弟弟）十二岁"]),
    ("我儿子六岁了，对花生过敏", ["用户的儿子六岁", "用户的儿子对花生过敏"]),
    ("我妹妹雅婷在杭州上班，她下个月要去日本出差", ["用户的姐妹是雅婷（妹妹）", "用户的姐妹雅婷（妹妹）在杭州上班"]),
    ("小宝已经三岁了", ["小宝三岁"]),
    ("小宝上周过的生日，已经四岁了", ["小宝四岁"]),
    ("雅婷现在在苏州上班", ["雅婷现在在苏州上班"]),
    # Chinese: said in other ways
    ("我和室友一起住在海淀", ["用户住在海淀"]),
    ("我们家养了一只英短，名字叫布丁", ["用户养了宠物英短，名叫布丁"]),
    ("我老家就是绍兴的", ["用户来自绍兴"]),
    ("我最近爱上了潜水", ["用户爱上潜水"]),
    ("我会一点日语", ["用户会一点日语"]),
    ("我爸今年六十五，他在学游泳", ["用户的父亲（爸）六十五岁"]),
    ("周二晚上我没空上课", []),  # one Tuesday, or all of them
    ("钢琴我早就不学了", ["用户不再学钢琴"]),
    ("跑步我不喜欢了", ["用户不再喜欢跑步"]),
    ("我不再学法语了", ["用户不再学法语"]),
    ("旅行预算改一下，提高到两万元", ["用户的预算是两万元"]),
    ("我家的预算改成八万", ["用户的预算是八万"]),
    ("老实说我不喜欢开车", ["用户不喜欢开车"]),
    ("说真的，我对猫毛过敏", ["用户对猫毛过敏"]),
    ("说错了，我住在无锡", ["用户住在无锡"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "statements"), STATEMENTS)
def test_what_is_left_out_is_put_back(text: str, statements: list[str]) -> None:
    """Each fact names who and when, and is fit to be kept as it is."""
    candidates = extract_statements(Turn.make(session="s", key="k", role="user", text=text, at=AT)).facts
    assert [one.text for one in candidates] == statements
    assert all(validate_candidate(one, categories=CATEGORIES) == (one, None) for one in candidates)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("I work for a bank called Monzo", "The user works for a bank called Monzo."),
        ("Our company is called Lumen now", 'The user said: "Our company is called Lumen now"'),
        (
            "My son can't eat any peanuts. He's got asthma.",
            "The user's son can't eat any peanuts. The user's son has asthma.",
        ),
        ("My dad doesn't drink alcohol", "The user's dad doesn't drink alcohol."),
        ("My niece never eats meat", "The user's niece never eats meat."),
        ("Priya's an engineer at Arup", 'The user said: "Priya\'s an engineer at Arup"'),
        (
            "I'm running the Berlin marathon, it's on September 27",
            "The user is running the Berlin marathon, it's on September 27 (2026).",
        ),
        ("My German is rusty but my French is fluent", "The user's German is rusty but the user's French is fluent."),
        ("My Polish is terrible", "The user's Polish is terrible."),
        ("I grew up in Leipzig", "The user grew up in Leipzig."),
        ("I can't do Thursdays", "The user cannot do Thursdays."),
        ("I go climbing every Sunday morning", "The user goes climbing every Sunday morning."),
        ("最近在准备考研", '用户说："最近在准备考研"'),
        ("昨天去了一家新开的书店", '用户说："昨天 (2026年5月7日)去了一家新开的书店"'),
        ("上周末和朋友爬了泰山", '用户说："上周末 (2026年5月2日那个周末)和朋友爬了泰山"'),
        ("女儿昨天考了满分", '用户说："女儿昨天 (2026年5月7日)考了满分"'),
        ("毕业之前我在一家报社实习了半年", "毕业之前用户在一家报社实习了半年。"),
        ("我平时只看纪录片", "用户平时只看纪录片。"),
        ("周末我不加班", "周末用户不加班。"),
        ("我在杭州长大", "用户在杭州长大。"),
        ("每天早上我都会去江边跑步", "每天早上用户都会去江边跑步。"),
        ("我平时开车上班", "用户平时开车上班。"),
        ("牛奶我不喝了", "牛奶用户不喝了。"),
        ("报告需要在6月1日之前提交", '用户说："报告需要在6月1日 (2026年)之前提交"'),
    ],
)
def test_what_needs_no_structure_is_a_note(text: str, note: str) -> None:
    """It is kept as it was said; a date is explained behind it."""
    turn = Turn.make(session="s", key="k", role="user", text=text, at=AT)
    assert [one.text for one in extract_statements(turn).candidates] == [note]


@pytest.mark.parametrize(
    "text",
    [
        # somebody else, or nobody in particular
        "妈妈们都很辛苦", "父亲节快乐", "现在住在鹿特丹的人很多", "平时大家都不吃早饭", "他们最近在学大提琴",
        "公司其实在广州上班",
        "程序员其实在公司工作", "通常在公司工作", "天气今天真好，已经三十岁了", "大提琴他不学了", "爷爷奶奶都住在乡下",
        "爸爸喜欢的电影", "小心今年已经七岁", "老婆喝酒对身体不好", "我们要在5月1日前完成",
        "Life is a teacher of patience", "Work is a nightmare", "Experience is a great teacher", "She lives in Bergen",
        "My friend met my sister. She is a nurse.", "My brother and my dad came. He is a chef.",
        "My wife called. He is a nurse.",
        "Everybody calls me when they need help", "The company is called Acme, have you heard of it?",
        "每天晚上我老公打呼噜", "我平时很忙", "我一般不知道", "I can't do Thursday", "I'm on fire",
        "I practice and train every day",
        # not a statement
        "儿子叫醒了我", "女儿叫我起床", "昨天下雨了", "最近天气不错", "最近学习压力大", "最近学生都在准备考试",
        "这个我不吃了",
        "现在学英语有用吗", "预算提高到多少合适", "如果最近在学大提琴", "老师说最近在学大提琴", "我呢",
        "No emoji?", "Emoji are fine for kids", "Keep it short", "Short answers are boring", "My English is what it is",
        "I won't spend more than that", "I work for a company called that", "I went there, it's on the corner",
    ],
)  # fmt: skip
def test_what_nobody_can_know_is_not_put_back(text: str) -> None:
    """Where it may be another, or nothing is stated, no fact is read."""
    assert extract_statements(Turn.make(session="s", key="k", role="user", text=text, at=AT)).facts == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("那会儿我还在上海的设计院画屋顶花园呢。", None),
        ("我还真没想到你记得这件事呢", None),
        ("那明天呢？", "question"),
        ("你呢", "question"),
    ],
)
def test_a_closing_particle_does_not_make_a_question(text: str, reason: str | None) -> None:
    """`呢` after a few characters asks back; after a whole statement it lends it colour."""
    assert gate.find_skip_reason(text, "user") == reason


@pytest.mark.parametrize(
    ("text", "relative"),
    [
        ("用户周五下午不开会", False),
        ("用户周日下午基本都在陶艺教室", False),
        ("用户周五从不出门", False),
        ("用户周五去看牙医", True),
        ("用户周五不去看牙医了", True),
    ],
)
def test_a_habit_has_no_date(text: str, relative: bool) -> None:
    """What one always or never does on a weekday is not of the next one."""
    assert mentions.has_relative_date(text, AT) is relative
