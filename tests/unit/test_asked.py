"""What a question asks for, and how much of it a statement tells."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import example, given, strategies as st

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.retrieval import (
    intents,
)
from muniment.memory.rules.retrieval.intents import read_intents
from muniment.memory.rules.retrieval.question import (
    collect_aliases,
    match_statement,
    parse_question,
)


def tells(question: str, statement: str, *others: str) -> float:
    return match_statement(
        parse_question(question), read_intents(statement), collect_aliases(map(read_intents, [statement, *others]))
    ).coverage


@pytest.mark.parametrize(
    ("question", "statement", "beside"),
    [
        ("What do I do for a living?", "The user is a nurse", "The user lives in Leeds"),
        ("What is my line of work?", "The user is an oboe repairer", "The user is a vegetarian"),
        ("Where do I live?", "The user moved to Berlin", "The user loves jazz"),
        ("Which instrument do I play?", "The user's cello is from 1890", "The user's bike is red"),
        ("When is my mum's birthday?", "The user's mother turns 70 on 8 March", "The user's mother is a judge"),
        ("Can I have milk?", "The user is lactose intolerant", "The user is a nurse"),
        ("我是做什么工作的？", "用户是一名小学语文老师", "用户对花生过敏"),
        ("我有什么忌口？", "用户不吃羊肉", "用户住在成都"),
        ("我坐什么去上班？", "用户每天坐地铁通勤", "用户养了一只猫"),
        ("朵朵在学什么乐器？", "朵朵每周六上午学钢琴", "用户有高血压"),
        ("我的职业是什么？", "The user is a nurse", "The user lives in Leeds"),
        ("What is my job?", "用户是一名小学语文老师", "用户对花生过敏"),
    ],
)
def test_what_tells_it_tells_more_of_it(question: str, statement: str, beside: str) -> None:
    """In other words, in Chinese, and from one language to the other."""
    assert tells(question, statement) >= 0.5
    assert tells(question, statement) > tells(question, beside)


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("What is my favourite singer?", "The user's favourite tea is green"),
        ("我最喜欢的歌手是谁？", "用户喜欢喝普洱茶"),
        ("What is my blood type?", "The user's name is Margo"),
        ("我的银行卡密码是多少？", "用户的儿子在深圳"),
        ("How is the weather?", "The user went to Crete in summer 2026"),
        ("今天天气怎么样？", "The user went to Crete in summer 2026"),
    ],
)
def test_words_that_say_little_tell_nothing(question: str, statement: str) -> None:
    """Only with a word that matters they count."""
    assert tells(question, statement) == 0


def test_a_part_of_a_piece_of_chinese_tells_a_part_of_it() -> None:
    """Where nothing else is known of it; a character of one that asks for an aspect tells nothing."""
    assert 0 < tells("我去过崇明岛吗？", "用户在崇明骑车") < tells("我去过崇明岛吗？", "用户在崇明岛骑车")
    assert tells("我喜欢吃什么菜？", "用户喜欢看悬疑小说") == 0


def test_light_words_are_what_matters_where_there_are_no_others() -> None:
    """A name is asked for by nothing but its word."""
    assert tells("What's my name?", "The user goes by Margo") > 0
    assert tells("我姓什么？", "用户的名字是林子涵") > 0


def test_a_question_of_no_words_asks_for_nothing() -> None:
    """Where there is nothing but stop words."""
    assert not parse_question("Who is it?").parts
    assert not parse_question("是谁？").parts


def test_who_asks_when_is_told_a_time() -> None:
    """A statement with a date tells more of it."""
    assert tells("When is my wedding?", "The user's wedding is on 3 May") > tells(
        "When is my wedding?", "The user's wedding is in the old mill"
    )


def test_a_name_is_known_by_whose_it_is() -> None:
    """What is asked of the daughter is told of Nell, and what is asked of Nell of the daughter."""
    daughter = "The user's daughter Nell is five"
    assert tells("What helps my daughter sleep?", "Nell sleeps best with white noise", daughter) > 0.5
    assert tells("What does Nell study?", "The user's daughter studies law", "Nell is tall", daughter) > 0.5
    assert collect_aliases(map(read_intents, [daughter, "The user has two sons, Leo and Max"])).keys() == {
        "nell",
        "leo",
        "max",
    }
    assert collect_aliases(map(read_intents, ["用户养了一只叫豆豆的猫", "用户的女儿叫朵朵"])).keys() == {"豆豆", "朵朵"}
    assert tells("我女儿在哪里上学？", "朵朵在实验小学读书", "用户的女儿叫朵朵") > 0.5


@pytest.mark.parametrize(
    ("question", "statement", "another"),
    [
        ("Where was I born?", "The user's daughter was born in Rome", True),
        ("Where was I born?", "The user was born in Rome", False),
        ("Where was my daughter born?", "The user's daughter was born in Rome", False),
        ("Where was my daughter born?", "The user was born in Rome", True),
        ("Who was born in Rome?", "The user's daughter was born in Rome", False),
        ("Where was I born?", "Nell was born in Rome", True),
        ("Where was Nell born?", "Nell was born in Rome", False),
        ("Where was my mother born?", "The user's mother-in-law was born in Rome", True),
        ("Where did I grow up?", "I grew up in Rome", False),
        ("Where was our holiday?", "The user's wife booked a holiday in Rome", False),
        ("Where was my holiday?", "The user's wife booked a holiday in Rome", True),
        ("我们的假期在哪里？", "用户的妻子订了罗马的假期", False),
        ("Where was I born?", "the user's daughter was born in Rome", True),
        ("我在哪里上班？", "用户的妻子在银行上班", True),
        ("我在哪里上班？", "用户在银行上班", False),
        ("我妻子在哪里上班？", "用户在银行上班", True),
        ("When is my appointment?", "The user's dentist appointment is on 3 May", False),
        ("Which languages do I speak?", "The user's mother tongue is Dutch", False),
        ("Where was I born?", "The user's elder sister was born in Rome", True),
        ("Tell me about my family", "The user's sister was born in Rome", False),
    ],
)
def test_what_is_of_somebody_else_is_no_answer(question: str, statement: str, another: bool) -> None:
    """Neither what is theirs for who asks of themselves, nor the asker's own for who asks of them."""
    names = collect_aliases(map(read_intents, [statement, "The user's son Nell is five"]))
    assert match_statement(parse_question(question), read_intents(statement), names).about_other is another


@pytest.mark.parametrize(
    ("question", "about_the_user"),
    [
        ("What is MY job?", True), ("where do I live", True), ("I'm allergic to what?", True),
        ("the user's diet", True),
        ("Where is our cabin?", True), ("我住在哪里？", True), ("用户的工作", True), ("", False),
        ("What does Mina do?", False),
        ("which hour is it", False), ("iOS for users", False), ("他住在哪里？", False),
        ("Can you tell me when Mina paints?", False), ("I wonder what Mina paints", False),
        ("告诉我小林住在哪里", False),
        ("The user wants to know when Mina paints", False), ("I forgot where Mina lives", False),
        ("我想知道小林的工作", False),
        ("My wife is here. Where does Mina live?", False), ("We have a question: when does Mina paint?", False),
        ("Remind me what I do", True), ("I wonder where I parked", True), ("What did Mina tell me?", True),
        ("I forgot my pin", True),
        ("告诉我我的工作", True), ("Mina is here. Where do I live?", True), ("I am hungry. Any ideas?", True),
        ("I know Mina", True),
    ],
)  # fmt: skip
def test_who_asks_about_themselves(question: str, about_the_user: bool) -> None:
    """By any of the words that say so, in either language."""
    assert parse_question(question).concerns_user is about_the_user


def test_what_is_asked_is_hinted_at_by_words_that_tell_it() -> None:
    """Of either language; where an aspect has more words than are held against a memory, by those of the others
    alone."""
    pets = intents.find_dimensions(parse_question("Do I have a pet?").intents, 100)
    assert {tokens.hash_lexeme(word) for word in ("hamster", *tokens.extract_terms("养了"))} <= pets
    assert tokens.hash_lexeme("nurs") not in pets
    few, many = (
        intents.find_dimensions(frozenset({"pet"}), 100),
        intents.find_dimensions(frozenset({"pet", "job"}), 100),
    )
    assert few == many
    assert tokens.hash_lexeme("nurs") in intents.find_dimensions(frozenset({"pet", "job"}), 1_000)
    assert intents.find_dimensions(parse_question("Where is the quill?").intents, 100) == frozenset()


def test_what_is_told_in_own_words_is_held_to_that() -> None:
    """Where it is known that the user says it: the user's own is, and what is their sister's is not."""
    asks = parse_question("What is my job?")
    for text, another in (("My job is to shoe horses", False), ("My sister is a nurse", True), ("我姐姐是护士", True)):
        assert match_statement(asks, read_intents(text, about_user=True), {}).about_other is another
        assert match_statement(asks, read_intents(text, about_user=True), {}).is_certain
        assert not match_statement(asks, read_intents(text), {}).is_certain


def test_what_is_said_of_somebody_is_not_of_who_says_it() -> None:
    """Unless the question is about somebody of theirs."""
    names = collect_aliases([read_intents("My daughter Nell is five")])

    def found(question: str) -> float:
        return match_statement(
            parse_question(question), read_intents("Nell rides a bike to school"), names, "bo"
        ).coverage

    assert found("Does Bo ride a bike?") == found("Does Cy ride a bike?") > 0
    assert found("Does Bo's daughter ride a bike?") > found("Does Cy's daughter ride a bike?")


def test_who_goes_to_somebody_does_not_do_what_they_do() -> None:
    """The name of a trade stands for an appointment as well."""
    assert tells("What is my job?", "The user's dentist appointment is on 3 May") == 0
    assert tells("我的工作是什么？", "用户周三要去看牙医") == 0
    assert tells("我的工作是什么？", "用户是牙医") > 0.5
    assert tells("我的预约是什么时候？", "用户周三要去看牙医") > 0.5


def test_the_user_is_no_part_of_what_is_asked() -> None:
    """Neither is what belongs to the user told by whatever is of the user."""
    assert parse_question("用户的职业").parts == parse_question("我的职业").parts


def test_dimensions_are_the_same_in_every_process() -> None:
    """A limit cuts the same intents off, whatever the order of sets."""
    code = (
        "from muniment.memory.rules.retrieval.intents import find_dimensions\n"
        "from muniment.memory.rules.retrieval.question import parse_question\n"
        "questions = ['Do I have a pet, a car and a brother?', '我的工作和宠物？',\n"
        "    'Where do I live and what do I eat?']\n"
        "asked = [parse_question(text).intents for text in questions]\n"
        "print([sorted(find_dimensions(intents, limit)) for intents in asked for limit in range(0, 200, 4)])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_a_fact_tells_by_its_predicate() -> None:
    """However it is worded."""
    assert "job" not in read_intents("The user shoes horses").intents
    assert "job" in read_intents("The user shoes horses", "works_as").intents


def test_every_line_of_the_tables_asks_and_tells() -> None:
    """A name of an aspect stands once in a language, and whom the rules know as people are there."""
    for lexicon in (load_lexicon("intents.en"), load_lexicon("intents.zh")):
        names = [name for theme in lexicon.file.tree if theme != "source" for name in lexicon.get_table(theme)]
        assert len(set(names)) == len(names)
        assert set(names) <= {name for name, _, _ in intents.list_entries()}
    assert all(asking and telling for _, asking, telling in intents.list_entries())
    assert {name for names in intents.load_tables().tells.values() for name in names} >= intents.PEOPLE


@given(st.text(max_size=60), st.text(max_size=60))
@example("Where is Mr. O'Neil?", "O'Neil")
@example("0'0", "")
def test_a_share_is_a_share(question: str, statement: str) -> None:
    """Whatever the texts are, and the same again."""
    what = parse_question(question)
    if what.parts:
        names = collect_aliases([read_intents(statement)])
        found = match_statement(what, read_intents(statement), names)
        assert 0 <= found.coverage <= 1
        assert found == match_statement(parse_question(question), read_intents(statement), names)
        assert match_statement(what, read_intents(question), {}).coverage > 0


@pytest.mark.parametrize(
    ("question", "is_list"),
    [
        ("Which cities did I visit?", True),
        ("What small animals do we keep?", True),
        ("How many pets do I have?", True),
        ("List what I may not eat", True),
        ("Tell me everything about the boat", True),
        ("Who are my neighbours?", True),
        ("我有哪些宠物？", True),
        ("我养了几只猫？", True),
        ("Which city did I visit?", False),
        ("What does she eat?", False),
        ("What makes the engine stutter?", False),
        ("How many kilos is that?", False),
        ("What is the dog's name?", False),
        ("我住在哪个城市？", False),
    ],
)
def test_a_question_for_several_things(question: str, is_list: bool) -> None:
    """By a plural behind `which`, or before its verb, and by words that ask for all."""
    assert parse_question(question).asks_list is is_list
