"""One name for one thing: predicates, subjects and kinds as the extraction rules write them, whoever found the fact."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.language import chinese_words, english_words
from muniment.memory.rules.language.english_phrases import make_slug
from muniment.memory.rules.language.lazy_regex import lazy_compile

USER = "user"
KINDS: frozenset[FactKind] = frozenset(
    ("identity", "preference", "relationship", "goal", "constraint", "experience", "skill", "event", "note")
)
_OF: dict[FactKind, str] = {
    "identity": "name preferred_name pronouns age birthday born_in lives_in comes_from nationality works_as works_at field_of_work"
    " marital_status studies native_language",
    "constraint": "allergic_to intolerant_to diet health_condition cannot budget",
    "preference": "likes prefers response_style answer_language",
    "goal": "wants_to learns trains_for prepares_for saves_for works_toward",
    "skill": "skilled_in speaks plays",
    "experience": "worked_as worked_at worked_in lived_in visited studied used_to has_been",
    "event": "moved_to",
    "note": "to_do note",
}
_KIND = {name: kind for kind, names in _OF.items() for name in names.split()}
_SINGLE = frozenset(_OF["identity"].split()) | {"diet", "budget", "response_style", "answer_language"}
_MANY = frozenset(_KIND) - _SINGLE
# What is said of other people is part of the user's relationships, but for what happened to them.
_PERSONAL_KINDS = frozenset({"identity", "preference", "constraint", "skill", "relationship"})
_SYNONYMS = {
    "name": "full_name real_name first_name is_named named is_called 名字 姓名",
    "preferred_name": "nickname called goes_by prefers_to_be_called preferred_to_be_called addressed_as 称呼 昵称",
    "pronouns": "preferred_pronouns uses_pronouns",
    "age": "is_aged years_old has_age 年龄",
    "birthday": "date_of_birth birth_date birthdate born_on has_birthday 生日",
    "born_in": "birthplace place_of_birth was_born_in born_at 出生地",
    "lives_in": "lives resides resides_in live_in living_in located_in home_city home city current_city residence based_in"
    " lives_at home_location current_residence 住在 居住地 居住在 居住",
    "comes_from": "from hometown home_town origin is_from originates_from grew_up_in 来自 家乡 老家",
    "nationality": "citizenship citizen_of is_citizen_of 国籍",
    "works_as": "occupation job profession job_title role works_as_a has_job has_occupation position career is_a 职业 工作",
    "works_at": "employer works_for employed_by employed_at company workplace works_in_company 公司 工作单位 就职于",
    "marital_status": "relationship_status is_married civil_status 婚姻状况",
    "studies": "majors_in major studying field_of_study degree studies_at 专业",
    "native_language": "mother_tongue first_language 母语",
    "likes": "like love loves enjoys enjoy dislikes dislike hates hate is_fond_of fond_of interested_in interest fan_of"
    " favours favors is_interested_in adores has_interest hobby has_hobby 喜欢 讨厌 爱好 不喜欢",
    "prefers": "prefer preference 偏好 更喜欢",
    "response_style": "answer_style communication_style prefers_style preferred_style style response_format tone",
    "answer_language": "preferred_language language response_language 语言",
    "allergic_to": "allergy allergies has_allergy is_allergic_to has_allergy_to food_allergy 过敏 过敏原",
    "intolerant_to": "intolerance is_intolerant_to has_intolerance food_intolerance 不耐受",
    "diet": "dietary_preference dietary_restriction follows_diet has_diet is_on_diet eats 饮食",
    "health_condition": "condition medical_condition has_condition diagnosed_with suffers_from has_disease illness 疾病",
    "cannot": "can_not cannot_eat does_not_eat avoids must_not is_not_allowed_to unable_to 不能 不吃",
    "budget": "has_budget spending_limit budget_limit 预算",
    "wants_to": "goal wants want_to plans_to plan_to intends_to intends aims_to aim hopes_to wishes_to has_goal dream"
    " would_like_to aspires_to 目标 想 打算 计划",
    "learns": "learning is_learning learning_to studies_language 学习",
    "trains_for": "training_for is_training_for",
    "prepares_for": "preparing_for is_preparing_for studies_for 准备 备考",
    "saves_for": "saving_for is_saving_for saves_to",
    "skilled_in": "skill good_at is_good_at knows can expert_in proficient_in experienced_in has_skill 擅长 精通 会",
    "speaks": "speaks_language fluent_in language_spoken 会说",
    "plays": "plays_instrument plays_sport",
    "worked_as": "former_job previous_job used_to_work_as formerly_worked_as former_occupation was_a has_worked_as 做过",
    "worked_at": "former_employer worked_for used_to_work_at previous_employer has_worked_at",
    "lived_in": "used_to_live_in has_lived_in previous_residence 住过",
    "visited": "has_visited travelled_to traveled_to went_to been_to 去过",
    "studied": "has_studied studied_at 学过",
    "moved_to": "moved relocated_to relocated emigrated_to moved_in_to 搬到 搬去",
    "to_do": "todo task needs_to has_to must needs_to_do reminder 待办 需要",
    "plans": "plan planned scheduled has_planned has_appointment appointment",
    "spouse": "married_to is_married_to is_spouse_of",
    "partner": "in_a_relationship_with dating engaged_to is_dating",
    "pet": "has_pet owns_pet pet_name 养",
    "child": "has_child",
    "friend": "has_friend friend_of is_friends_with friends_with",
    "sibling": "has_sibling",
}
_CANONICAL = {said: name for name, words in _SYNONYMS.items() for said in words.split()}
_RELATIONS = {make_slug(said): name for said, name in english_words.RELATIONS.items()} | {
    said: name for said, (name, _) in chinese_words.RELATIONS.items()
}
_RELATED = frozenset(_RELATIONS.values())
ONE_AT_A_TIME = english_words.ONE_AT_A_TIME
_DISLIKES = frozenset(["dislikes", "dislike", "hates", "hate", "讨厌", "不喜欢"])
_COUNTED = lazy_compile(
    r"has_(?:kids?|child(?:ren)?|sons?|daughters?|sisters?|brothers?|siblings|cats?|dogs?|pupp(?:y|ies)|kittens?|rabbits?"
    r"|horses?|parrots?|twins|grandchildren)"
)
_EMPTY = lazy_compile(r"^(?:is|are|has|have)_(?=\w)|_(?:is|of|named|called)$|(?:_s)?_name$")
_WHOSE = lazy_compile(r"^(?:(?:the\s+)?user(?:'s)?|the\s+speaker(?:'s)?|my|speaker|i|me|self|用户的?|我的?)(?:\s+|$|(?=[\u4e00-\u9fff]))", re.IGNORECASE)  # fmt: skip
_NAMED = lazy_compile(english_words.RELATION + r"\s+(?P<name>[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*){0,2})")
# Of these one has several, and a word tells which is meant: what is said of one is not said of the other.
_AGE_WORDS = dict.fromkeys(("older", "elder", "big", "eldest", "oldest"), "older") | dict.fromkeys(
    ("younger", "little", "youngest"), "younger"
)
_SIBLINGS = frozenset({"brother", "sister", "son", "daughter", "child"})
_DISTINCT_RELATIONS = {word: word for word, related in english_words.RELATIONS.items() if related == "pet" and word != "pet"} | {
    "puppy": "dog", "kitten": "cat",
    **dict.fromkeys(("猫", "猫咪", "小猫"), "cat"), **dict.fromkeys(("狗", "狗狗", "小狗"), "dog"), "兔子": "rabbit", "鹦鹉": "parrot", "仓鼠": "hamster",
    **dict.fromkeys(("哥哥", "哥"), "older brother"), "弟弟": "younger brother", **dict.fromkeys(("姐姐", "姐"), "older sister"), "妹妹": "younger sister",
    **{said: said for said in ("大哥", "二哥", "大姐", "表哥", "表姐", "表弟", "表妹", "堂哥", "堂弟", "爷爷", "奶奶")},
    **dict.fromkeys(("外公", "姥爷"), "外公"), **dict.fromkeys(("外婆", "姥姥"), "外婆"), "舅舅": "舅舅", "叔叔": "叔叔", "姑姑": "姑姑", "阿姨": "阿姨",
    "大儿子": "older son", "小儿子": "younger son", "大女儿": "older daughter", "小女儿": "younger daughter",
}  # fmt: skip
_RELATION_PATTERNS = [(rf"\b{re.escape(said)}", related) for said, related in english_words.RELATIONS.items()] + [
    (said, related) for said, (related, _) in chinese_words.RELATIONS.items()
]
_KIND_SYNONYMS: dict[str, FactKind] = {
    "fact": "note", "task": "note", "plan": "goal", "habit": "preference", "person": "relationship", "family": "relationship",
    "profile": "identity", "health": "constraint", "allergy": "constraint", "interest": "preference", "hobby": "preference",
    "like": "preference", "ability": "skill", "work": "identity", "occupation": "identity", "pet": "relationship",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PredicateName:
    """A fact's kind and predicate as every extractor writes them, and what follows from the predicate alone."""

    kind: FactKind
    predicate: str
    single: bool | None = None  # None: the predicate does not say
    negated: bool = False


@lru_cache(maxsize=4_096)
def normalize_predicate(kind: str, predicate: str, subject: str = USER) -> PredicateName:
    """The canonical name of what is said of a subject, however it was said; an unknown kind is a note. Kept, because what is new
    is compared with everything of its kind, which goes by few names."""
    said = make_slug(predicate)
    found = _canonicalize_predicate(said)
    final = _find_kind(found) or parse_kind(kind)
    if subject != USER and final in _PERSONAL_KINDS:
        final = "relationship"
    single: bool | None = None
    if (
        found in _SINGLE
        or found in ONE_AT_A_TIME
        or found.startswith(("favourite_", "deadline_of_", "date_of_", "own_"))
        or _COUNTED.fullmatch(found)
    ):
        single = True
    elif found in _MANY or found in _RELATED or final in ("event", "note", "goal", "experience"):
        single = False
    return PredicateName(final, found, single, said in _DISLIKES)


def _find_kind(predicate: str) -> FactKind | None:
    """The kind that a canonical predicate belongs to."""
    if predicate in _RELATED or _COUNTED.fullmatch(predicate):
        return "relationship"
    if predicate.startswith("favourite_"):
        return "preference"
    return "constraint" if predicate.startswith("deadline_of_") else _KIND.get(predicate)


def parse_kind(word: str) -> FactKind:
    """The kind that a word means; `note` for none."""
    plain = word.strip().casefold()
    return next((kind for kind in KINDS if kind == plain), _KIND_SYNONYMS.get(plain, "note"))


@lru_cache(maxsize=4_096)
def normalize_subject(phrase: str, speaker: str | None = None) -> str:
    """Who it is about: `user`, a name, or `user's spouse` for a relation without a name."""
    plain = " ".join(phrase.split()).strip(" .")
    if not plain or (speaker and plain.casefold() == speaker.casefold()):
        return USER
    rest = _WHOSE.sub("", plain).strip()
    if not rest:
        return USER
    if named := _NAMED.fullmatch(rest):
        return named["name"]
    return format_relation(rest) if _find_relation(make_slug(rest)) or make_slug(rest) in _DISTINCT_RELATIONS else rest


def format_relation(phrase: str) -> str:
    """Who a relation without a name is, among several of them: an older brother is not a younger one, nor a cat a dog."""
    plain = make_slug(phrase)
    if plain in _DISTINCT_RELATIONS:
        return f"user's {_DISTINCT_RELATIONS[plain]}"
    which, _, rest = plain.rpartition("_")
    kind = _DISTINCT_RELATIONS.get(rest) or _find_relation(plain)
    known = _AGE_WORDS.get(which)
    return f"user's {known} {kind}" if known and kind in _SIBLINGS else f"user's {kind}"


def find_person_name(subject: str, persons: Sequence[str], text: str) -> str:
    """The name of `user's sister`, where one of the persons stands beside the relation: people are known by their names."""
    for word, related in _RELATION_PATTERNS:
        if subject in (f"user's {related}", format_relation(word.removeprefix("\\b"))):
            for person in persons:
                if re.search(rf"{word}[,，]?\s*{re.escape(person)}", text, re.IGNORECASE):
                    return person
    return subject


def _canonicalize_predicate(predicate: str) -> str:
    plain = _EMPTY.sub("", predicate)
    for one in (predicate, plain):
        if one in _KIND or _COUNTED.fullmatch(one):
            return one
        if found := _CANONICAL.get(one) or _find_relation(one):
            return found
    favourite = re.match(r"(?:my_)?favou?rite_(\w+)|最喜欢的(\w+)", predicate)
    if favourite:
        return f"favourite_{favourite[1] or favourite[2]}"
    deadline = re.match(r"deadline_(?:of|for)_(\w+)|(\w+?)_?(?:deadline|截止日期|截止时间)$", predicate)
    return f"deadline_of_{deadline[1] or deadline[2]}" if deadline else predicate


def _find_relation(predicate: str) -> str | None:
    """`older_sister` is a sister; `sister` need not be older."""
    for start in (predicate, predicate.removeprefix("has_"), predicate.partition("_")[2], predicate.rpartition("_")[2]):
        if start in _RELATIONS:
            return _RELATIONS[start]
        if start in _RELATED:
            return start
    return None
