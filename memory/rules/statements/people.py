"""Whether two statements are about different people, by names, kin, titles, owners and places in the sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set as AbstractSet
from typing import Literal

from muniment.memory.rules.language.chinese_words import RELATIONS, SURNAMES
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.language.tokens import has_cjk
from muniment.memory.rules.statements.parse import ParsedStatement, canonicalize_word
from muniment.memory.rules.statements.parse_words import CJK_FUNCTION_WORDS, FIGURES, ROLES, ROLES_ZH

PartKind = Literal["name", "kin", "word", "own"]
_PEOPLE = load_lexicon("people.en")
_VERBS = load_lexicon("verbs.en")
_NAMES_ZH = load_lexicon("names.zh")
_RELATIONS_ZH = load_lexicon("relations.zh")
USER = frozenset({"user", "i", "my", "me"})
_PERSON = (  # words for people by their endings, and others
    r"(?:\w{2,}(?:er|or|ist|ian|ant|man|woman|ess|mate|child)|trainee|employee|chef|clerk|cook|fianc[eé]e?|flame"
    r"|guests?|guide|heir|host|intern|judge|notary|secretary|landlady|lodgers?|maid|mechanic|nurse"
    r"|priest|pupils?|toddler|triplets|twins?|vet|ward|widow|stepson|stepdaughter|surgeon|analyst|chauffeur|lead"
    r"|deputy|understudy|pal|buddy|ex)"
)
_SOMEBODY = lazy_compile(
    rf"(?:\bmy|['’]s) (?P<what>(?:[\w-]+ ){{0,2}}?)(?P<who>(?!(?:former|other)\b)(?:\w+-)*(?:{_PERSON})(?:-\w+)*"
    rf"|(?:great|half|step|foster|ex)-\w+|\w+-in-law)\b"
)
_ANOTHER = _PEOPLE.get_words("replacements")
_OTHER_ONE = lazy_compile(rf"['’]s (?P<which>{join_alternatives(_ANOTHER)}) (?P<what>[\w-]+)")
_ONE = lazy_compile(r"['’]s (?P<what>[\w-]+)")
_BETWEEN = lazy_compile(r"['’]s (?P<who>[\w-]+)['’]s ")  # a person between owner and thing: the user's student's desk
_AUXILIARY = _VERBS.get_words("auxiliaries")
_OWNED_BY = lazy_compile(r"\b(?P<who>[\w-]+)['’]s(?=(?P<theirs>(?: [\w-]+){1,5}))")
_ACTION = lazy_compile(
    rf"(?<!['’])\b(?P<who>[\w-]+) (?=(?P<helps>{join_alternatives(_AUXILIARY)}\b)?(?: ?(?P<deed>[\w-]+))?)"
)
_NOT_ACTIONS = _VERBS.get_words("not_actions")
_IS_WHOSE = lazy_compile(r"\b(?:is|was|are|were|as) (?:the )?[\w.-]+(?: [\w.-]+)?$")
_FAMILY = "".join((SURNAMES + _NAMES_ZH.get_text("rare_surnames")).split())
_COMPOUND = _NAMES_ZH.get_words("compound_surnames") | _NAMES_ZH.get_words("rare_compound_surnames")
_SURNAME_ZH = rf"(?:{join_alternatives(_COMPOUND)}|[小老](?=[{_FAMILY}])|阿|[{_FAMILY}])"
_ADDRESSED = join_alternatives(_RELATIONS_ZH.get_words("titles"))
_NO_NAME = (
    "周[一二三四五六日末]|阿姨|凌晨|霍乱|季[节度军]|古[代典老]|楚楚|舒[服适]|池[塘子]|仇[恨人]|麦[子当]"
    "|纪[念律录]|向[上下左右前后东西南北来往导着他她我你公用]|苗[圃条]"
    "|游[泳戏玩览客行艇轮]|关[于系注门闭心掉]|景[色点区]|申[请报]|连[续接锁忙]|路[上边口过线由]|桂[花林圆]"
    "|米[饭粉饼线酒]|单[位独身人元车]|房[产租子间东客屋价贷型源门]"
    "|伊[朗斯]|燕[麦子窝]|浦东|付[款钱费账出了清过给不]|辛[苦辣]|尤其|毕[业竟]|廉价|费[用劲力心时]"
    "|汤[圆碗里水匙药勺]|安[装排全静心慰检抚稳顿徽]|卫[生衣星浴视]|华[为人语东北南]|云[南端盘朵]"
    "|梅[雨花子酒]|项[目链]|席[位地]|尚[未且]|沙[发拉漠滩子尘]|商[店量场业务品城家]|盖[子被章了上好住房楼]"
    "|代[替码表理购课班办]|凤[凰梨]|艾[滋灸草]|齐[全平]|荆[州棘]|屠[宰杀]|暨南|揭[晓开示]|莘莘"
)
_NO_SURNAME = "大二三四五小堂表亲老的是和跟在学语文班庭新女男个位名任牙用"
_NAME_ZH = lazy_compile(
    rf"(?!{_NO_NAME})(?:(?![{_NO_SURNAME}])[\u4e00-\u9fff]{_ADDRESSED}|[\u4e00-\u9fff]{{2,3}}(?=さん)"
    rf"|{_SURNAME_ZH}[\u4e00-\u9fff])"
)
LOCATED_PERSON_ZH = lazy_compile(
    rf"{_SURNAME_ZH}[\u4e00-\u9fff]{{1,2}}在"
)  # a text that begins with a person at a place
POSSESSIVE_ZH = lazy_compile(rf".*的$|(?:用户|{_SURNAME_ZH}[\u4e00-\u9fff]{{1,2}}).*的")  # a possession
_SYMMETRIC = lazy_compile(r"\b(?:and|with)\b|[和跟与]")  # what holds in either order
_WHOSE_ZH = lazy_compile(rf"(?P<who>{_SURNAME_ZH}[\u4e00-\u9fff]{{1,2}}?)的")
_BEFORE_DATE_ZH = lazy_compile(r"(?P<who>[\u4e00-\u9fff]{2,4}?)(?:改?[在于到]|定于|[将就要])?\d{4}年")
_LONGEST_ZH = 6  # characters of a word for a person or thing, at most
_BETWEEN_ZH = lazy_compile(r"用户的(?P<who>[\u4e00-\u9fff]{1,3}[^色型式新旧大小老好坏贵款版号级用名的])的")
_ACTION_ZH = lazy_compile(rf"(?P<who>用户|{_SURNAME_ZH}[\u4e00-\u9fff]{{1,2}}?)(?!的)(?P<does>[^，。、]{{2}})")
_RELATIVES = _RELATIONS_ZH.get_words("relatives") | RELATIONS.keys() | ROLES_ZH.keys()
_OFFICE = (  # people by office or trade, as far as the last character tells
    "[组班队店部处科校院园村会站市县局厂船机排连董事理社馆所]长|(?!成人|个人|私人|机器人|动员|满员"
    "|全员)(?:(?!的)[\u4e00-\u9fff]){1,2}[员师友人]|[\u4e00-\u9fff]{1,2}伴"
    "|上司|下属|领导|主管|总监|秘书|助[理手]|[客租]户|实习生|研究生|医生"
)
_KIN = rf"[大二三四五小堂表]?(?:{join_alternatives(_RELATIVES)}|{_OFFICE})"
_PART = lazy_compile(
    rf"(?P<name>用户|{_NAME_ZH.pattern})|(?P<own>['’]s\b|的)|(?P<kin>{_KIN})|(?P<zh>[\u3400-\u9fff])"
    rf"|[^\W\d_\u3400-\u9fff]+"
)
_OF_THEIRS = lazy_compile(r"['’]s (?P<what>[\w-]+(?: [\w-]+){0,2})")
_NEXT = lazy_compile(r"[ -](?P<word>[^\W\d_\u3400-\u9fff]+)")
_TITLE_ZH = lazy_compile(_ADDRESSED)
_KIN_ZH = lazy_compile(rf"(?:的|用户)(?P<kin>{_KIN})")
_NEUTRAL_WORDS = _PEOPLE.get_words("titles_and_grammar")
_TITLED = lazy_compile(r"\b(?P<title>mr|mrs|ms|miss|aunt|uncle|grandma|grandpa)\.? (?P<name>\w+)")
_WHOSE = lazy_compile(r"\b(?P<who>\w+)(?:['’]s|(?<=s)['’])(?!\w)")
NOBODY = _PEOPLE.get_words("no_people")
_THINGS = _PEOPLE.get_words("things")
_AFTER_NAME_ZH = CJK_FUNCTION_WORDS | _NAMES_ZH.get_words("after_name")


def has_different_people(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether two statements are about different people.

    They are if only one is about the user, or their owners, kin or titles differ, or one begins with a Chinese name
    that the other does not have. Names of alphabetic scripts are known by their capitals."""
    owners, other_owners = _find_possessors(a), _find_possessors(b)
    if (
        (owners and other_owners and not owners & other_owners)
        or _find_kin(a) != _find_kin(b)
        or _has_other_title(a, b)
    ):
        return True
    if _is_about_user(a) != _is_about_user(b) or _has_other_partner(a, b):
        return True
    if any(_has_other_possessor(one, other) or _has_other_actor(one, other) for one, other in ((a, b), (b, a))):
        return True
    if any(_find_topic_zh(one) not in other.text for one, other in ((a, b), (b, a))):
        return True
    leads = [(name, other.text) for name, other in ((_find_lead_zh(a), b), (_find_lead_zh(b), a)) if name]
    if leads and (len(leads) > 1 or not _is_about_user(a)) and not any(name in text for name, text in leads):
        return True
    return any(_is_longer_name(name, a.text, b.text) for name, _ in leads)


def _find_possessors(statement: ParsedStatement) -> set[str]:
    return {match["who"] for pattern in (_WHOSE, _WHOSE_ZH) for match in pattern.finditer(statement.text)} - NOBODY


def _find_kin(statement: ParsedStatement) -> set[str]:
    return {match["kin"] for match in _KIN_ZH.finditer(statement.text)}


def _has_other_title(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether one name has two titles: Mr Hale is not Mrs Hale."""
    titles, other_titles = (
        {match["name"]: match["title"] for match in _TITLED.finditer(statement.text)} for statement in (a, b)
    )
    return any(titles[name] != other_titles[name] for name in titles.keys() & other_titles.keys())


def _find_possessions(statement: ParsedStatement) -> dict[str, str]:
    """The people that somebody has, by the word for them, each with the words before it.

    Left out where the statement only names one as such: `Ana is the user's tutor`."""
    matches = (
        match for match in _SOMEBODY.finditer(statement.text) if not _IS_WHOSE.search(statement.text[: match.start()])
    )
    return {match["who"]: match["what"].strip() for match in matches if match["who"] not in _THINGS}


def _has_other_partner(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether one has a person whom the other does not name, or each has another: a tennis and a dance partner."""
    people, other_people = _find_possessions(a), _find_possessions(b)
    if people.keys() - set(b.tokens) or other_people.keys() - set(a.tokens):
        return True
    words = ((people[who], other_people[who]) for who in people.keys() & other_people.keys())
    return any(x != y and ((x and y) or not _ANOTHER.isdisjoint((x, y))) for x, y in words)


def _has_other_possessor(statement: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether the first is about a former, second or other one where the second has just one, or has one more owner.

    The user's student's desk is not the user's desk."""
    if any(
        match["which"] not in other.tokens and match["what"] in _ONE.findall(other.text)
        for match in _OTHER_ONE.finditer(statement.text)
    ):
        return True
    between = {
        match["who"] for pattern in (_BETWEEN, _BETWEEN_ZH) for match in pattern.finditer(statement.text)
    } - NOBODY
    return any(who not in (other.text if has_cjk(who) else other.tokens) for who in between)


def _has_other_actor(statement: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether a relative or thing of the second's actor does it in the first: `Ana runs`, `Ana's coach runs`."""
    deeds = {(match["who"], match[part]) for match in _ACTION.finditer(other.text) for part in ("helps", "deed")}
    for owned in _OWNED_BY.finditer(statement.text):
        words = owned["theirs"].split()
        for at, deed in enumerate(words[1:], 1):
            if (
                (owned["who"], deed) in deeds
                and deed not in _NOT_ACTIONS
                and not (set(words[:at]) - _AUXILIARY) & set(other.tokens)
            ):
                return True
    for match in _ACTION_ZH.finditer(other.text):
        actor, does, _ = statement.text.partition(f"{match['who']}的")[2].partition(match["does"])
        if does and 0 < len(actor) <= _LONGEST_ZH and actor not in other.text:
            return True
    return False


def _find_topic_zh(statement: ParsedStatement) -> str:
    """The start of a Chinese text before a date: its topic. Empty where no date follows."""
    match = _BEFORE_DATE_ZH.match(statement.text)
    return match["who"] if match else ""


def _find_lead_zh(statement: ParsedStatement) -> str:
    """The surname and given name that a text begins with. Now and then it is a word such as 高铁."""
    match = _NAME_ZH.match(statement.text)
    return match.group() if match else ""


def has_other_names(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether each has a name that the other lacks, one of them Chinese, or one has a longer name, anywhere.

    Now and then such a name is a word such as 高铁. Then two statements stay apart that could be one."""
    names, other_names = (set(_NAME_ZH.findall(statement.text)) for statement in (a, b))
    if has_cjk(a.text) and has_cjk(b.text) and (_has_latin_lead(a, b) or _has_latin_lead(b, a)):
        return True
    extra, other_extra = (
        {name for name in candidates if name not in other.text} for candidates, other in ((names, b), (other_names, a))
    )
    if (extra or other_extra) and extra | (a.names - set(b.tokens)) and other_extra | (b.names - set(a.tokens)):
        return True
    return any(_is_longer_name(name, a.text, b.text) for name in names | other_names)


def has_other_lead(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether the first name of each is not in the other: `We agreed that Ana cooks`, `We agreed that Ben cooks`."""
    if a.first_word is not None and a.first_word == b.first_word:
        return False
    first, other = (
        next((token for kind, token in _split_parts(x, y) if kind == "name"), "") for x, y in ((a, b), (b, a))
    )
    return bool(first and other) and first not in b.text and other not in a.text


def has_other_order(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether the names that both have come in another order."""
    first, second = ([token for kind, token in _split_parts(x, y) if kind == "name"] for x, y in ((a, b), (b, a)))
    common = set(first) & set(second)
    return list(dict.fromkeys(x for x in first if x in common)) != list(dict.fromkeys(x for x in second if x in common))


def find_missing_names(statement: ParsedStatement, other: ParsedStatement) -> set[str]:
    """The names of the first text that the second does not have."""
    latin = {name for name in statement.names - set(other.tokens) if name.isalpha() and name not in FIGURES}
    chinese = {
        name for name in _NAME_ZH.findall(statement.text) if name[-1] not in _AFTER_NAME_ZH and name not in other.text
    }
    return latin | chinese


def _has_latin_lead(statement: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether a Chinese text begins with a Latin name that the other one does not have."""
    return statement.first_word is not None and statement.first_word not in other.tokens


def has_swapped_people(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether two people are in each other's place, by the words beside them.

    `Ana lent the user a saw` and `The user lent Ana a saw` are. A name that keeps a word beside it keeps its
    part: `The user's boss is Ana`, `Ana is the user's boss`. An action of two together has no order."""
    if a.words != b.words or a.is_passive != b.is_passive or _SYMMETRIC.search(a.text) or _SYMMETRIC.search(b.text):
        return False
    places, other_places = _find_places(a, b), _find_places(b, a)
    moved = [
        name
        for name in places
        if name in other_places and not {place for place in places[name] & other_places[name] if place[0] != "whose"}
    ]
    return any(places[x] & other_places[y] for x in moved for y in moved if x != y)


def _find_places(statement: ParsedStatement, other: ParsedStatement) -> dict[str, set[tuple[str, str]]]:
    """The people of the first text, each with the words right before and after and those for what they have.

    Names and neutral words do not count, nor does a word beside two people."""
    neighbours: dict[str, set[tuple[str, str]]] = {}
    who, whose, before, former = "", False, "", ""
    for kind, token in _split_parts(statement, other):
        if kind == "own":
            whose = bool(who)
            continue
        if who and kind != "name":
            neighbours[who].add(("whose" if whose else "before", token))
        who, whose = token if kind != "word" else "", False
        if who:
            neighbours.setdefault(who, set())
            if before:
                neighbours[who].add(("whose", former) if before == "of" else ("after", before))
        former, before = before, token if kind != "name" else ""
    counts = Counter(place for places in neighbours.values() for place in places)
    return {name: {place for place in places if counts[place] == 1} for name, places in neighbours.items()}


def _split_parts(statement: ParsedStatement, other: ParsedStatement) -> Iterator[tuple[PartKind, str]]:
    """The words of the first text in order with their kind, a name of several words in one piece."""
    # The capital of a first word is no sign of a name, unless the other text has it inside.
    leads = {
        x.first_word for x, y in ((statement, other), (other, statement)) if x.first_word and x.first_word in y.names
    }
    people = statement.names | other.names | leads | USER
    text, end = statement.text, 0
    while match := _PART.search(text, end):
        token, end = match.group(), match.end()
        kind = "name" if token in people else match.lastgroup
        if kind == "name":
            while (following := _NEXT.match(text, end)) and following["word"] in people:
                token, end = text[match.start() : following.end()], following.end()
            if (
                match["name"]
                and (longer := text[match.start() : end + 1]) in other.text
                and longer[-1] >= "\u4e00"
                and longer[-1] not in _AFTER_NAME_ZH
            ):
                token, end = longer, end + 1
            if title := _TITLE_ZH.match(text, end):
                token, end = token + title.group(), title.end()
            if possession_end := _find_possession_end(text, end, other.text, people):
                token, end = text[match.start() : possession_end], possession_end
            yield "name", token
        elif kind == "own":
            yield "own", token
        elif kind == "kin" or token in ROLES:
            yield "kin", ROLES.get(token, token)
        elif token not in (CJK_FUNCTION_WORDS if kind == "zh" else _NEUTRAL_WORDS):
            yield "word", canonicalize_word(token)


def _find_possession_end(text: str, at: int, other: str, named: AbstractSet[str]) -> int:
    """The end of a person that both texts name by an owner, or 0. `The user's boss` is not the user."""
    match = _OF_THEIRS.match(text, at)
    phrase = match["what"].split() if match else []
    owner = text[:at].rpartition(" ")[2]
    for count in range(len(phrase), 0, -1):
        person = f"{owner}{text[at : at + 2]} {' '.join(phrase[:count])}"
        if not set(phrase[:count]) & (named | _NEUTRAL_WORDS) and re.search(rf"\b{re.escape(person)}(?![\w-])", other):
            return at + len(person) - len(owner)
    return 0


def _is_longer_name(name: str, text: str, other_text: str) -> bool:
    """Whether the name is part of a longer one in one of the texts: 黄海养猫 and 黄海燕有猫 are about two people.

    A character that follows in both, or is hardly ever in a name, does not count."""
    if name not in text or name not in other_text:
        return False
    x, y = text.partition(name)[2][:1], other_text.partition(name)[2][:1]
    return x != y and any(after >= "\u4e00" and after not in _AFTER_NAME_ZH for after in (x, y))


def _is_about_user(statement: ParsedStatement) -> bool:
    return bool(USER & set(statement.tokens)) or "用户" in statement.text
