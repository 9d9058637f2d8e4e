"""Two known statements by their words alone, when nobody is there to ask: whether one restates the other to the word, or
corrects it in so many words, and whether they are of two people.

What a conversation says last is most likely a correction of what it said before. Of two statements that were kept for days
and came from anywhere both are most likely meant: here a word more is a word that counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from muniment.memory.rules.chinese_words import RELATION, SURNAMES
from muniment.memory.rules.reading import Reading, stem
from muniment.memory.rules.reading_words import CJK_EMPTY, NUMBERS
from muniment.memory.rules.text import vocabulary
from muniment.memory.rules.wording import same_slot, whereabouts
from muniment.memory.rules.words import has_cjk

_USER = frozenset({"user", "i", "my", "me"})
_SOMEBODY = re.compile(
    r"(?:my|[\w. ]{1,40}['’]s) (?:\w+ )?(?P<who>\w{2,}(?:er|or|ist|ian|ant|man|woman|ess)(?:-\w+)*)\b"
)
_FAMILY = SURNAMES + "章黎伍房葛倪温俞柯祝甘童颜骆詹涂庄喻耿盛裴聂焦岳殷冉庞鲍柳樊翟欧"
_SURNAME_ZH = rf"(?:欧阳|司马|上官|诸葛|[小老](?=[{_FAMILY}])|阿|[{_FAMILY}])"
_NAME_ZH = re.compile(rf"(?!周[一二三四五六日末]|阿姨){_SURNAME_ZH}[\u4e00-\u9fff]")
_EVEN = re.compile(r"\b(?:is|are|was|were|am|and|with)\b|[是叫和跟与]")  # what is as true the other way round
_WHOSE_ZH = re.compile(rf"(?P<who>{_SURNAME_ZH}[\u4e00-\u9fff]{{1,2}}?)的")
_KIN_ZH = re.compile(
    rf"(?:的|用户)(?P<kin>[大二三四五小堂表]?(?:{RELATION}|舅|姨|姑|叔|伯|搭档|师兄|师姐|师弟|师妹|邻居|室友|同桌|房东|导师))"
)
_TITLED = re.compile(r"\b(?P<title>mr|mrs|ms|miss|aunt|uncle|grandma|grandpa)\.? (?P<name>\w+)")
_WHOSE = re.compile(r"\b(?P<who>\w+)(?:['’]s|(?<=s)['’])(?!\w)")
_NOBODY = vocabulary(
    "it that this there here what who where when how let he she everyone everybody somebody someone today"
)
_THINGS = vocabulary(
    """
    after another boiler car charger colour computer cooker dinner dishwasher door elevator floor former freezer heater letter
    mirror monitor motor number order other paper plant power printer projector restaurant router server shoulder summer
    supper toaster tower trailer water weather winter
    """
)
# What may stand behind a Chinese name and is hardly ever the end of one.
_BEHIND = CJK_EMPTY | frozenset(
    "想常现再又只从最总仍，、。；：！？“”（） 已才先正刚将更太真特可应该必须需让使同即每这那他她自两几昨今上下早晚第有养住喜爱去说问做吃喝买卖教写看听打"
    "玩用要叫姓搬换给讨对辞离出结怀病考毕工当负参订预租付收送寄拿带穿戴骑跑走坐睡起回到等找请帮借还丢修拆装种浇画唱跳弹拍拉推搞弄读念报选投赢"
    "输忘记时周知认觉希决准计怕恨信害担感受妈爸姐哥弟妹儿女老朋家"
)
_LIGHT = vocabulary(
    """
    a an the is are was were be been being has have had do does did of to in on at by for from with it its that this there
    and as so now currently still 的 了 是 在 有 着 过
    """
)
_DENYING = vocabulary("not no never doesn't don't didn't isn't aren't wasn't cannot can't won't 不 没 未 别 无")


def of_two_people(a: Reading, b: Reading) -> bool:
    """Whether one statement is about the user and the other is not, or about somebody of the user's that the other does not
    name, or each is of what belongs to another or to other kin, or one begins with a Chinese name that the other does not have: what a friend
    does or has neither the user does nor another friend. Names of the alphabetic scripts are known by their capitals."""
    whose, others = _possessors(a), _possessors(b)
    if (whose and others and not whose & others) or _kin(a) != _kin(b) or _otherwise_titled(a, b):
        return True
    if _of_user(a) != _of_user(b) or _owned(a) - set(b.said) or _owned(b) - set(a.said):
        return True
    leads = [(name, other.text) for name, other in ((_lead_zh(a), b), (_lead_zh(b), a)) if name]
    if leads and (len(leads) > 1 or not _of_user(a)) and not any(name in text for name, text in leads):
        return True
    return any(_goes_on(name, a.text, b.text) for name, _ in leads)


def _possessors(one: Reading) -> set[str]:
    return {found["who"] for known in (_WHOSE, _WHOSE_ZH) for found in known.finditer(one.text)} - _NOBODY


def _kin(one: Reading) -> set[str]:
    return {found["kin"] for found in _KIN_ZH.finditer(one.text)}


def _otherwise_titled(a: Reading, b: Reading) -> bool:
    """Mr Hale is not Mrs Hale."""
    mine, theirs = ({found["name"]: found["title"] for found in _TITLED.finditer(one.text)} for one in (a, b))
    return any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys())


def same_words(a: Reading, b: Reading) -> bool:
    """Whether each says every word of the other, in whatever order, but for those that say nothing."""
    return a.figures == b.figures and Counter(_heavy(a)) == Counter(_heavy(b))


def corrected(new: Reading, old: Reading) -> bool:
    """Whether the newer one gives another value to the same thing, says that it has changed, or denies the older one."""
    if same_slot(new, old) and not whereabouts(new):
        return True
    mine, theirs = set(_heavy(new)), set(_heavy(old))
    if new.denies(old) != old.denies(new):
        return mine - _DENYING == theirs - _DENYING
    # What it was before is its numbers where it has any, else one word; all else has to be said again. Of Chinese each
    # character is a word here.
    gone = old.words - new.words
    return new.corrects and len(gone) <= (0 if new.figures or has_cjk(old.text) else 1)


def unrelated(a: Reading, b: Reading) -> bool:
    """Whether the two have no word in common but names, numbers and light ones: neither can be what has become of the other."""
    names = a.names | b.names | frozenset(filter(None, (a.lead, b.lead))) | _USER
    mine, theirs = ({one for one in _heavy(each) if one not in names} for each in (a, b))
    return not mine & theirs


def _owned(one: Reading) -> frozenset[str]:
    """What the user's somebody is called whom a text begins with: a word for a person, as far as its ending tells."""
    found = _SOMEBODY.match(one.text)
    return frozenset({found["who"]}) if found and found["who"] not in _THINGS else frozenset()


def _lead_zh(one: Reading) -> str:
    """The surname and the character after it that a text begins with; now and then it is a word like 高铁."""
    found = _NAME_ZH.match(one.text)
    return found.group() if found else ""


def other_names(a: Reading, b: Reading) -> bool:
    """Whether each has a Chinese name that the other does not have, or one has a longer one, wherever they stand. Now and then
    it is a word like 高铁: then two statements with one each stay two."""
    mine, theirs = (set(_NAME_ZH.findall(one.text)) for one in (a, b))
    if any(name not in b.text for name in mine) and any(name not in a.text for name in theirs):
        return True
    return any(_goes_on(name, a.text, b.text) for name in mine | theirs)


def exchanged(a: Reading, b: Reading) -> bool:
    """Whether the user and somebody else are in each other's place: `Ana lent the user a saw`, `The user lent Ana a saw`."""
    if a.words != b.words or _EVEN.search(a.text) or _EVEN.search(b.text):
        return False
    names = (a.names | b.names) - _USER
    mine, theirs = _user_first(a, names), _user_first(b, names)
    return mine is not None and theirs is not None and mine != theirs


def _user_first(one: Reading, names: frozenset[str]) -> bool | None:
    """Whether the user is named before anybody else; None where not both are."""
    user = max(one.text.find("user"), one.text.find("用户"))
    others = [one.text.find(name) for name in names if name in one.text] + [
        found.start() for found in _NAME_ZH.finditer(one.text)
    ]
    return user < min(others) if user >= 0 and others else None


def _goes_on(name: str, one: str, other: str) -> bool:
    """Whether the name is a part of a longer one in one of the two: of 黄海养猫 and 黄海燕有猫 each is of another person. What goes
    on alike, and what is hardly ever in a name, is none of it."""
    if name not in one or name not in other:
        return False
    x, y = one.partition(name)[2][:1], other.partition(name)[2][:1]
    return x != y and any(after >= "\u4e00" and after not in _BEHIND for after in (x, y))


def _of_user(one: Reading) -> bool:
    return bool(_USER & set(one.said)) or "用户" in one.text


def _heavy(one: Reading) -> Iterator[str]:
    """Every word but the light ones and the numbers, the same for all spellings and words of one meaning."""
    for said in one.said:
        if said not in _LIGHT and said not in NUMBERS and not said.isdecimal() and said not in one.figures:
            yield stem(said)
