"""What an English clause states of the person who says it: a table of patterns and what each comes to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from muniment.memory.records import FactKind
from muniment.memory.rules import dates, english_people
from muniment.memory.rules.draft import Clause, Draft, draft
from muniment.memory.rules.english_words import CONDITIONS, DIETS, LANGUAGES, NATIONALITIES, TRADES, narrate, owned, singular
from muniment.memory.rules.english_phrases import NAME, is_name, listed, names, place, slug, tail, thing, trim

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], Clause], Iterator[Draft]]]

_ADV = (
    r"(?:(?:really|absolutely|also|just|still|actually|always|usually|generally|mostly|honestly|truly|especially|particularly|totally|currently|now|both|do"
    r"|definitely|mainly|simply|officially|proudly|recently|only|even|very|much)\s+)*"
)
_AM = r"i(?:'?m|\s+am)\s+" + _ADV
_WAS = r"(?:i(?:'?m|\s+am)|i've\s+been|i\s+have\s+been)\s+" + _ADV
_ENDED = re.compile(r"\s+(?:any\s?more|any\s+longer)$", re.IGNORECASE)
_OPENING = r"^(?:a|an|the|some|any|my|all|lots\s+of|a\s+lot\s+of|most)\s+"


def _bare(words: str) -> str:
    return re.sub(_OPENING, "", words, flags=re.IGNORECASE)


def _name(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    name = found["name"].strip(" .!")
    if is_name(name, clause):
        name = name if not clause.lower else name.title()
        yield draft("identity", "name", name, f"The user's name is {name}", single=True, persons=(name,))


def _called(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    name = found["name"].strip(" .!")
    if is_name(name, clause):
        name = name if not clause.lower else name.title()
        yield draft("identity", "preferred_name", name, f"Preferred name is {name}", single=True, persons=(name,))


def _pronouns(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = re.sub(r"\s*/\s*", "/", found["value"].casefold())
    yield draft("identity", "pronouns", said, f"The user's pronouns are {said}", single=True)


def _age(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    if 3 <= int(found["value"]) <= 120:
        yield draft("identity", "age", found["value"], f"The user is {found['value']} years old", single=True)


def _birthday(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = found["value"].strip(" .")
    if dates.mentions(f"on {said}", clause.at) and not dates.relative(f"on {said}", clause.at):
        yield draft("identity", "birthday", said, f"The user's birthday is {said}", single=True, importance=3, timeless=True)


def _born(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = place(found["place"], clause)
    if where:
        yield draft("identity", "born_in", where, f"The user was born in {where}", single=True, location=where)


def _lives(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where, ended = place(_ENDED.sub("", found["place"]), clause), bool(found["neg"])
    if where:
        text = f"The user no longer lives in {where}" if ended else f"The user lives in {where}"
        yield draft("identity", "lives_in", where, text, single=True, negated=ended, importance=3, location=where)


def _from(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = place(found["place"], clause)
    if where:
        yield draft("identity", "comes_from", where, f"The user comes from {where}", single=True, location=where)


def _nationality(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = found["value"]
    if said.casefold() in NATIONALITIES:
        yield draft("identity", "nationality", said.title(), f"The user is {said.title()}", single=True)


def _trade(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    words = tail(found["value"]).split(" for ")[0]
    split = re.split(r"\s+(?:at|in|from|with|based|living|working|specialising|specializing)\b\s*", words)
    trade = _bare(split[0]).strip()
    if not trade or len(trade.split()) > 4 or trade.split()[-1].casefold().removesuffix("s") not in TRADES or owned(trade) is None:
        return
    ended = bool(found["neg"])
    article = "an" if trade[0].casefold() in "aeiou" else "a"
    text = f"The user {'no longer works' if ended else 'works'} as {article} {trade}"
    yield draft("identity", "works_as", trade, text, single=True, negated=ended, importance=3)
    at = re.search(r"\bat\s+(.+)$", words)
    if at and (firm := place(at[1], clause)):
        yield draft("identity", "works_at", firm, f"The user works at {firm}", single=True, entities=(firm,), importance=3)


def _employer(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said, _, role = re.sub(r"\s+in\s+(?=[A-Z]).*", "", tail(found["value"])).partition(" as ")
    firm, ended = place(_ENDED.sub("", said), clause), bool(found["neg"])
    if firm:
        text = f"The user {'no longer works' if ended else 'works'} at {firm}"
        yield draft("identity", "works_at", firm, text, single=True, negated=ended, importance=3, entities=(firm,))
    if role and _bare(role).split()[-1].casefold() in TRADES:
        yield draft("identity", "works_as", _bare(role), f"The user works as {role}", single=True, importance=3)


def _status(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield draft("identity", "marital_status", found["value"].casefold(), f"The user is {found['value'].casefold()}", single=True)


def _studies(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = thing(found["value"], clause)
    if value and not value.casefold().startswith("for "):
        yield draft("identity", "studies", _bare(value), f"The user studies {value}", single=True)


def _native(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = found["value"].title()
    if said.casefold() in LANGUAGES:
        yield draft("identity", "native_language", said, f"The user's native language is {said}", single=True)


_NEGATIVE = frozenset({"hate", "dislike", "detest", "loathe", "despise"})


def _likes(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, neg = found["verb"].casefold(), re.sub(r"\s+", " ", found["neg"] or "").casefold().strip()
    said = found["value"]
    ended = bool(_ENDED.search(trim(said))) or neg in ("no longer", "stopped")
    said = _ENDED.sub("", trim(said))
    bears = verb in ("stand", "bear")
    if bears != neg.startswith(("can't", "cannot", "can not", "cant")) or (verb in _NEGATIVE and neg):
        return
    for value in listed(said, clause):
        against = bool(neg) or verb in _NEGATIVE or ended
        text = f"The user {singular(verb)} {value}"
        if bears:
            text = f"The user cannot {verb} {value}"
        elif ended:
            text = f"The user no longer {singular(verb)} {value}"
        elif neg:
            text = f"The user does not {verb} {value}"
        yield draft("preference", "likes", _bare(value), text, negated=against)


def _keen(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    for value in listed(found["value"], clause):
        text = f"The user is {'not ' if against else ''}{found['how'].casefold()} {value}"
        yield draft("preference", "likes", _bare(value), text, negated=against)


def _prefers(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    halves = re.split(r"\s+(?:over|rather\s+than|instead\s+of|more\s+than|to)\s+(?!be\b)", found["value"], maxsplit=1)
    value = thing(halves[0], clause)
    other = thing(halves[1], clause) if len(halves) == 2 and not halves[0].startswith("to ") else None
    if not value:
        return
    style = re.search(r"\b(?:answers?|replies|responses?|explanations?|summaries|bullet\s+points|emojis?)\b", value, re.IGNORECASE)
    text = f"The user prefers {value}" + (f" over {other}" if other else "")
    yield draft("preference", "prefers", _bare(value), text, topic=other, category="style" if style else None)


def _favourite(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, value = found["what"].casefold(), thing(found["value"], clause)
    if value and len(what.split()) <= 3 and owned(what) and not value.casefold().startswith(("that ", "to ", "when ", "how ", "not ")):
        be = "are" if what.endswith("s") and not what.endswith("ss") else "is"
        yield draft("preference", f"favourite_{slug(what)}", _bare(value), f"The user's favourite {what} {be} {value}", single=True)


def _style(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    how = trim(found["how"]).casefold()
    single, value = "response_style", how
    if language := re.fullmatch(r"in\s+(\w+)", how):
        if language[1] not in LANGUAGES:
            return
        how, single, value = f"in {language[1].title()}", "answer_language", language[1].title()
    never = bool(found["neg"])
    text = f"The user wants answers {how}" if not never else f"The user does not want answers {how}"
    yield draft("preference", single, value, text, category="style", single=not never, negated=never, importance=3)


def _manner(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    never, value = bool(found["neg"]), found["value"].casefold()
    yield draft("preference", "response_style", value, f"The user {'does not want' if never else 'wants'} {value} in answers",
                category="style", negated=never, importance=3)  # fmt: skip


def _allergy(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    for value in listed(_ENDED.sub("", trim(found["value"])), clause):
        be = "is no longer" if against else "is"
        yield draft("constraint", "allergic_to", _bare(value), f"The user {be} allergic to {value}", negated=against, importance=4)


def _intolerant(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, against = found["value"].casefold(), bool(found["neg"])
    be = "is not" if against else "is"
    yield draft("constraint", "intolerant_to", value, f"The user {be} {value} intolerant", negated=against, importance=4)


def _diet(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, neg = found["value"].casefold(), re.sub(r"\s+", " ", found["neg"] or "").casefold().strip()
    against = bool(neg) or bool(found["ended"])
    be = "is" if not against else "is no longer" if neg == "no longer" or found["ended"] else "is not"
    said = f"on a {value} diet" if found["on"] else value
    yield draft("constraint", "diet", value, f"The user {be} {said}", single=True, negated=against, importance=4)


def _condition(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    has, value = found["has"].casefold().startswith("i have"), re.sub(r"\s+", " ", found["value"])
    yield draft("constraint", "health_condition", _bare(value), f"The user {'has' if has else 'is'} {value}", importance=4)


def _cannot(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = thing(f"{found['verb']} {_ENDED.sub('', trim(found['value'] or ''))}", clause)
    if not value:
        return
    neg = re.sub(r"\s+", " ", found["neg"].casefold())
    how = {"don't": "does not", "do not": "does not", "dont": "does not", "never": "never"}.get(neg, "cannot")
    text = f"The user {how} {singular(found['verb']) + value[len(found['verb']) :] if how == 'never' else value}"
    food = found["verb"].casefold() in ("eat", "drink", "have", "tolerate", "consume", "digest")
    yield draft("constraint", "cannot", value, text, importance=4 if food else 3, category=None if food else "preferences")


def _budget(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = trim(found["value"])
    if re.search(r"\d", value) and (said := owned(value)):
        yield draft("constraint", "budget", said, f"The user's budget is {said}", category="constraints", single=True, importance=3)


def _deadline(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = narrate(trim(clause.text))
    if said and dates.mentions(clause.text, clause.at):
        what = owned(found["what"] or "") or "work"
        yield draft("constraint", "deadline", dates.without(found["value"], clause.at) or found["value"], said, category="constraints",
                    importance=3, topic=_bare(what), entities=names(clause.text))  # fmt: skip


_IDLE = re.compile(
    r"(?:know|ask|say|tell|talk|hear|understand|make\s+sure|thank|share|show|mention|discuss|chat|let|be\s+(?:sure|clear|honest|able|there|with)|go\s+(?:home|to\s+bed|now)"
    r"|sleep|cry|scream|die|get\s+back|come|point|clarify|see\s+(?:if|how|what|whether|you)|check|try|do|believe|think|feel|keep\s+(?:going|doing|up)|add|apologi[sz]e"
    r"|admit|give\s+up|find\s+out|figure\s+out|remember|use|respond|reply|start\s+by|work\s+on\s+(?:it|that)|move\s+on|stop|play|spread|express|capture|help|support)\b",
    re.IGNORECASE,
)


def _goal(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    value = thing(_ENDED.sub("", found["value"]), clause)
    if value and not _IDLE.match(value) and len(value.split()) >= 2:
        ended = "no longer wants" if _ENDED.search(trim(found["value"])) or (found["neg"] or "").casefold().strip() == "no longer" else "does not want"
        how = ended if against else {"plan": "plans", "inte": "intends", "hope": "hopes", "aim": "aims"}.get(found["how"].casefold()[:4].strip(), "wants")
        yield draft("goal", "wants_to", dates.without(value, clause.at), f"The user {how} to {value}", negated=against, importance=3,
                    entities=names(value))  # fmt: skip


def _toward(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = thing(found["value"], clause)
    if value:
        doing = re.sub(r"\s+", " ", found["doing"].casefold())
        predicate = {"trai": "trains_for", "prep": "prepares_for", "savi": "saves_for", "lear": "learns", "tryi": "wants_to", "plan": "plans"}.get(doing[:4], "works_toward")
        if predicate == "wants_to" and (_IDLE.match(value) or len(value.split()) < 2):
            return
        yield draft("goal", predicate, _bare(dates.without(value, clause.at)), f"The user is {doing} {value}", importance=3, entities=names(value))


_CHORE = re.compile(
    r"(?:call|e-?mail|text|buy|book|pay|pick\s+up|send|schedule|renew|submit|finish|return|order|cancel|fix|register|file|sign|write|prepare|pack|collect"
    r"|drop\s+off|water|clean|print|review|update|apply|contact|hand\s+in|deliver|refill|repair|wash|reply\s+to|complete|take\s+out)\b", re.IGNORECASE)  # fmt: skip


def _task(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = thing(found["value"], clause)
    asked = found["ask"] or clause.directive
    dated = bool(value and dates.mentions(value, clause.at))
    if value and (asked or _CHORE.match(value) or (dated and not _IDLE.match(value))) and len(value.split()) >= 2:
        yield draft("note", "to_do", dates.without(value, clause.at), f"The user needs to {value}", category="tasks", importance=3,
                    entities=names(value))  # fmt: skip


def _worked(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = narrate(tail(clause.text))
    value = thing(found["value"], clause)
    if said and value:
        predicate = {"as": "worked_as", "at": "worked_at", "for": "worked_at", "in": "worked_in"}[found["how"].casefold()]
        yield draft("experience", predicate, _bare(dates.without(value, clause.at)), said, entities=names(value))


def _done(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = thing(found["value"], clause)
    if value and not re.match(r"(?:to\s|up\s|out\s|on\s|a\s+lot|through\s|be\b)", value) and (said := narrate(f"{found['subject']} {value}")):
        yield draft("experience", slug(found["verb"]), _bare(dates.without(value, clause.at)), said, entities=names(value))


def _skill(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    for value in listed(found["value"], clause):
        if len(value.split()) <= 6 and not re.match(r"(?:the|a|an|least)\s", value):
            yield draft("skill", "skilled_in", value, f"The user is {'not ' if against else ''}{found['how'].casefold()} {value}", negated=against)


def _speaks(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    for word in re.findall(r"[^\W\d_]+", found["value"]):
        if word.casefold() in LANGUAGES:
            text = f"The user {'does not speak' if against else 'speaks'} {word.title()}"
            yield draft("skill", "speaks", word.title(), text, negated=against)


def _plays(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    for value in listed(found["value"], clause, articles=True):
        if len(value.split()) <= 4 and not re.match(r"(?:a|an|some|with|around|along|in|on)\b", value, re.IGNORECASE):
            yield draft("skill", "plays", _bare(value), f"The user plays {value}")


def _knows(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = thing(found["value"], clause)
    if value and (found["how"] or re.match(r"[A-Z][\w+#.]*(?:(?:,\s*|\s+and\s+)[A-Z][\w+#.]*)*$", value)) and not _IDLE.match(value):
        for one in [value] if found["how"] else listed(value, clause):
            how = "how to " if found["how"] else ""
            yield draft("skill", "skilled_in", one, f"The user knows {how}{one}", entities=names(one))


_MOVED = re.compile(r"(?:moved|relocated|emigrated)\s+(?:back\s+)?(?:from\s+.{2,40}?\s+)?(?:in)?to\s+(?P<place>.+)", re.IGNORECASE)
_BIG = re.compile(r"(?:moved|married|got\s+(?:married|engaged|divorced|promoted|fired|laid)|graduated|was\s+born|retired|adopted|quit|bought\s+a\s+house|gave\s+birth)\b", re.IGNORECASE)  # fmt: skip


def _event(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what = tail(found["what"])
    moved = _MOVED.match(what)
    where = place(dates.without(moved["place"], clause.at), clause) if moved else None
    dated = bool(dates.mentions(clause.text, clause.at)) and not dates.mentions(found["verb"], clause.at)
    if not dated and not where:
        return
    front = found["front"].strip(" ,")
    said = narrate(f"I {what} {front[:1].lower()}{front[1:]}".strip())
    value = dates.without(what, clause.at)
    rest = value[len(found["verb"]) :].strip()
    if said and (rest or where) and len(value.split()) <= 24:
        light = found["verb"].casefold() in ("got", "was", "had", "became", "went", "took")
        predicate = "moved_to" if where else slug(f"{found['verb']} {rest.split()[0]}" if light else found["verb"])
        yield draft("event", predicate, where or _bare(rest), said, importance=3 if _BIG.match(what) else 2, location=where, entities=names(rest))


def _plan(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    if not dates.mentions(found["value"], clause.at):
        return
    value = thing(found["value"], clause)
    said = narrate(tail(clause.text))
    if value and said and not _IDLE.match(value):
        yield draft("event", "plans", _bare(dates.without(value, clause.at)), said, entities=names(value))


def _rule(pattern: str, build: Callable[[re.Match[str], Clause], Iterator[Draft]], flags: re.RegexFlag = re.IGNORECASE) -> Rule:
    return re.compile(pattern, flags), build


_PAST = (
    r"(?:was|had|went|got|came|met|saw|took|made|bought|left|began|became|ran|won|lost|found|taught|wrote|built|gave|sold|flew|drove|broke|quit|spent|grew"
    r"|fell|led|brought|caught|sent|swam|sang|drew|chose|rode|held|paid|ate|read|[a-z]{2,14}(?<!ne)(?<!fe)(?<!spe)ed)"
)
_DIET = "|".join(map(re.escape, DIETS))
_NEG = r"(?P<neg>not\s+(?:really\s+|very\s+|a\s+)?|no\s+longer\s+)?"
_RULES: tuple[Rule, ...] = (
    _rule(r"(?:you\s+(?:can|may|could|should)\s+|(?:everyone|everybody|people|my\s+friends)\s+|(?:please\s+)?(?:just\s+)?)?calls?\s+me\s+(?P<name>" + NAME + r")$", _called),
    _rule(r"(?:i\s+(?:go\s+by|prefer\s+to\s+be\s+called|like\s+to\s+be\s+called|want\s+to\s+be\s+called)|i'd\s+(?:prefer|like)\s+to\s+be\s+called|my\s+(?:preferred\s+name|nickname)\s+is)\s+(?P<name>" + NAME + r")$", _called),
    _rule(r"(?:my\s+(?:full\s+|first\s+|real\s+)?name(?:\s+is|'s)|i\s+am\s+called|i'm\s+called|i'm\s+named)\s+(?P<name>" + NAME + r")$", _name),
    _rule(r"(?:i'?m|i\s+am|this\s+is)\s+(?P<name>" + NAME + r")(?:\s+(?:from|here|speaking)\b.*)?$", _name),
    _rule(r"(?:my\s+pronouns\s+are|i\s+(?:use|go\s+by)|my\s+pronouns:)\s+(?P<value>(?:she|he|they|xe|ze)\s*/\s*\w+(?:\s*/\s*\w+)?)(?:\s+pronouns)?$", _pronouns),
    _rule(_AM + r"(?P<value>\d{1,3})(?:\s+(?:years?|yrs?)\s*-?\s*old|\s+now)?$", _age),
    _rule(r"i\s+(?:just\s+|recently\s+)?turned\s+(?P<value>\d{1,3})\b(?!\s+(?:in|down))", _age),
    _rule(r"my\s+birthday(?:\s+is|'s)\s+(?:on\s+)?(?:the\s+)?(?P<value>.{3,30})$", _birthday),
    _rule(r"i\s+was\s+born\s+on\s+(?:the\s+)?(?P<value>.{3,30})$", _birthday),
    _rule(r"i\s+was\s+born\s+(?:and\s+raised\s+)?in\s+(?P<place>\D{2,40})$", _born),
    _rule(r"(?:i\s+" + _ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?" + _ADV + r"live|" + r"(?:i'?m|i\s+am)\s+" + _ADV + r"(?:living|based))\s+in\s+(?P<place>.{2,60})$", _lives),
    _rule(r"i(?:'m|\s+am|\s+come)\s+" + _ADV + r"(?:originally\s+)?from\s+(?P<place>.{2,40})$", _from),
    _rule(_AM + r"(?:an?\s+)?(?P<value>[a-z]+)(?:\s+by\s+birth|\s+citizen)?$", _nationality),
    _rule(r"(?:" + _AM + r"(?P<neg>no\s+longer\s+)?|i\s+" + _ADV + r"work\s+" + _ADV + r"as\s+)an?\s+(?P<value>.{3,80})$", _trade),
    _rule(r"(?:my\s+job\s+is|i\s+got\s+a\s+job\s+as)(?P<neg>)\s+(?:being\s+)?an?\s+(?P<value>.{3,80})$", _trade),
    _rule(r"(?:i\s+" + _ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?" + _ADV + r"work|(?:i'm|i\s+am)\s+" + _ADV + r"(?:working|employed))\s+(?:at|for)\s+(?P<value>.{2,60})$", _employer),
    _rule(_AM + r"(?P<value>married|divorced|widowed|engaged|single)$", _status),
    _rule(r"(?:i'm|i\s+am|i)\s+" + _ADV + r"(?:studying|study|majoring\s+in)\s+(?P<value>.{3,60})$", _studies),
    _rule(r"my\s+(?:native\s+language|mother\s+tongue|first\s+language)\s+is\s+(?P<value>\w+)$", _native),
    _rule(r"i\s+" + _ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+|never\s+|can't\s+|cannot\s+|can\s+not\s+|cant\s+)?" + _ADV
          + r"(?P<verb>like|love|enjoy|adore|hate|dislike|detest|loathe|despise|stand|bear)\s+(?P<value>.+)$",
          _likes),
    _rule(_AM + _NEG + _ADV + r"(?:a\s+)?(?:big\s+|huge\s+|great\s+)?(?P<how>into|fond\s+of|fan\s+of|keen\s+on|obsessed\s+with|passionate\s+about|interested\s+in|crazy\s+about)\s+(?P<value>.+)$", _keen),
    _rule(r"i(?:'d|\s+would)?\s+" + _ADV + r"prefer\s+(?P<value>.+)$", _prefers),
    _rule(r"my\s+(?:all[- ]time\s+|absolute\s+)?favou?rite\s+(?P<what>[\w' -]{2,30}?)\s+(?:is|are|has\s+always\s+been|would\s+be)\s+(?:called\s+)?(?P<value>.+)$", _favourite),
    _rule(r"(?P<value>(?!what|which|who|this|that|it|he|she)[\w' ]{2,40}?)\s+(?:is|are)\s+my\s+(?:all[- ]time\s+|absolute\s+)?favou?rite\s+(?P<what>[\w' -]{2,30})$", _favourite),
    _rule(r"(?:please\s+)?(?:always\s+|from\s+now\s+on,?\s+(?:please\s+)?)?(?P<neg>never\s+|don't\s+|do\s+not\s+)?(?:answer|reply|respond|talk\s+to\s+me|speak\s+to\s+me|write\s+to\s+me|write\s+your\s+answers)(?:\s+to\s+me)?\s+"
          r"(?P<how>(?:more\s+|very\s+)?(?:briefly|concisely|shortly|formally|informally|casually|politely|directly|in\s+\w+|in\s+(?:short|full|simple)\s+\w+|in\s+bullet\s+points|in\s+detail))(?:\s+from\s+now\s+on|\s+please|\s+in\s+future)?$", _style),
    _rule(r"(?:please\s+)?(?:always\s+)?(?:keep|make)\s+(?:your\s+|the\s+)?(?:answers|replies|responses|explanations)\s+(?P<neg>)(?P<how>(?:very\s+)?(?:short|brief|concise|simple|formal|informal|casual|detailed|to\s+the\s+point))(?:\s+please)?$", _style),
    _rule(r"(?:please\s+)?(?:(?P<neg>don't\s+use|do\s+not\s+use|never\s+use|stop\s+using|no\s+more|avoid)|always\s+use)\s+(?P<value>emojis?|bullet\s+points|jargon|markdown|slang|exclamation\s+marks|metric\s+units|imperial\s+units)(?:\s+please)?$", _manner),
    _rule(_AM + r"(?P<neg>not\s+|no\s+longer\s+)?" + _ADV + r"(?:severely\s+|deathly\s+|highly\s+|very\s+)?allergic\s+to\s+(?P<value>.+)$", _allergy),
    _rule(_AM + r"(?P<neg>not\s+|no\s+longer\s+)?(?P<value>lactose|gluten|fructose|histamine)[ -]intolerant$", _intolerant),
    _rule(_WAS + r"(?P<neg>not\s+|no\s+longer\s+)?(?:an?\s+)?(?:strict\s+|strictly\s+|lifelong\s+)?(?P<on>on\s+an?\s+)?(?P<value>" + _DIET + r")(?:\s+diet)?(?P<ended>\s+any\s?more)?(?:\s+(?:since|for)\s+.*)?$", _diet),
    _rule(r"(?P<has>i\s+have|" + _AM + r")\s*" + _ADV + r"(?:an?\s+)?(?P<value>" + CONDITIONS + r")$", _condition),
    _rule(r"i\s+" + _ADV + r"(?P<neg>can't|cannot|can\s+not|cant|must\s+not|mustn't|am\s+not\s+allowed\s+to|don't|do\s+not|dont|never)\s+" + _ADV
          + r"(?P<verb>eat|drink|tolerate|consume|digest|drive|fly|swim|work|attend|travel|smoke)(?P<value>\s+.+)?$", _cannot),
    _rule(r"i'm\s+(?P<neg>not\s+allowed\s+to)\s+(?P<verb>eat|drink|have|drive|fly|travel|work)(?P<value>\s+.+)?$", _cannot),
    _rule(r"(?:my|our|the)\s+(?:total\s+|monthly\s+|weekly\s+|travel\s+|project\s+)?budget\s+(?:for\s+[\w' ]{2,30}\s+)?is\s+(?P<value>.+)$", _budget),
    _rule(r"i\s+(?:can't|cannot|can\s+not)\s+(?:spend|pay)\s+(?P<value>more\s+than\s+.+)$", _budget),
    _rule(r"i\s+have\s+a\s+budget\s+of\s+(?P<value>.+)$", _budget),
    _rule(r"(?:my|our|the)\s+deadline\s+(?:for\s+(?P<what>.{2,40}?)\s+)?is\s+(?P<value>.+)$", _deadline),
    _rule(r"i\s+" + _ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?" + _ADV + r"(?P<how>want|plan|intend|hope|aim|wish)\s+to\s+(?P<value>.+)$", _goal),
    _rule(r"i(?:'d|\s+would)\s+(?P<neg>)" + _ADV + r"(?P<how>like|love)\s+to\s+(?P<value>.+)$", _goal),
    _rule(r"(?:i'm|i\s+am)\s+" + _ADV + r"(?P<neg>not\s+)?(?P<how>planning|intending|hoping|aiming|looking)\s+to\s+(?P<value>.+)$", _goal),
    _rule(r"(?:i've|i\s+have)\s+(?:always\s+)?(?P<neg>)(?P<how>wanted|decided|planned)\s+to\s+(?P<value>.+)$", _goal),
    _rule(r"(?P<neg>)my\s+(?:\w+\s+){0,2}(?P<how>goal|dream|aim|resolution|ambition|target)\s+(?:for\s+\S+\s+|this\s+year\s+)?is\s+to\s+(?P<value>.+)$", _goal),
    _rule(r"(?:i'?m|i\s+am)\s+" + _ADV + r"(?P<doing>training\s+for|preparing\s+for|saving\s+(?:up\s+)?for|saving\s+(?:up\s+)?to|studying\s+for|trying\s+to|learning\s+to|learning|working\s+toward?s?|planning)\s+(?P<value>(?!to\s).+)$", _toward),
    _rule(r"i\s+" + _ADV + r"(?P<ask>)(?:need|have|'ve\s+got)\s+to\s+(?P<value>.+)$", _task),
    _rule(r"(?:please\s+)?(?:(?:can|could|will)\s+you\s+)?(?:please\s+)?(?P<ask>remind\s+me\s+to|don't\s+let\s+me\s+forget\s+to|remember\s+to|don't\s+forget\s+to)\s+(?P<value>.+)$", _task),
    _rule(r"i\s+(?:used\s+to\s+work|worked|have\s+worked|formerly\s+worked)\s+(?P<how>as|at|for|in)\s+(?P<value>.+)$", _worked),
    _rule(r"(?:i've|i\s+have)\s+(?:previously\s+)?worked\s+(?P<how>as|at|for|in)\s+(?P<value>.+)$", _worked),
    _rule(r"(?P<subject>i\s+(?P<verb>used)\s+to)\s+(?P<value>.+)$", _done),
    _rule(r"(?P<subject>(?:i've|i\s+have)\s+(?:also\s+|just\s+|already\s+|recently\s+)?(?P<verb>lived|studied|visited|travelled|traveled|completed|climbed|published|written|built|taught|led|managed|volunteered|owned|competed|graduated|run|founded|designed|served|won|finished))\s+(?P<value>.+)$", _done),
    _rule(r"(?P<subject>(?:i've|i\s+have)\s+been\s+(?P<verb>[a-z]{2,14}ing))\s+(?P<value>.*\b(?:for|since)\s+(?:\d|a\s|an\s|over|about|almost|more|two|three|four|five|six|seven|eight|nine|ten|many|my|childhood|i\s).*)$", _done),
    _rule(_AM + r"(?P<neg>not\s+)?(?:very\s+|pretty\s+|quite\s+)?(?P<how>(?:good|great|excellent|skilled|experienced|proficient|talented|bad|terrible)\s+(?:at|in|with))\s+(?P<value>.+)$", _skill),
    _rule(r"(?:i\s+" + _ADV + r"(?P<neg>don't\s+|can't\s+|cannot\s+)?(?:can\s+)?speak|" + _AM + r"fluent\s+in)\s+(?P<value>.+)$", _speaks),
    _rule(r"i\s+(?:can\s+)?" + _ADV + r"play\s+(?P<value>(?:the\s+)?.{3,40})$", _plays),
    _rule(r"i\s+" + _ADV + r"(?:know|can)\s+(?P<how>how\s+to\s+)?(?P<value>.+)$", _knows, re.IGNORECASE),
    _rule(r"(?P<front>)i\s+(?:just\s+|also\s+|finally\s+|recently\s+|actually\s+|then\s+|first\s+)*(?P<what>(?P<verb>" + _PAST + r")\s+.+)$", _event),
    _rule(r"(?P<front>(?:on|in|last|yesterday|this|two|three|a)\b[\w ]{0,30}?,?\s+)i\s+(?:just\s+|also\s+|finally\s+)*(?P<what>(?P<verb>" + _PAST + r")\b.*)$", _event),
    _rule(r"(?:i\s+have|i've\s+got|i'm\s+having)\s+(?P<value>(?:an?|my|the)\s+.+)$", _plan),
    _rule(r"(?:i'm|i\s+am|i)\s+(?:going|flying|travell?ing|moving|heading|getting|starting|running|meeting|visiting|taking|leaving)\s+(?P<value>.+)$", _plan),
)  # fmt: skip


def facts(clause: Clause) -> list[Draft]:
    """What the clause states, by the first rule that finds something, and the people it names."""
    found: list[Draft] = []
    for pattern, build in _RULES:
        match = pattern.match(clause.text)
        if match and (found := list(build(match, clause))):
            break
    people = english_people.facts(clause)
    said = {one.text for one in found}
    return found + [one for one in people if one.text not in said]


def note(clause: Clause) -> Draft | None:
    """The clause as a note, word for word but for the pronouns."""
    said = narrate(tail(clause.text))
    kind: FactKind = "note"
    if said and len(said.split()) >= 4 and re.search(r"\b(?:is|are|was|has|will|user|[a-z]{3,}s|[a-z]{3,}ed)\b", said):
        return draft(kind, "note", said, said, importance=3)
    return None
