"""Attributes of people that a phrase names without a value: where I live, my wife's name, 我的生日."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.domain.memory import Fact
from muniment.memory.domain.turn import ForgetRequest
from muniment.memory.rules.language import chinese_words, english_words
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements import predicates

_NOUNS: dict[str, str] = {  # predicates: the nouns for what somebody has
    "lives_in": r"(?:home\s+|current\s+)?(?:city|town|residence|place\s+of\s+residence)",
    "works_at": r"employer|company|work\s?place|place\s+of\s+work",
    "works_as": r"job(?:\s+title)?|occupation|profession|trade|line\s+of\s+work",
    "birthday": r"birthday|birth\s?date|date\s+of\s+birth|day\s+of\s+birth",
    "born_in": r"birth\s?place|place\s+of\s+birth",
    "comes_from": r"home\s?town|origins?",
    "age": r"age",
    "name preferred_name": r"(?:full\s+|real\s+)?name",
    "preferred_name": r"nick\s?name|preferred\s+name",
    "pronouns": r"(?:preferred\s+)?pronouns",
    "nationality": r"nationality|citizenship",
    "marital_status": r"(?:marital|relationship)\s+status",
    "studies": r"major|degree|field\s+of\s+study|studies",
    "native_language": r"native\s+language|mother\s+tongue|first\s+language",
    "speaks": r"languages",
    "diet": r"diet",
    "allergic_to": r"allerg(?:y|ies)",
    "intolerant_to": r"(?:food\s+)?intolerances?",
    "health_condition": r"(?:health|medical)\s+conditions?|illness(?:es)?|diagnos[ie]s",
    "budget": r"budget",
}
_CLAUSES: dict[str, str] = {  # predicates: the clauses that say it of the speaker
    "lives_in": r"where\s+i(?:'m|\s+am)?\s+(?:live|living|reside|based)|(?:the|what|which)\s+(?:place|city|town"
    r"|country)\s+i(?:'m|\s+am)?\s+liv(?:e|ing)\s+in",
    "works_at": r"where\s+i(?:'m|\s+am)?\s+(?:work|working|employed)|(?:who|whom)\s+i(?:'m|\s+am)?\s+work(?:ing)?\s+for"
    r"|the\s+(?:company|firm|place)\s+i\s+work\s+(?:for|at)",
    "works_as": r"what\s+i\s+(?:do\s+for\s+(?:a\s+living|work)|work\s+as)",
    "birthday": r"when\s+i\s+was\s+born|when\s+(?:is\s+)?my\s+birthday(?:\s+is)?",
    "born_in": r"where\s+i\s+was\s+born",
    "comes_from": r"where\s+i(?:'m|\s+am)\s+from|where\s+i\s+(?:come\s+from|grew\s+up)",
    "age": r"how\s+old\s+i(?:'m|\s+am)",
    "name preferred_name": r"what\s+i(?:'m|\s+am)\s+called",
    "preferred_name": r"what\s+(?:to|you|you\s+should)\s+call\s+me|how\s+(?:to|you|you\s+should)\s+address\s+me",
    "studies": r"what\s+i(?:'m|\s+am)?\s+study(?:ing)?",
    "speaks": r"(?:the|what|which)\s+languages\s+i\s+speak",
    "allergic_to": r"what\s+i(?:'m|\s+am)\s+allergic\s+to",
    "intolerant_to": r"what\s+i(?:'m|\s+am)\s+intolerant\s+(?:to|of)",
}
_NOUNS_ZH: dict[str, str] = {
    "lives_in": "居住地|住处|住的(?:地方|城市)|所在(?:地|城市)|城市",
    "works_at": "公司|单位|工作单位|雇主|东家",
    "works_as": "工作|职业|职位|岗位",
    "birthday": "生日|出生日期",
    "born_in": "出生地",
    "comes_from": "家乡|老家|籍贯",
    "age": "年龄|岁数",
    "name preferred_name": "名字|姓名|全名",
    "preferred_name": "昵称|称呼|小名",
    "nationality": "国籍",
    "marital_status": "婚姻状况",
    "studies": "专业",
    "native_language": "母语",
    "diet": "饮食习惯",
    "allergic_to": "过敏原|过敏史?",
    "health_condition": "疾病|病情|健康状况",
    "budget": "预算",
}
_NOW_ZH = "(?:现在|目前|平时)?"
_CLAUSES_ZH: dict[str, str] = {
    "lives_in": "住(?:在)?(?:哪里|哪儿|哪|哪个城市|什么地方|何处)",
    "works_at": "在(?:哪里?|哪儿|哪家公司|什么地方|什么公司)(?:工作|上班)",
    "works_as": "(?:是)?做什么(?:工作)?的|的工作是什么",
    "birthday": "(?:是)?(?:什么时候|哪天|哪一天|几月几[号日])(?:出)?生(?:的|日)?|(?:的)?生日是(?:什么时候|哪天|哪一天"
    "|几[号日])",
    "born_in": "(?:是)?在(?:哪里?|哪儿|什么地方)出生(?:的)?|(?:出)?生在(?:哪里?|哪儿)",
    "comes_from": "(?:是)?来自(?:哪里?|哪儿|什么地方)|是(?:哪里|哪儿)人",
    "age": "(?:今年)?(?:多大|几岁|多少岁)(?:了)?",
    "name preferred_name": "(?:的名字)?(?:叫|是)什么(?:名字)?",
    "studies": "(?:的专业是|学)什么(?:专业)?(?:的)?",
    "allergic_to": "对什么(?:东西)?过敏",
}
_ONE = lazy_compile(r".*(?:allergy|intolerance|condition|illness|diagnosis)")  # nouns for one of several
_NOW = lazy_compile(r"\s+(?:right\s+)?(?:now|currently|at\s+the\s+moment|these\s+days)\b")
_IS = lazy_compile(
    r"(?:what|who|when|where)\s+(?P<whose>my\s+.+?)(?:\s+is\s+(?P<called>called|named)|(?:'s\s+name)?\s+(?:is|are))"
)
_NAME_OF = lazy_compile(r"the\s+names?\s+of\s+(?P<whose>my\s+.+)")
_NAME = lazy_compile(rf"my\s+(?P<who>children|kids|{english_words.RELATION})(?P<many>s(?='))?(?:'s?)\s+names?")
_THEIRS = lazy_compile(rf"my\s+(?P<who>{english_words.RELATION})'s\s+(?P<what>.+)")
_OWN = lazy_compile(r"my\s+(?P<what>.+)")
_CHILD = ("child", "son", "daughter")
_NAME_ZH = lazy_compile(
    rf"我(?:的|家的?)?(?P<who>{chinese_words.RELATION})(?:的(?:名字|姓名)|(?:的名字)?叫什么(?:名字)?|(?:的名字)?是谁)"
)
_THEIRS_ZH = lazy_compile(rf"我(?:的|家的?)?(?P<who>{chinese_words.RELATION})(?P<what>.+)")


def parse_english_attribute(phrase: str) -> ForgetRequest | None:
    """A request for the attribute that an English phrase names. None where it names none or says more."""
    plain = _NOW.sub("", " ".join(phrase.casefold().split()))
    for names, pattern in _CLAUSES.items():
        if re.fullmatch(pattern, plain):
            return _build_request(phrase, names)
    return _parse_possessive(phrase, _rewrite_phrase(plain))


def _rewrite_phrase(phrase: str) -> str:
    """`who my wife is`, `the name of my wife` as `my wife's name`; `what my job is` as `my job`."""
    if match := _NAME_OF.fullmatch(phrase):
        return f"{match['whose']}'s name"
    if not (match := _IS.fullmatch(phrase)):
        return phrase
    owned = match["whose"]
    is_named = match["called"] or phrase.startswith("who") or "'s name" in phrase
    return f"{owned}'s name" if is_named and re.fullmatch(rf"my\s+{english_words.RELATION}", owned) else owned


def _parse_possessive(phrase: str, plain: str) -> ForgetRequest | None:
    if match := _NAME.fullmatch(plain):
        return _request_relative(phrase, match["who"], many=bool(match["many"]) or match["who"] in ("children", "kids"))
    if match := _THEIRS.fullmatch(plain):
        names, subject_name = _find_noun(_NOUNS, match["what"]), predicates.format_relation(match["who"])
        return _build_request(phrase, names, subject=subject_name) if names else None
    if (match := _OWN.fullmatch(plain)) and (names := _find_noun(_NOUNS, match["what"])):
        return _build_request(
            phrase, names, alone=bool(_ONE.fullmatch(match["what"])), third_person=f"the user's {match['what']}"
        )
    return None


def _request_relative(phrase: str, relation: str, *, many: bool) -> ForgetRequest:
    """A request for the name of a relative or friend. Of several, only the word says which one is meant."""
    if relation in ("children", "kids"):
        return _build_request(phrase, " ".join(_CHILD), third_person=f"the user's {relation}")
    related = english_words.RELATIONS[
        relation if relation in english_words.RELATIONS else relation.rsplit(maxsplit=1)[-1]
    ]
    is_single = related in english_words.ONE_AT_A_TIME
    return _build_request(
        phrase,
        related,
        word="" if is_single else relation,
        alone=not is_single and not many,
        third_person=f"the user's {relation}'s name",
    )


def parse_chinese_attribute(phrase: str) -> ForgetRequest | None:
    """A request for the attribute that a Chinese phrase names. None where it names none or says more."""
    if match := _NAME_ZH.fullmatch(phrase):
        related, _ = chinese_words.RELATIONS[match["who"]]
        is_single = related in chinese_words.ONE_AT_A_TIME
        return _build_request(
            phrase,
            " ".join(_CHILD) if related == "child" else related,
            word="" if is_single or related == "child" else match["who"],
            alone=not is_single and related != "child",
        )
    if match := _THEIRS_ZH.fullmatch(phrase):
        names = _find_predicates_zh(match["what"])
        return _build_request(phrase, names, subject=predicates.format_relation(match["who"])) if names else None
    names = _find_predicates_zh(phrase[1:]) if phrase.startswith("我") else ""
    return _build_request(phrase, names, third_person=f"用户{phrase[1:]}") if names else None


def _find_predicates_zh(rest: str) -> str:
    """The predicates for what follows the owner, separated by spaces. Empty where there are none."""
    noun = _find_noun(_NOUNS_ZH, rest.removeprefix("的"))
    return noun or next(
        (names for names, pattern in _CLAUSES_ZH.items() if re.fullmatch(_NOW_ZH + f"(?:{pattern})", rest)), ""
    )


def _find_noun(nouns: dict[str, str], phrase: str) -> str:
    return next((names for names, pattern in nouns.items() if re.fullmatch(pattern, phrase)), "")


def _build_request(
    phrase: str,
    names: str,
    *,
    subject: str = predicates.USER,
    word: str = "",
    alone: bool = False,
    third_person: str = "",
) -> ForgetRequest:
    return ForgetRequest(
        quote=phrase,
        words=phrase,
        key_prefixes=tuple(_build_keys(names, subject)),
        qualifier=word,
        is_single=alone,
        third_person=third_person,
    )


def _build_keys(names: str, subject: str) -> Iterator[str]:
    """The prefixes of the stable keys for these predicates of a subject."""
    for predicate in names.split():
        kind = predicates.normalize_predicate("note", predicate, subject).kind
        yield Fact(kind=kind, predicate=predicate, object="", subject=subject).attribute
