"""The English rules for identity, work, diet, health and what the person cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.draft import (
    ADV,
    AM,
    ENDED,
    WAS,
    Draft,
    Rule,
    make_draft,
    make_rule,
    strip_article,
)
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import (
    NAME,
    is_name,
    parse_list,
    parse_object,
    parse_place,
    trim_clause,
    trim_phrase,
)
from muniment.memory.rules.language.english_words import (
    CONDITIONS,
    DIETS,
    FIELDS,
    IN_JEST,
    LANGUAGES,
    MEDICINE,
    NATIONALITIES,
    TRADES,
    conjugate_verb,
    replace_pronouns,
)
from muniment.memory.rules.language.lazy_regex import lazy_compile


def _name(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    name = match["name"].strip(" .!")
    if is_name(name, clause):
        name = name if not clause.is_lowercase else name.title()
        yield make_draft("identity", "name", name, f"The user's name is {name}", single=True, persons=(name,))


def _called(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    name = match["name"].strip(" .!")
    if is_name(name, clause):
        name = name if not clause.is_lowercase else name.title()
        yield make_draft("identity", "preferred_name", name, f"Preferred name is {name}", single=True, persons=(name,))


def _pronouns(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = re.sub(r"\s*/\s*", "/", match["value"].casefold())
    yield make_draft("identity", "pronouns", said, f"The user's pronouns are {said}", single=True)


def _age(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    if 3 <= int(match["value"]) <= 120:
        yield make_draft("identity", "age", match["value"], f"The user is {match['value']} years old", single=True)


def _birthday(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = match["value"].strip(" .")
    if mentions.find_mentions(f"on {said}", clause.at) and not mentions.has_relative_date(f"on {said}", clause.at):
        yield make_draft(
            "identity", "birthday", said, f"The user's birthday is {said}", single=True, importance=3, timeless=True
        )


def _born(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = parse_place(match["place"], clause)
    if where:
        yield make_draft("identity", "born_in", where, f"The user was born in {where}", single=True, location=where)


def _lives(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where, ended = parse_place(ENDED.sub("", match["place"]), clause), bool(match["neg"])
    if where:
        text = f"The user no longer lives in {where}" if ended else f"The user lives in {where}"
        yield make_draft("identity", "lives_in", where, text, single=True, negated=ended, importance=3, location=where)


def _from(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = parse_place(match["place"], clause)
    if where:
        yield make_draft("identity", "comes_from", where, f"The user comes from {where}", single=True, location=where)


def _nationality(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = match["value"]
    if said.casefold() in NATIONALITIES:
        yield make_draft("identity", "nationality", said.title(), f"The user is {said.title()}", single=True)


# Descriptions of a person that are no trade.
_OF_SORTS = lazy_compile(
    r"(?:bit|lot|kind|sort|terrible|bad|awful|horrible|lousy|poor|good|great|decent|big|huge|slow|fast|nervous|careful"
    r"|natural|born|would-be|wannabe|aspiring|amateur|hobby|home|keen|avid|mean|better|worse|little|proud)\b",
    re.IGNORECASE,
)
_NO_LONGER = lazy_compile(r"(?:former|retired|ex-?)\s*(?=\w)", re.IGNORECASE)


def _former(said: str, trade: str) -> Iterator[Draft]:
    if trade.rpartition(" ")[2].casefold() in TRADES and replace_pronouns(said) == said:
        article = "an" if said[0].casefold() in "aeiou" else "a"
        yield make_draft("experience", "worked_as", trade, f"The user is {article} {said}")


def _trade(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    words = trim_clause(match["value"]).split(" for ")[0]
    split = re.split(r"\s+(?:at|in|from|with|based|living|working|specialising|specializing)\b\s*", words)
    trade = strip_article(split[0]).strip()
    if _OF_SORTS.match(trade):
        return
    if past := _NO_LONGER.match(trade):
        yield from _former(trade, trade[past.end() :])
        return
    if (
        not trade
        or len(trade.split()) > 4
        or trade.split()[-1].casefold().removesuffix("s") not in TRADES
        or replace_pronouns(trade) is None
    ):
        return
    ended = bool(match["neg"])
    article = "an" if trade[0].casefold() in "aeiou" else "a"
    text = f"The user {'no longer works' if ended else 'works'} as {article} {trade}"
    yield make_draft("identity", "works_as", trade, text, single=True, negated=ended, importance=3)
    at = re.search(r"\bat\s+(.+)$", words)
    if at and (firm := parse_place(at[1].partition(",")[0], clause)):
        yield make_draft(
            "identity", "works_at", firm, f"The user works at {firm}", single=True, entities=(firm,), importance=3
        )


_FIRM = (
    r"(?:firm|company|studio|agency|start-?up|practice|consultancy|bank|hospital|school|university|charity|shop"
    r"|restaurant|lab|newspaper|organi[sz]ation)"
)
_SOME_FIRM = lazy_compile(r"^(?:an?|the)\s+(?:[\w-]+\s+){0,3}?" + _FIRM + r"\s+(?:called|named)\s+", re.IGNORECASE)


def _employer(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = _SOME_FIRM.sub("", trim_clause(match["value"]))
    said, _, role = re.sub(r"\s+in\s+(?=[A-Z]).*", "", value).partition(" as ")
    firm, ended = parse_place(ENDED.sub("", said), clause), bool(match["neg"])
    if firm:
        text = f"The user {'no longer works' if ended else 'works'} at {firm}"
        yield make_draft("identity", "works_at", firm, text, single=True, negated=ended, importance=3, entities=(firm,))
    if role and strip_article(role).split()[-1].casefold() in TRADES:
        yield make_draft(
            "identity", "works_as", strip_article(role), f"The user works as {role}", single=True, importance=3
        )


_INDUSTRY = lazy_compile(r"(?:the\s+)?(?P<what>.+?)(?:\s+(?:industry|sector|business))?")


def _field(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said, against = trim_phrase(match["value"]), bool(match["neg"])
    what, *firm = re.split(r"\s+(?:at|for|in)\s+", ENDED.sub("", said), maxsplit=1)
    field = _INDUSTRY.fullmatch(what)
    if not field or not all(_one_field(part) for part in re.split(r"\s+(?:and|&)\s+", field["what"])):
        return
    work = "no longer works" if _over(match["neg"], said) else "does not work" if against else "works"
    yield make_draft(
        "identity",
        "field_of_work",
        field["what"],
        f"The user {work} in {what}",
        single=True,
        negated=against,
        importance=3,
    )
    if firm and not against and f" at {firm[0]}" in said and (at := parse_place(firm[0], clause)):
        yield make_draft(
            "identity", "works_at", at, f"The user works at {at}", single=True, entities=(at,), importance=3
        )


def _one_field(said: str) -> bool:
    return said in ("IT", "HR", "PR", "QA", "AI") or said.casefold() in FIELDS


def _status(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield make_draft(
        "identity", "marital_status", match["value"].casefold(), f"The user is {match['value'].casefold()}", single=True
    )


def _studies(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(match["value"], clause)
    if value and not value.casefold().startswith("for "):
        yield make_draft("identity", "studies", strip_article(value), f"The user studies {value}", single=True)


def _native(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = match["value"].title()
    if said.casefold() in LANGUAGES:
        yield make_draft("identity", "native_language", said, f"The user's native language is {said}", single=True)


def _over(neg: str | None, said: str) -> bool:
    """Whether a denial says that something has ended: `no longer allergic`, not `not allergic`."""
    return bool(neg) and (" ".join(str(neg).casefold().split()) == "no longer" or bool(ENDED.search(said)))


# `and carry a card` goes on with a verb, `and all the nuts` with another allergen.
_NEXT_VERB = lazy_compile(
    r",?\s+(?:and|so|but)\s+(?!(?:all|both|most|many|even|also|only|to|in|of|with|not|or)\b)[a-z]+(?<!ing)\s+(?:an?|the|my|it)\b",
    re.IGNORECASE,
)


def _allergy(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against, said = bool(match["neg"]), trim_phrase(_NEXT_VERB.split(match["value"], maxsplit=1)[0])
    over = _over(match["neg"], said)
    for value in parse_list(ENDED.sub("", said), clause):
        if IN_JEST.match(value):
            continue
        be = "is no longer" if over else "is not" if against else "is"
        yield make_draft(
            "constraint",
            "allergic_to",
            strip_article(value),
            f"The user {be} allergic to {value}",
            negated=against,
            importance=4,
        )


def _intolerant(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, against = match["value"].casefold(), bool(match["neg"])
    be = "is not" if against else "is"
    yield make_draft(
        "constraint", "intolerant_to", value, f"The user {be} {value} intolerant", negated=against, importance=4
    )


def _diet(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, neg = match["value"].casefold(), re.sub(r"\s+", " ", match["neg"] or "").casefold().strip()
    against = bool(neg) or bool(match["ended"])
    be = "is" if not against else "is no longer" if neg == "no longer" or match["ended"] else "is not"
    said = f"on a {value} diet" if match["on"] else value
    yield make_draft("constraint", "diet", value, f"The user {be} {said}", single=True, negated=against, importance=4)


_EACH = lazy_compile(r",\s*(?:and\s+)?|\s+and\s+")


def _condition(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    has = match["has"].casefold().startswith("i have")
    for value in _EACH.split(re.sub(r"\s+", " ", match["value"])):
        text = f"The user {'has' if has else 'is'} {value}"
        yield make_draft("constraint", "health_condition", strip_article(value), text, importance=4)


def _cannot(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(f"{match['verb']} {ENDED.sub('', trim_phrase(match['value'] or ''))}", clause)
    if not value or re.search(r"\b(?:another|one\s+more|enough|much|straight)\b", value):
        return
    neg = re.sub(r"\s+", " ", match["neg"].casefold())
    how = {"don't": "does not", "do not": "does not", "dont": "does not", "never": "never"}.get(neg, "cannot")
    text = f"The user {how} {conjugate_verb(match['verb']) + value[len(match['verb']) :] if how == 'never' else value}"
    food = match["verb"].casefold() in ("eat", "drink", "have", "tolerate", "consume", "digest")
    yield make_draft("constraint", "cannot", value, text, importance=4 if food else 3)


def _again(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """What the person eats or can do again."""
    value, verb, how = (
        parse_object(match["value"] or "", clause) or "",
        match["verb"].casefold(),
        match["how"].casefold(),
    )
    if bool(value) != bool(match["value"]):
        return
    what = f"{verb} {value}".strip()
    text = (
        f"The user {'now can' if how == 'now' else 'can'} {what}"
        if match["can"]
        else f"The user {conjugate_verb(verb)} {value}".strip()
    )
    yield make_draft(
        "constraint", "cannot", what, f"{text} again" if how == "again" else text, negated=True, importance=3
    )


def _medicine(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    for value in _EACH.split(match["value"].casefold()):
        text = f"The user {'takes' if match['take'] else 'is on'} {value}"
        yield make_draft("constraint", "takes", value, text, importance=4)


_DIET = "|".join(map(re.escape, DIETS))
RULES: tuple[Rule, ...] = (
    make_rule(r"(?:you\s+(?:can|may|could|should)\s+|(?:everyone|everybody|people|(?:my|the)\s+(?:friends|family"
          r"|colleagues|team|kids))(?:\s+(?:at|in)\s+[\w' ]{2,24}?)?\s+(?:just\s+|always\s+|usually\s+|all\s+)?"
          r"|(?:please\s+)?(?:just\s+)?)?calls?\s+me\s+(?P<name>" + NAME + r")$", _called),
    make_rule(r"(?:i\s+(?:go\s+by|prefer\s+to\s+be\s+called|like\s+to\s+be\s+called|want\s+to\s+be\s+called)"
          r"|i'd\s+(?:prefer|like)\s+to\s+be\s+called|my\s+(?:preferred\s+name|nickname)\s+is)\s+(?P<name>" + NAME
          + r")$", _called),
    make_rule(r"(?:my\s+(?:full\s+|first\s+|real\s+)?name(?:\s+is|'s)|i\s+am\s+called|i'm\s+called|i'm\s+named)\s+"
          r"(?P<name>" + NAME + r")$", _name),
    make_rule(r"(?:i'?m|i\s+am)\s+(?P<name>" + NAME + r")(?:\s+(?:from|here|speaking)\b.*)?$", _name),
    make_rule(r"this\s+is\s+(?P<name>" + NAME + r")\s+(?:here|speaking)$", _name),
    make_rule(r"(?:my\s+pronouns\s+are|i\s+(?:use|go\s+by)|my\s+pronouns:)\s+(?P<value>(?:she|he|they|xe"
          r"|ze)\s*/\s*\w+(?:\s*/\s*\w+)?)(?:\s+pronouns)?$", _pronouns),
    make_rule(AM + r"(?P<value>\d{1,3})(?:\s+(?:years?|yrs?)\s*-?\s*old|\s+now)?$", _age),
    make_rule(r"i\s+(?:just\s+|recently\s+)?turned\s+(?P<value>\d{1,3})\b(?!\s+(?:in|down))", _age),
    make_rule(r"my\s+birthday(?:\s+is|'s)\s+(?:on\s+)?(?:the\s+)?(?P<value>.{3,30})$", _birthday),
    make_rule(r"i\s+was\s+born\s+on\s+(?:the\s+)?(?P<value>.{3,30})$", _birthday),
    make_rule(r"i\s+was\s+born\s+(?:and\s+raised\s+)?in\s+(?P<place>\D{2,40})$", _born),
    make_rule(r"(?:i\s+" + ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?" + ADV + r"live|"
          + r"(?:i'?m|i\s+am)\s+" + ADV + r"(?:living|based))\s+in\s+(?P<place>.{2,60})$", _lives),
    make_rule(r"i(?:'m|\s+am|\s+come)\s+" + ADV + r"(?:originally\s+)?from\s+(?P<place>.{2,40})$", _from),
    make_rule(AM + r"(?:an?\s+)?(?P<value>[a-z]+)(?:\s+by\s+birth|\s+citizen)?$", _nationality),
    make_rule(r"(?:" + AM + r"(?P<neg>no\s+longer\s+)?|i\s+" + ADV + r"work\s+" + ADV + r"as\s+)an?\s+(?P<value>.{3,80}"
          r")$", _trade),
    make_rule(r"(?:my\s+job\s+is|i\s+got\s+a\s+job\s+as)(?P<neg>)\s+(?:being\s+)?an?\s+(?P<value>.{3,80})$", _trade),
    make_rule(r"(?:i\s+" + ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?" + ADV + r"work|(?:i'm|i\s+am)\s+"
          + ADV
          + r"(?:working|employed))\s+(?:at|for)\s+(?P<value>.{2,60})$", _employer),
    make_rule(r"(?:(?:my|our)\s+" + _FIRM + r"\s+is\s+(?:just\s+)?|the\s+" + _FIRM + r"\s+is\s+(?:now\s+|(?=.*\s+now$))"
          r")(?P<neg>)called\s+(?:just\s+|simply\s+)?(?P<value>[A-Z0-9].{1,50}?)(?:\s+now)?$", _employer),
    make_rule(r"(?:i\s+" + ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?" + ADV + r"work|(?:i'm|i\s+am)\s+"
          + ADV
          + r"working)\s+in\s+(?P<value>.{2,60})$", _field),
    make_rule(AM + r"(?P<value>married|divorced|widowed|engaged|single)(?:\s+now)?$", _status),
    make_rule(r"(?:i'm|i\s+am|i)\s+" + ADV + r"(?:studying|study|majoring\s+in)\s+(?P<value>.{3,60})$", _studies),
    make_rule(r"my\s+(?:native\s+language|mother\s+tongue|first\s+language)\s+is\s+(?P<value>\w+)$", _native),
    make_rule(AM + r"(?P<neg>not\s+|no\s+longer\s+)?" + ADV + r"(?:severely\s+|deathly\s+|highly\s+|very\s+)?allergic\s"
          r"+to\s+(?P<value>.+)$", _allergy),
    make_rule(AM + r"(?P<neg>not\s+|no\s+longer\s+)?(?P<value>lactose|gluten|fructose|histamine)[ -]intolerant$",
          _intolerant),
    make_rule(WAS + r"(?P<neg>not\s+|no\s+longer\s+)?(?:an?\s+)?(?:strict\s+|strictly\s+|lifelong\s+)?(?P<on>on\s+"
          r"an?\s+)?(?P<value>" + _DIET + r")(?:\s+diet)?(?P<ended>\s+any\s?more)?(?:\s+(?:since|for)\s+.*)?$", _diet),
    make_rule(r"(?P<has>i\s+have|" + AM + r")\s*" + ADV + r"(?:an?\s+)?(?P<value>" + CONDITIONS + "(?:(?:"
          + _EACH.pattern
          + r")(?:an?\s+)?" + CONDITIONS + r"){0,3})$", _condition),
    make_rule(r"i\s+" + ADV + r"(?P<neg>can't|cannot|can\s+not|cant|must\s+not|mustn't|am\s+not\s+allowed\s+to|don't"
          r"|do\s+not|dont|never)\s+" + ADV
          + r"(?P<verb>eat|drink|tolerate|consume|digest|drive|fly|swim|work|attend|travel|smoke)(?P<value>\s+.+)?$",
          _cannot),
    make_rule(r"i\s+" + ADV + r"(?P<neg>can't|cannot|can\s+not)\s+(?P<verb>do|make)(?P<value>\s+(?:(?:mon|tues|wednes"
          r"|thurs|fri|satur|sun)days|(?:\w+day\s+)?(?:mornings|afternoons|evenings|nights)|weekends|weekdays))$",
          _cannot),
    make_rule(r"i\s+" + ADV + r"(?P<can>can\s+|am\s+allowed\s+to\s+)?" + ADV + r"(?P<verb>eat|drink|drive|smoke|fly)"
          r"(?P<value>\s+.+?)?\s+(?P<how>again)(?:\s+now)?$", _again),
    make_rule(r"i\s+(?P<can>(?:finally\s+|already\s+)?can)\s+" + ADV + r"(?P<verb>eat|drink|drive|swim|fly|tolerate)"
          r"(?P<value>\s+.+?)?\s+(?P<how>now)$", _again),
    make_rule(r"(?:" + AM + r"(?:on|taking)|(?P<take>i\s+" + ADV + r"take))\s+(?P<value>" + MEDICINE + "(?:(?:"
          + _EACH.pattern
          + ")" + MEDICINE + r"){0,3})(?:\s+(?:daily|every\s+\w+|(?:once|twice)\s+a\s+day|(?:for|against)\s+(?:my|it"
          r"|that|the)\b.*))?$", _medicine),
    make_rule(r"i'm\s+(?P<neg>not\s+allowed\s+to)\s+(?P<verb>eat|drink|have|drive|fly|travel|work)(?P<value>\s+.+)?$",
          _cannot),
)  # fmt: skip
