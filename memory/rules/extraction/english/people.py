"""The English rules for relatives, friends and pets of the speaker."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.draft import Draft, make_draft
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import (
    NAME,
    is_name,
    make_slug,
    parse_list,
    parse_object,
    parse_place,
    trim_phrase,
)
from muniment.memory.rules.language.english_words import (
    CONDITIONS,
    DIETS,
    IN_JEST,
    ONE_AT_A_TIME,
    RELATION,
    RELATIONS,
    TRADES,
    conjugate_verb,
    replace_pronouns,
)
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.statements import predicates

_PERSON = rf"[{tokens.UPPER}][\w'-]*(?:\s+[{tokens.UPPER}][\w'-]*){{0,2}}"
_MY = r"(?i:my|our)\s+(?P<rel>(?i:" + RELATION + r"))\b"
_NAMED = lazy_compile(
    r"^(?i:this\s+is\s+)?"
    + _MY
    + r"(?:'s\s+(?i:first\s+)?(?i:name\s+is)|\s+(?i:is\s+(?:called|named)|is|goes\s+by))\s+(?P<name>"
    + NAME
    + r")(?:,?\s+(?:and\s+)?not\s+(?P<no>[A-Z][\w'-]*))?(?:[,.]?$|,\s|\s+and\s)"
)
_IS_MY = lazy_compile(r"^(?P<name>" + _PERSON + r")\s+(?:is|was)\s+" + _MY + r"(?:[.!,]|\s+and\b|$)")
_APPOSITION = lazy_compile(r"\b" + _MY + r",?\s+(?P<name>" + _PERSON + r")(?![\w'])")
_HAVE = lazy_compile(
    r"^(?i:i\s+(?:also\s+)?have|i've\s+got|i\s+own)\s+(?i:an?|one)\s+(?:\w+\s+)?(?P<rel>(?i:"
    + RELATION
    + r"))\s+(?i:named|called)\s+(?P<name>"
    + NAME
    + r")(?:[,.]|$|\s)"
)
_SPOUSE = lazy_compile(r"^(?i:i'?m|i\s+am)\s+(?:happily\s+)?(?i:married|engaged)\s+to\s+(?P<name>" + _PERSON + r")")
_COUNTED = (
    r"(?P<count>an?|one|two|three|four|five|six|\d{1,2})\s+(?P<what>(?:\w+\s+)?(?:kids?|child(?:ren)?|sons?|daughters?"
    r"|sisters?|brothers?|siblings|cats?|dogs?|puppy|puppies|kittens?|rabbits?|horses?|parrots?|twins|grandchildren))"
    r"(?:$|\s+(?:and|who|named|called|in|at|now|already|these\s+days|at\s+home)\b|,)"
)
_COUNT = lazy_compile(r"^(?:(?:i|we)\s+(?:also\s+)?have|i've\s+got|i\s+own)\s+" + _COUNTED, re.IGNORECASE)
_AND = lazy_compile(r"(?:,\s+and|\s+and|,)\s+" + _COUNTED, re.IGNORECASE)
_MANY = ("none", "one", "two", "three", "four", "five", "six")
_ONE_NAME = rf"[{tokens.UPPER}][\w-]*"
_CALLED = lazy_compile(
    rf"\s*(?:,|,?\s(?:named|called))\s+(?P<names>{_ONE_NAME}(?:(?:,\s+and|,|\s+and|\s+&)\s+{_ONE_NAME}){{1,5}})[.!]?$"
)
_BREEDS = parse_vocabulary("siamese persian labrador poodle labradors poodles beagle husky ragdoll bengal sphynx")
_WHO = r"^(?:" + _MY + r")(?:,?\s+(?P<name>" + _PERSON + r"),?)?\s+"
_PAST = (
    r"(?:was|had|went|got|came|met|took|made|bought|left|began|became|won|lost|found|gave|sold|broke|quit|passed"
    r"|[a-z]{2,14}(?<!ne)(?<!fe)ed)"
)
_MOVED = (
    r"(?:has\s+)?(?:just\s+|recently\s+)?(?P<verb>(?i:moved|relocated))\s+(?:back\s+)?(?:from\s+.{2,40}?\s+)?to\s+"
    r"(?P<value>.+)$"
)
_OF_THEM: tuple[tuple[re.Pattern[str], str], ...] = (
    (lazy_compile(_WHO + r"(?P<verb>(?i:lives?|is\s+living|are\s+living))\s+in\s+(?P<value>.+)$"), "lives_in"),
    (lazy_compile(_WHO + _MOVED), "moved_to"),
    (lazy_compile(_WHO + r"(?P<verb>(?i:works))\s+(?i:at|for)\s+(?P<value>.+)$"), "works_at"),
    (lazy_compile(_WHO + r"(?P<verb>(?i:works\s+as|is))\s+(?i:an?)\s+(?P<value>.+)$"), "works_as"),
    (lazy_compile(_WHO + r"(?P<verb>(?i:likes|loves|enjoys|adores))\s+(?P<value>.+)$"), "likes"),
    (lazy_compile(_WHO + r"(?P<verb>(?i:hates|dislikes|doesn't\s+like|can't\s+stand))\s+(?P<value>.+)$"), "likes"),
    (lazy_compile(_WHO + r"(?P<verb>(?i:is\s+allergic\s+to))\s+(?P<value>.+)$"), "allergic_to"),
    (
        lazy_compile(
            _WHO
            + r"(?P<verb>(?i:can't|cannot|can\s+not|doesn't|does\s+not|never)\s+(?i:eats?|drinks?|have|has|tolerates?"
            r"|drives?|flies|fly|swims?))\s+(?P<value>.+)$"
        ),
        "cannot",
    ),
    (lazy_compile(_WHO + r"(?P<verb>(?i:studies|is\s+studying))\s+(?P<value>.+)$"), "studies"),
    (lazy_compile(_WHO + r"(?P<verb>(?i:has))\s+(?P<value>" + CONDITIONS + r")$"), "health_condition"),
    (
        lazy_compile(
            _WHO
            + r"(?P<verb>(?i:is|turned|just\s+turned))\s+(?P<value>\d{1,3})(?:\s+years?\s+old)?(?:\s+(?i:now|already"
            r"|today))*(?=$|,|\s+and\s)"
        ),
        "age",
    ),
    (
        lazy_compile(
            _WHO
            + r"(?P<verb>(?i:is|are|has\s+been))\s+(?P<neg>(?i:not\s+|no\s+longer\s+))?(?P<value>(?i:"
            + "|".join(map(re.escape, DIETS))
            + r"))(?:\s+(?i:now|too|as\s+well|again|(?:for|since)\b.*))?$"
        ),
        "diet",
    ),
    (lazy_compile(_WHO + r"(?P<verb>(?i:" + _PAST + r"))\s+(?P<value>.+)$"), "event"),
)

# A refusal for the moment is nothing to remember.
_FOR_NOW = lazy_compile(
    r"\b(?:another|one\s+more|more|enough|much|straight|yet|until|till|before|without|alone|tonight|today|properly|fast"
    r"|quickly|the\s+rest|the\s+whole)\b"
    # A verb begins another statement.
    r"|\b(?:can't|cannot|doesn't|don't|isn't|is|are|has|loves|likes)\b",
    re.IGNORECASE,
)
# How, where or why a person studies is no subject.
_NO_SUBJECT = lazy_compile(
    r"(?:for|at|in|on|with|from|to|by|until|all|every|each|hard|harder|abroad|online|alone|together|late|part-time"
    r"|full-time|too|so|an?|my|his|her|their)\b",
    re.IGNORECASE,
)
_TRADE_OF = lazy_compile(r"^(?P<name>[A-Z][\w-]*(?:\s+[A-Z][\w-]*)?)(?:'s|\s+(?i:is))\s+(?i:an?)\s+(?P<value>[a-z].+)$")
_AT_HOME = tuple(
    lazy_compile(rf"^(?P<name>[{tokens.UPPER}][\w-]*(?:\s+[{tokens.UPPER}][\w-]*)?)\s+{how}")
    for how in (r"(?:(?:now|still)\s+)?(?:lives|is\s+(?:now\s+)?living)\s+in\s+(?P<value>.+)$", _MOVED)
)
# A person by name alone. `can't` is singular and plural: dogs and people can't eat grapes either.
_AT_TABLE = tuple(
    lazy_compile(rf"^(?P<name>[{tokens.UPPER}][\w-]*(?:\s+[{tokens.UPPER}][\w-]*)?)\s+{how}")
    for how in (
        r"(?P<verb>(?:can't|cannot|can\s+not|doesn't|does\s+not)\s+(?:eat|drink))\s+(?P<value>.+)$",
        r"(?P<verb>is\s+allergic\s+to)\s+(?P<value>.+)$",
    )
)
_SOME = parse_vocabulary(
    """
    people persons men women children babies cattle mice geese some many most both few all others one nobody
    everybody anybody somebody whoever each either neither baby toddler dog cat puppy kitten horse bird fish
    rabbit hamster man woman child adult kid vegan vegetarian coeliac celiac diabetic pescatarian muslim jew
    hindu buddhist christian catholic humanity mankind god jesus folk they we you these those and but so or nor
    """
)
_NOBODY = parse_vocabulary(
    """
    life experience time work music nature love pain god history failure success money travel reading writing
    everyone everybody nobody someone anyone who what that this it he she there here today tomorrow sleep death
    war hunger practice patience curiosity necessity fear hope art science failure coffee
    """
)


def draft_people_facts(clause: Clause) -> list[Draft]:
    """The drafts about people that the clause names; none about the speaker."""
    drafts = list(_names(clause))
    drafts += [*_counts(clause), *_trades(clause), *_homes(clause), *_at_table(clause)]
    for pattern, predicate in _OF_THEM:
        match = pattern.match(clause.text)
        if match:
            drafts += _of_them(match, predicate, clause)
            break
    return list({draft.text: draft for draft in drafts}.values())


def _names(clause: Clause) -> Iterator[Draft]:
    for pattern in (_NAMED, _IS_MY, _HAVE):
        match = pattern.match(clause.text)
        if match and is_name(match["name"], clause):
            yield _related(match["rel"], match["name"], match.groupdict().get("no"))
            return
    match = _SPOUSE.match(clause.text)
    if match:
        yield _related("spouse" if "married" in clause.text.casefold() else "fiancé", match["name"])
    for match in _APPOSITION.finditer(clause.text):
        if is_name(match["name"], clause):
            yield _related(match["rel"], match["name"])


def _trades(clause: Clause) -> Iterator[Draft]:
    """The trade of a person who is called by name alone."""
    match = _TRADE_OF.match(clause.text)
    if not match or match["name"].casefold() in _NOBODY or not is_name(match["name"], clause):
        return
    name, (trade, *where) = match["name"], re.split(r"\s+at\s+", trim_phrase(match["value"]), maxsplit=1)
    trade = re.split(r"\s+(?:in|from|with|for|who)\b", trade)[0]
    if trade.split()[-1].casefold() in TRADES and len(trade.split()) <= 4 and replace_pronouns(trade) == trade:
        about: dict[str, object] = {"subject": name, "persons": (name,), "single": True}
        yield _about(
            about, "works_as", trade, f"{name} works as {'an' if trade[0].casefold() in 'aeiou' else 'a'} {trade}"
        )
        if where and (firm := parse_place(where[0], clause)):
            yield _about(about, "works_at", firm, f"{name} works at {firm}", entities=(firm,))


def _homes(clause: Clause) -> Iterator[Draft]:
    """The home of a person who is called by name alone."""
    match = next(filter(None, (pattern.match(clause.text) for pattern in _AT_HOME)), None)
    if match and match["name"].casefold() not in _NOBODY and is_name(match["name"], clause):
        about: dict[str, object] = {"subject": match["name"], "persons": (match["name"],)}
        if "verb" in match.groupdict():
            yield from _moved(match["name"], about, match["verb"], match["value"], clause)
        elif where := parse_place(match["value"], clause):
            yield _about(about, "lives_in", where, f"{match['name']} lives in {where}", single=True, location=where)


def _at_table(clause: Clause) -> Iterator[Draft]:
    """What a person who is called by name alone cannot eat."""
    match = next(filter(None, (pattern.match(clause.text) for pattern in _AT_TABLE)), None)
    if not match or match["name"].split()[0].casefold() in _NOBODY | _SOME or not is_name(match["name"], clause):
        return
    name, verb = match["name"], match["verb"].casefold()
    about: dict[str, object] = {"subject": name, "persons": (name,)}
    if "allergic" in verb:
        yield from _tastes(name, about, verb, match["value"], clause)
    elif verb.startswith("does") or not name.endswith("s"):
        yield from _unable(name, about, verb, match["value"], clause)


def _related(said: str, name: str, no: str | None = None) -> Draft:
    relation, name = said.casefold(), name.removesuffix("'s").strip(" ,.")
    predicate = _predicate(relation)
    return make_draft(
        "relationship",
        predicate,
        name,
        f"The user's {relation} is {name}" + (f", not {no}" if no else ""),
        persons=(name,),
        single=predicate in ONE_AT_A_TIME,
        importance=3,
    )


def _predicate(relation: str) -> str:
    return (
        RELATIONS.get(relation)
        or RELATIONS[
            next(word for word in (relation.split(" ", 1)[-1], relation.rsplit(maxsplit=1)[-1]) if word in RELATIONS)
        ]
    )


def _counts(clause: Clause) -> Iterator[Draft]:
    if _HAVE.match(clause.text):
        return
    match = _COUNT.match(clause.text)
    while match and (what := replace_pronouns(match["what"])):
        count = f"{match['count']} {what}".casefold()
        noun = make_slug(what.split()[-1])
        many = {"child": "children", "puppy": "puppies"}.get(noun, noun if noun.endswith(("s", "n")) else f"{noun}s")
        each = tuple(_each(match, noun, clause))
        yield make_draft(
            "relationship", f"has_{many}", count, f"The user has {count}", single=True, importance=2 if each else 3
        )
        yield from each
        match = _AND.match(clause.text, match.end("what"))


def _each(match: re.Match[str], many: str, clause: Clause) -> Iterator[Draft]:
    """The counted people or pets, if the clause names each of them."""
    relation = {"children": "child", "puppies": "puppy"}.get(many, many.removesuffix("s"))
    called = _CALLED.match(clause.text, match.end("what"))
    named = re.split(r",\s+and\s+|,\s+|\s+(?:and|&)\s+", called["names"]) if called else []
    count = match["count"].casefold()
    if relation in RELATIONS and count in (str(len(named)), *_MANY[len(named) : len(named) + 1]):
        names = [name for name in named if is_name(name, clause) and name.casefold() not in _BREEDS]
        yield from (_related(relation, name) for name in names if names == named)


def _of_them(match: re.Match[str], predicate: str, clause: Clause) -> Iterator[Draft]:
    relation, name = match["rel"].casefold(), match["name"]
    who = f"The user's {relation}" + (f" {name}" if name else "")
    about = {"subject": name or predicates.format_relation(relation), "persons": (name,) if name else ()}
    verb, value = match["verb"].casefold(), match["value"]
    if predicate == "studies" and _predicate(relation) == "pet":
        return
    builders: dict[str, Callable[[], Iterator[Draft]]] = {
        "likes": lambda: _tastes(who, about, verb, value, clause),
        "allergic_to": lambda: _tastes(who, about, verb, value, clause),
        "cannot": lambda: _unable(who, about, verb, value, clause),
        "event": lambda: _happened(who, about, match["verb"], value, clause),
        "moved_to": lambda: _moved(who, about, verb, value, clause),
        "studies": lambda: _studies(who, about, value, clause),
        "diet": lambda: _eats(who, about, match),
    }
    build = builders.get(predicate)
    yield from build() if build else _attribute(who, about, predicate, verb, value, clause)


def _attribute(
    who: str, about: dict[str, object], predicate: str, verb: str, value: str, clause: Clause
) -> Iterator[Draft]:
    said: str | None = trim_phrase(value)
    if predicate in ("lives_in", "works_at"):
        said = parse_place(value, clause)
        text = (
            f"{who} {('live in' if verb == 'live' else 'lives in') if predicate == 'lives_in' else 'works at'} {said}"
        )
    elif predicate == "works_as":
        trade = re.split(r"\s+(?:at|in|from|with|for|who)\b", trim_phrase(value))[0]
        said = (
            trade
            if trade
            and trade.split()[-1].casefold() in TRADES
            and len(trade.split()) <= 4
            and replace_pronouns(trade) == trade
            else None
        )
        text = f"{who} works as {'an' if trade[:1] in 'aeiou' else 'a'} {trade}"
    else:
        text = f"{who} is {said} years old" if predicate == "age" else f"{who} {verb} {said}"
    if said:
        single = predicate in ("lives_in", "works_at", "works_as", "age")
        yield _about(about, predicate, said, text, single=single, location=said if predicate == "lives_in" else None)


def _tastes(who: str, about: dict[str, object], verb: str, value: str, clause: Clause) -> Iterator[Draft]:
    against = verb in ("hates", "dislikes", "doesn't like", "can't stand")
    predicate, verb_text = (
        ("allergic_to" if "allergic" in verb else "likes"),
        verb.replace("doesn't", "does not").replace("can't", "cannot"),
    )
    for thing in parse_list(value, clause):
        if predicate == "allergic_to" and IN_JEST.match(thing):
            continue
        yield _about(
            about,
            predicate,
            thing,
            f"{who} {verb_text} {thing}",
            negated=against,
            importance=4 if predicate == "allergic_to" else 2,
        )


def _unable(who: str, about: dict[str, object], verb: str, value: str, clause: Clause) -> Iterator[Draft]:
    said = parse_object(re.sub(r"^any\s+|\s+either$", "", trim_phrase(value)), clause)
    if said and (_FOR_NOW.search(said) or mentions.find_mentions(said, clause.at)):
        return
    *_, doing = verb.split()
    how = "cannot" if verb.startswith("can") else "never" if verb.startswith("never") else "does not"
    if said:
        yield _about(about, "cannot", f"{doing} {said}", f"{who} {how} {doing} {said}", importance=3)


def _eats(who: str, about: dict[str, object], match: re.Match[str]) -> Iterator[Draft]:
    against, value = " ".join((match["neg"] or "").casefold().split()), match["value"].casefold()
    text = f"{who} {'are' if match['verb'].casefold() == 'are' else 'is'} {against}{' ' * bool(against)}{value}"
    yield _about(about, "diet", value, text, single=True, negated=bool(against), importance=3)


def _studies(who: str, about: dict[str, object], value: str, clause: Clause) -> Iterator[Draft]:
    said = parse_object(value, clause)
    if said and not _NO_SUBJECT.match(said):
        yield _about(about, "studies", said, f"{who} studies {said}", single=True)


def _happened(who: str, about: dict[str, object], verb: str, value: str, clause: Clause) -> Iterator[Draft]:
    said = replace_pronouns(trim_phrase(value), allow_third_person=True)
    if (
        said
        and mentions.find_mentions(value, clause.at)
        and parse_object(re.sub(r"\b(?:his|her|their)\b", "the", trim_phrase(value)), clause)
    ):
        yield _about(
            about,
            make_slug(f"{verb} {value.split(maxsplit=1)[0]}" if verb in ("was", "got", "had", "went") else verb),
            mentions.remove_dates(said, clause.at),
            f"{who} {conjugate_verb(verb)} {said}",
            kind="event",
            category="event",
        )


def _moved(who: str, about: dict[str, object], verb: str, value: str, clause: Clause) -> Iterator[Draft]:
    said, where = replace_pronouns(trim_phrase(value)), parse_place(mentions.remove_dates(value, clause.at), clause)
    if said and where:
        text = f"{who} {verb.casefold()} to {said}"
        yield _about(about, "moved_to", where, text, kind="event", category="event", location=where)


def _about(about: dict[str, object], predicate: str, value: str, text: str, **more: object) -> Draft:
    kind = more.pop("kind", "relationship")
    return make_draft(kind, predicate, value, text, **about, **more)  # type: ignore[arg-type]
