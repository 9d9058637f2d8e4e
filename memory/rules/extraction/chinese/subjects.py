"""Whose a Chinese clause is. A clause without a subject goes on with the last one, where that one is certain."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from muniment.memory.rules.language.chinese_words import GIVEN_NAME, KIN, NAME, PERSON, RELATION
from muniment.memory.rules.language.lazy_regex import lazy_compile

_SPEAKER = "我"
_BUDGET = "预算"
# What a predicate begins with. A word that may begin a noun is followed by what it does not go on with there.
_WHEN = (
    r"(?:一直|一向|老是|经常|常|偶尔|有时候?|从小|刚|已经|曾经|曾|早就|终于|其实|真的|本来|原来|现在|目前|最近|平[时常]"
    r"|以[前后]|之[前后]|后来|小时候|这(?:阵子|段时间|几[天年])|每(?:天|周[一二三四五六日末]?|晚|年|逢|个?月|个?周末)|一般|通常|基本上?|好像"
    r"|大概|从前|暂时|马上|今[天早晚年]|昨[天晚]|前[天年]|明[天年]|后天|去年|[上下这本]个?(?:周[一二三四五六日末]?|月|星期|礼拜|季度|学期)"
    r"|周[一二三四五六日末]|早[上晨]|上午|中午|下午|晚上|[\d一二两三四五六七八九十]{1,4}(?:年|月|号|日|点半?|分|周|天)前?)"
)
_ADVERB = (
    r"(?:也|还|又|都|就|才|只|再|正|快|很|挺|蛮|最|更|太|总|特别|非常|比较|有点|一个人|自己|完全|几乎|确实|从来"
    r"|[\d一二三四五六七八九十]{1,3}岁(?!的))"
)
_AUXILIARY = (
    r"(?:不|没|别|会(?!计|员|议)|能(?!力)|可以|要(?!求)|想(?!法)|得(?!分)|应该|必须|需要|愿意|打算|计划|准备|希望"
    r"|决定|敢|可能)"
)
_PREPOSITION = r"(?:在|从|跟|和|与|给|对(?!象|方|手|门)|为|把|被|比|用(?!户)|往|向|替|让)"
_VERB = (
    r"(?:是|有|叫(?!我)|姓|属|住|来自|喜欢|爱(?!人|情|好)|讨厌|热爱|擅长|精通|熟悉|怕|患|吃|喝|抽|戒|做|当|干|去|到|来|回|搬"
    r"|学(?![生校长姐弟妹者费期历位])|教(?![练授官师室])|读(?!者)|看(?!护)|听|写(?!手)|说|玩|养|买(?!家)|卖(?!家)|开(?!发商)|换|找"
    r"|考(?!官)|毕业|结婚|离婚|出生|退休|怀孕|失业|创业|工作(?=了|过|在)|上(?![司级面海])|加入|参加|担任|负责|经营|练|跑|打|骑|租"
    r"|辞|迷上|收(?!入)|带|拿|睡|起床|生(?!日|活|意)|得了|更?偏[好爱]|信)"
)
_PREDICATE = rf"(?:{_WHEN}*+(?:{_ADVERB}|{_AUXILIARY}|{_PREPOSITION}|{_VERB}))"
_NO_SUBJECT = lazy_compile(rf"(?!{PERSON}){_PREDICATE}")
# An attribute is said of the person whose it is, so what follows is the person's again.
_ATTRIBUTE = (
    r"(?:(?:中文|英文|真实)?(?:名字?|姓名)|网名|昵称|职业|工作|专业|老家|家乡|年龄|年纪|生日|身高|体重|血型|星座|属相|性格|爱好"
    r"|身体|胃|腰|视力|记性|酒量|英语|普通话)"
)
_SELF = lazy_compile(rf"^我(?!们)(?:的?{_WHEN}*+{_ATTRIBUTE}(?!的)|(?!{PERSON}){_PREDICATE})")
# `我教的学生` is the students.
_RELATIVE = lazy_compile(rf"^我[^的]{{0,6}}?{_VERB}(?:[了过]|在|着)?的(?!$)")
_CONJUNCTION = lazy_compile(r"^(?:但|可|而|所以|因此|因为|那|然后|不过)(?=[我他她它])")
# `我妈`, but neither `我妈的医生` nor `我妈同事` nor `我妈和我爸`.
_GOES_ON = rf"(?![的们和跟与、]|同(?!意)|家(?![里人])|(?:我|你|他|她)|{PERSON})"
_OF_MINE = lazy_compile(
    r"^(?:我(?:的|家的?)?(?="
    + RELATION
    + r"))?(?P<who>(?<=[我的家])"
    + RELATION
    + "|^"
    + KIN
    + r")(?P<name>"
    + GIVEN_NAME
    + r"(?=在|住|今年|其实|现在|目前|对|刚|[\d一二三四五六七八九十]{1,3}岁))?"
    + _GOES_ON
)
_NAMED = lazy_compile(
    r"^(?:我(?:的|家的?)?)?"
    + RELATION
    + r"(?:的?(?:名字|小名|大名|全名)?(?:叫|是)|名叫)(?P<name>"
    + NAME
    + "|"
    + GIVEN_NAME
    + ")(?:（不是.+）)?$"
)
_BY_NAME = lazy_compile(r"^(?=[小阿])(?P<name>" + GIVEN_NAME + r")(?=上周|昨|今|前|明|刚|已|其实|现在|去年|才)")
# A Chinese sentence that starts with a time and an action is about the speaker.
_OWN_NOW = lazy_compile(
    r"^(?:最近|现在|目前|这阵子|这段时间|今年|平时|从小)(?:都|一直|又|还|刚|也)*(?:和.{1,12}|跟.{1,12})?(?:住在|在学"
    r"|正在学|学(?![生校界者费期年霸习班])|在学习|开始学|在备考|在备战|在准备|在减肥|迷上|爱上|喜欢上|养了|不吃|不喝"
    r"|搬到|搬去|对.{1,8}过敏)"
)
_OWN_THEN = lazy_compile(
    r"^(?P<when>(?:今天|昨天|前天|上周[一二三四五六日末]?|上个?月|上个?周末|这周末|周[一二三四五六日])(?:早上|上午|中午"
    r"|下午|晚上)?|昨晚|今早|昨夜)(?P<rest>(?:又|刚|终于|还|也|才|和.{1,8}|跟.{1,8}){0,4}(?:去|跑|买|看|做|参加|拿到"
    r"|收到|搬|体检|学|游|爬|骑|练|写完|考|报名|办)了.+)$"
)
_TO = r"(?:加到|改成|改到|提高到|涨到|降到|调到|减到)(?=[\d一二两三四五六七八九十百千万])"
_RAISED = lazy_compile(r"^(?:就|再|干脆|直接|先)*" + _TO)
_REBUDGETED = lazy_compile(r"预算(?:要|就|得|已经)*" + _TO)
_DATED_SELF = lazy_compile(rf"[年月日天周期号末时]我(?!们|的|家|{PERSON})")
# A new referent as the object of a clause: what follows may be said of it as well as of the subject.
_COUNT = r"(?:[一两几]|[二三四五六七八九十\d]{1,4})"
_INTRODUCED = lazy_compile(
    r"(?<![是当做任为在到从去给跟和对])(?<![是当做任为在到从去给跟和对]了)"
    rf"(?:有|养|[了过]|(?<![第每年月]){_COUNT}){_COUNT}?[个只条匹辆位名本台部架家间套栋艘对双群]"
    r"(?!月|星期|礼拜|小时|人[住去在]|周末|.*(?:工作|上班|任职|打工|实习|读书|上学|担任|[做当](?!的)))"
    r"[\u4e00-\u9fff\w]{1,12}$|(?:有|养|认识)[^，]{0,12}(?:名字?)?叫[^，]{1,8}$"
)
TOGETHER = lazy_compile(r"都|[两俩]")  # said of several subjects
_PRONOUN = lazy_compile(r"^[他她它](?!们)")
_THEIRS = lazy_compile(rf"^[他她它](?:们|的|家|{PERSON})")
# A journey; a stay on it is no home.
_JOURNEY = lazy_compile(r"(?<![过失死])去(?![年世过掉])|飞(?:往|去|到|回)|前往|出差|旅[游行]|度假|出国|探亲|蜜月")
_STAY = lazy_compile(rf"^(?:{_WHEN}|{_ADVERB})*+(?:暂?住|待|呆|在|入住|定居)")
_COMMA = lazy_compile(r"\s*[，,；;]\s*")
_STOPS = " 。！!.~～"
_GREETING = 4  # characters of a clause that says nothing about anybody


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose a clause is: the words for it, empty where that is not certain."""

    phrase: str
    is_away: bool = False


def add_subject(text: str, *, previous: Subject | None) -> tuple[str, Subject | None]:
    """The clause with the subject of the clause before it if it has none, and the subject for the next clause.

    None stands for a sentence in which nobody was named yet."""
    if _BUDGET in text[:10]:
        return _REBUDGETED.sub("预算是", text), Subject(_BUDGET)
    if previous and previous.phrase == _BUDGET and _RAISED.match(text):
        return _RAISED.sub("预算是", text), previous
    text = _CONJUNCTION.sub("", text)
    if (said := _find_subject(text, previous)) is not None:
        is_mine = said.startswith(_SPEAKER) and len(said) > 1
        return f"我{text}" if is_mine and not text.startswith("我") else text, _follow(text, Subject(said))
    if re.match(r"请?叫我", text) or previous is None:
        return _infer_subject(text)
    return _lend_subject(text, previous)


def _find_subject(text: str, previous: Subject | None) -> str | None:
    """The subject that a clause names: empty for somebody or something else, None for none."""
    mine = _OF_MINE.match(text)
    if mine and (text.startswith(_SPEAKER) or previous is None or previous.phrase):
        named = _NAMED.match(text)
        return f"我{mine['who']}" + (named["name"] if named else mine["name"] or "")
    if text.startswith(_SPEAKER):
        return _SPEAKER if _SELF.match(text) and not _RELATIVE.match(text) else ""
    if _DATED_SELF.search(text[:20]):
        return _SPEAKER
    return "" if _THEIRS.match(text) or re.match(PERSON, text) else None


def _follow(text: str, subject: Subject) -> Subject:
    """The subject that the next clause may go on with."""
    if _INTRODUCED.search(text):
        return Subject("")
    return replace(subject, is_away=True) if _JOURNEY.search(text) else subject


def _lend_subject(text: str, previous: Subject) -> tuple[str, Subject]:
    if not previous.phrase or previous.phrase == _BUDGET:
        return text, previous
    if _PRONOUN.match(text):
        if previous.phrase == _SPEAKER:
            return text, Subject("")
        text = text[1:]
    elif not _NO_SUBJECT.match(text) or (previous.phrase != _SPEAKER and TOGETHER.match(text)):
        return text, Subject("")
    if previous.is_away and _STAY.match(text):
        return text, previous
    return previous.phrase + text, _follow(text, previous)


def _infer_subject(text: str) -> tuple[str, Subject | None]:
    if _OWN_NOW.match(text):
        return f"我{text}", _follow(text, Subject(_SPEAKER))
    if then := _OWN_THEN.match(text):
        return f"{then['when']}我{then['rest']}", _follow(text, Subject(_SPEAKER))
    if name := _BY_NAME.match(text):
        return text, Subject(name["name"])
    is_other = len(text) > _GREETING and not _NO_SUBJECT.match(text)
    return text, Subject("") if is_other else None


def find_last_subject(sentence: str) -> Subject | None:
    """Whose the last clause of a Chinese sentence is; None where the sentence names nobody."""
    subject: Subject | None = None
    for clause in _COMMA.split(sentence.rstrip(_STOPS)):
        subject = add_subject(clause, previous=subject)[1]
    return subject


def replace_pronoun(sentence: str, subject: Subject) -> str:
    """The sentence with the person of the sentence before it in place of a leading `他` or `她`."""
    is_person = subject.phrase.startswith(_SPEAKER) and subject.phrase != _SPEAKER
    if not is_person or _THEIRS.match(sentence):
        return sentence
    return _PRONOUN.sub(subject.phrase, sentence)


def leans_back(sentence: str, subject: Subject) -> bool:
    """Whether only the sentence before it, whose subject is given, tells whose a sentence is."""
    if subject.phrase == _SPEAKER:
        return False
    return bool(_NO_SUBJECT.match(sentence) or re.match(r"[他她它]", sentence))


def is_unsure(clause: str, previous: Subject | None) -> bool:
    """Whether a clause names no subject and follows one that is not certain."""
    if previous is None:
        return False
    text = _CONJUNCTION.sub("", clause)
    is_lent = previous.phrase and _lend_subject(text, previous)[1].phrase
    return not is_lent and _find_subject(text, previous) is None


def find_unsure_clauses(clauses: Sequence[str]) -> set[int]:
    """The places of the clauses of a sentence whose subject is not certain."""
    found: set[int] = set()
    subject: Subject | None = None
    for n, clause in enumerate(clauses):
        if is_unsure(clause, subject):
            found.add(n)
        subject = add_subject(clause, previous=subject)[1]
    return found


def complete_clauses(clauses: Sequence[str], wanted: Collection[int]) -> list[str]:
    """The wanted clauses of a sentence, each with what tells whose it is: its subject or the clauses before it."""
    found: dict[int, str] = {}
    subject: Subject | None = None
    head, last = 0, -1
    for n, clause in enumerate(clauses):
        text, following = add_subject(clause, previous=subject)
        if _find_subject(_CONJUNCTION.sub("", clause), subject):
            head = n
        if n in wanted:
            is_lent = text != clause
            is_own = subject == Subject(_SPEAKER)  # a quotation of what the speaker says of themselves is clear
            if n == head or last == n - 1 or (is_lent and last >= head) or (is_own and not is_lent):
                found[n] = clause
            elif is_lent:
                found[n] = text
            else:
                start = 0 if TOGETHER.match(clause) else head
                found |= {place: clauses[place] for place in range(start, n + 1)}
            last = n
        subject = following
    return [found[n] for n in sorted(found)]
