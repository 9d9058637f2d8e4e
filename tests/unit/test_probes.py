"""Everyday sentences in which a rule could take one thing for another, and histories that must not mix two people
up."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import Neighbour, StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.gate import validate_candidate
from muniment.memory.rules.merging.merge import IncomingCandidate, merge_candidates

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)  # a Friday
SETTINGS = load_settings({"HOME": "/nonexistent"})
CATEGORIES = frozenset(SETTINGS.categories)


def learnt(text: str, at: datetime = AT) -> list[str]:
    """The facts that the rules read in a message."""
    turn = Turn.make(session="s", key=text, role="user", text=text, at=at)
    if gate.find_skip_reason(text, "user"):
        return []
    found = (validate_candidate(one, categories=CATEGORIES)[0] for one in extract_statements(turn).facts)
    return [one.text for one in found if one]


def history(*said: str) -> list[str]:
    """What is known after these messages, an hour apart, when every memory is in sight."""
    known: dict[MemoryId, StoredMemory] = {}
    for n, text in enumerate(said):
        at = AT + timedelta(hours=n)
        turn = Turn.make(session="s", key=str(n), role="user", text=text, at=at)
        near = tuple(Neighbour(memory=one, sim=0.9) for one in known.values())
        incoming = [
            IncomingCandidate(candidate=one, vector=hash_vector(one.text), neighbours=near, id=MemoryId(uuid4()))
            for one in extract_statements(turn).candidates
        ]
        profile = SETTINGS.find_profile("default")
        done = merge_candidates(incoming, scope=Scope(owner="ana"), at=at, profile=profile, writing=SETTINGS.write)
        known |= {change.after.id: change.after for change in done.changes}
    return [one.text for one in known.values()]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        # a profession, an origin or a condition has the shape of a name
        ("我是老师。", ["用户的职业是老师"]),
        ("我是程序员。", ["用户的职业是程序员"]),
        ("我是武汉人。", ["用户来自武汉"]),
        ("我是王小明。", ["用户的名字是王小明"]),
        ("我是金牛座。", []),
        ("我是高血压。", []),
        ("我是老板。", []),
        ("叫我阿杰就行。", ["用户的称呼（偏好的名字）是阿杰"]),
        ("叫我小林就可以了。", ["用户的称呼（偏好的名字）是小林"]),
        # 同 is `with`, and the start of 同事
        ("我同事王敏住在北京。", ["用户的同事是王敏", "用户的同事王敏住在北京"]),
        ("我跟我同事一起住在北京。", ["用户住在北京"]),
        # names that look like days
        ("我最喜欢的乐队是五月天。", ["用户最喜欢的乐队是五月天"]),
        ("我喜欢五月天。", ["用户喜欢五月天"]),
        ("I like Tomorrow Never Dies.", []),
        ("My favourite movie is Friday.", []),
        # before a month, not so many months ago
        ("我七月之前要换护照。", []),
        ("我三个月前搬到了深圳。", ["用户于2026年2月搬到深圳"]),
        ("我和我老婆的结婚纪念日是6月12日。", []),
        # a fact and what comes after it
        ("My daughter Mia is 7 and plays the violin.",
            ["The user's daughter is Mia", "The user's daughter Mia is 7 years old"]),
        ("My mum turned 70.", ["The user's mum is 70 years old"]),
        ("I'm a chef at Plume, mostly making desserts.", ["The user works as a chef", "The user works at Plume"]),
        ("我不在阿里工作了。", ["用户不再在阿里工作"]),
        # two subjects, or two people
        ("I live in Lisbon and I like cork.", ["The user lives in Lisbon", "The user likes cork"]),
        ("I love my dog and I hate spiders.", ["The user loves the user's dog", "The user hates spiders"]),
        # what one calls oneself, and what one does
        ("I'm a terrible driver.", []),
        ("I'm a bit of a chef.", []),
        ("I'm AFK.", []),
        ("I'm Team Edward.", []),
        ("I can't eat another bite.", []),
        ("My favourite colleague is on leave.", []),
        ("我搬到了苏州", ["用户搬到苏州"]),
        ("I've just moved to Berlin.", ["The user moved to Berlin"]),
        ("叫我起床。", []),
        ("家人叫我回家。", []),
        ("我计划失败了。", []),
        # not meant
        ("Oh great, I just love waiting in line for three hours.", []),
        ("Yeah, right, I really love paying taxes.", []),
        ("哈哈，我最喜欢排队三个小时了。", []),
        ("Oh, I really love tea.", ["The user loves tea"]),
        ("I want to kill my boss, haha.", []),
        ("I'm allergic to Mondays.", []),
        ("I'm allergic to my boss, lol.", []),
        ("Anna wrote: I am vegan now.", []),
        ("Assistant: I live in Paris.", []),
    ],
)  # fmt: skip
def test_what_is_said_is_what_is_kept(text: str, statements: list[str]) -> None:
    """A sentence comes to what it says, or to nothing."""
    assert learnt(text) == statements


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("I have three cats now.", "The user has three cats now."),
        ("My wife and I went to Rome in 2019.", "The user's wife and the user went to Rome in 2019."),
        ("I'm a retired nurse.", "The user is a retired nurse."),
        ("我是去年结婚的。", "用户是去年 (2025年)结婚的。"),
    ],
)
def test_what_needs_no_structure_is_a_note(text: str, note: str) -> None:
    """It is kept as it was said; a date is explained behind it."""
    turn = Turn.make(session="s", key="k", role="user", text=text, at=AT)
    assert [one.text for one in extract_statements(turn).candidates] == [note]


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (["My name is Jon.", "My name is Jonathan."], ["The user's name is Jonathan"]),
        (["My wife is Sarah.", "My wife is Julia."], ["The user's wife is Julia"]),
        (
            ["My older brother lives in Leeds.", "My younger brother lives in York.",
                "My big brother lives in Hull now."],
            ["The user's big brother lives in Hull", "The user's younger brother lives in York"],
        ),
        (["我哥哥住在南京。", "我弟弟住在苏州。"], ["用户的兄弟（哥哥）住在南京", "用户的兄弟（弟弟）住在苏州"]),
        (["我爷爷八十岁了。", "我外公七十五岁了。"], ["用户的祖父（爷爷）八十岁", "用户的祖父（外公）七十五岁"]),
        (["My cat is 3.", "My dog is 5."], ["The user's cat is 3 years old", "The user's dog is 5 years old"]),
        (["My son Leo is 5.", "My son Leo is 6 now."], ["The user's son is Leo", "The user's son Leo is 6 years old"]),
        (
            ["My budget for the trip is 500 euros.", "My budget for the kitchen is 9000 euros."],
            ["The user's budget for the trip is 500 euros", "The user's budget for the kitchen is 9000 euros"],
        ),
        (["My budget for the trip is 500 euros.", "My budget is 700 euros."], ["The user's budget is 700 euros"]),
        (["我最喜欢的颜色是蓝色。", "我最喜欢的颜色其实是绿色。"], ["用户最喜欢的颜色是绿色"]),
        (
            ["My husband is Pete.", "My husband works at Shell.", "My husband Pete works at BP now."],
            ["The user's husband is Pete", "The user's husband Pete works at BP"],
        ),
        (
            ["My colleague lives in Leeds.", "My colleague lives in York."],
            ["The user's colleague lives in Leeds", "The user's colleague lives in York"],
        ),
        (["我妹妹叫小雨。", "我妹妹叫小雪，不叫小雨。"], ["用户的姐妹是小雪（妹妹）"]),
        (["I live in New York.", "I live in York."], ["The user lives in York"]),
        (["I live in London.", "I live in East London."], ["The user lives in East London"]),
        (["My name is Ann-Marie.", "My name is Ann."], ["The user's name is Ann"]),
        (["My boss is Ann Lee.", "My boss is Ann."], ["The user's boss is Ann Lee"]),
        (["I can't swim.", "I can swim now."], ["The user can swim now."]),
        (["I have a sister.", "I have two sisters."], ["The user has a sister.", "The user has two sisters."]),
        (["I live in Boston.", "I moved to Denver last month."], ["The user moved to Denver in April 2026"]),
        (["I live in Boston.", "I moved to Denver."], ["The user moved to Denver"]),
        (
            ["I live in Boston.", "I moved to Rome in 2010."],
            ["The user lives in Boston", "The user moved to Rome in 2010"],
        ),
        (
            ["I live in Boston.", "I moved to Marketing last month."],
            ["The user lives in Boston", "The user moved to Marketing in April 2026"],
        ),
        (["我住在北京。", "我搬到上海了。"], ["用户搬到上海"]),
        (["I moved to Porto.", "I live in Oslo now."], ["The user lives in Oslo"]),
        (["I moved to Porto.", "I moved to Oslo."], ["The user moved to Oslo"]),
        (["I moved to Porto.", "I moved to Oslo in 2010."],
            ["The user moved to Porto", "The user moved to Oslo in 2010"]),
        (["I moved to Rome in 2010.", "I live in Oslo."], ["The user moved to Rome in 2010", "The user lives in Oslo"]),
        (["我搬到上海了。", "我现在住在北京。"], ["用户住在北京"]),
        (["我搬到上海了。", "我住在十楼。"], ["用户搬到上海", "用户住在十楼"]),
        (["我住在北京。", "我明天搬到上海。"], ["用户住在北京", "用户计划于2026年5月9日搬到上海"]),
        (["I don't eat pork.", "I eat pork again."], ["The user eats pork again"]),
        (["I don't eat pork.", "I like pork now."], ["The user now likes pork"]),
        (["I don't eat chocolate.", "I like chocolate."],
            ["The user does not eat chocolate", "The user likes chocolate"]),
        (["我不吃猪肉。", "我现在又吃猪肉了。"], ["用户又吃猪肉了"]),
        (["我在阿里工作。", "我不在阿里工作了。"], ["用户不再在阿里工作"]),
    ],
)  # fmt: skip
def test_a_history_mixes_nobody_up(said: list[str], known: list[str]) -> None:
    """A correction lands on what it corrects, and on nobody and nothing else."""
    assert history(*said) == known
