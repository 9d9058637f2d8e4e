"""Chinese words and pieces of patterns for the extraction rules."""

from __future__ import annotations

from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_RELATIONS = load_lexicon("relations.zh")
_NAMES = load_lexicon("names.zh")
RELATIONS: dict[str, tuple[str, str]] = {  # the word: its predicate and standard word
    word: (predicate, standard)
    for names, words in _RELATIONS.get_table("relations").items()
    for predicate, standard in [names.split()]
    for word in words
}
ONE_AT_A_TIME = load_lexicon("relations.en").get_words("one_at_a_time")
RELATION = join_alternatives(RELATIONS)
_KIN, _NOT_KIN = _RELATIONS.get_words("kin"), _RELATIONS.get_words("not_kin")
KIN = (
    join_alternatives(word for word, (name, _) in RELATIONS.items() if name in _KIN and word not in _NOT_KIN)
    + r"(?!们|节|级|堂|妈|爸)"
)
# Words for the people of somebody. Some are also words for anybody: `我老师`, but also `当老师`.
PERSON = join_alternatives([*RELATIONS, *_RELATIONS.get_words("more_roles"), *_RELATIONS.get_words("relatives")])
SURNAMES = "".join(_NAMES.get_text("surnames").split())
NAME = (
    rf"(?!{PERSON})(?:[{SURNAMES}][\u4e00-\u9fff]{{1,2}}|[小老阿大][\u4e00-\u9fff]"
    rf"|{join_alternatives(_NAMES.get_words('compound_surnames'))}[\u4e00-\u9fff]{{1,2}}"
    r"|[A-Z][A-Za-z'-]{1,20}(?:\s[A-Z][A-Za-z'-]{1,20})?)"
)
# A given name alone: two characters before a verb that are no usual word.
GIVEN_NAME = (
    rf"(?!{RELATION})(?:[小阿](?![学时心说区狗猫孩组声气吃费路店])[\u4e00-\u9fff]"
    rf"|(?!{join_alternatives(_NAMES.get_words('not_given_names'))})"
    r"[^小阿我你您他她它咱们的了是在不也很都最还就才现目前今明昨后去年月日周天对从会能要想和跟给把被让已刚常总说叫上下这那哪谁什怎一二三两几个有没人名家真每只用为，。！？\W\da-zA-Z_]{2})"
)
ANY_NAME = r"(?:[\u4e00-\u9fff·]{2,6}|[A-Za-z][A-Za-z'-]{1,20}(?:\s[A-Z][A-Za-z'-]{1,20})?)"
TRADE = rf"(?:[\u4e00-\u9fffA-Za-z]{{0,8}}{join_alternatives(load_lexicon('people.zh').get_words('trades'))})"
CONDITION = (
    r"(?:[12一二]型)?(?:糖尿病|高血压|哮喘|癫痫|痛风|胃病|胃炎|关节炎|偏头痛|抑郁症|焦虑症|贫血|失眠症?|鼻炎|湿疹"
    r"|心脏病|近视|色盲|多动症|乳糜泻|低血糖)"
)
LANGUAGE = join_alternatives(load_lexicon("languages.zh").get_words("languages"))

ADVERBS = (
    r"(?:现在|目前|平时|一直|一向|其实|真的|也|还|特别|很|非常|最|比较|已经|从小|就|都|又|正在|正|刚|终于|最近"
    r"|居然|竟然|突然|早就|超级?|蛮|挺|更|以后|之后|今年)*"
)
ME = r"^我" + ADVERBS
END = r"(?:啦|的说|哦|呀|啊|哈|呢|吧)*$"
_LIST = lazy_compile(r"、|和|以及|跟|与")
_UNCLEAR = lazy_compile(r"你|您|(?<![其吉维])他|她|它|咱|我们|这(?!么)|那(?!么)|哪|大家|某")


def replace_pronouns(words: str) -> str | None:
    """The words with `用户` for the speaker. None where another pronoun leaves open who or what is meant."""
    return None if not words or _UNCLEAR.search(words) else words.replace("我", "用户")


def split_list(words: str) -> list[str]:
    """The things of an enumeration, or the words as one thing. A thing that stays unclear is left out."""
    parts = _LIST.split(words)
    items = parts if len(parts) > 1 and all(1 < len(part) <= 6 for part in parts) else [words]
    return [item for part in items if (item := replace_pronouns(part.strip())) and len(item) <= 30]
