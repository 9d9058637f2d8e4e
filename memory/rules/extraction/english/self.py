"""The English rules for the person: name, birthday, home, work, languages, tastes, dates, and how to answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.clauses import Build, Draft, Rule, make_draft
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_words import (
    LANGUAGES,
    NAME,
    NATIONALITIES,
    TRADES,
    conjugate_verb,
    is_name,
    make_slug,
    parse_list,
    parse_object,
    parse_place,
    replace_pronouns,
    trim_phrase,
)
from muniment.memory.rules.language.lazy_regex import lazy_compile

ADV = (
    r"(?:(?:really|absolutely|also|just|still|actually|always|usually|generally|mostly|honestly|truly|especially"
    r"|particularly|totally|currently|now|both|do|definitely|mainly|simply|officially|proudly|recently|only|even|very"
    r"|much)\s+){0,4}"
)
AM = r"i(?:'?m|\s+am)\s+" + ADV
ENDED = lazy_compile(r"\s+(?:any\s?more|any\s+longer)$", re.IGNORECASE)
_ARTICLE = lazy_compile(r"^(?:an?|the|some|any|my|all)\s+", re.IGNORECASE)


def strip_article(words: str) -> str:
    """The words without a leading article or quantity."""
    return _ARTICLE.sub("", words)


def name_rule(predicate: str, lead: str) -> Build:
    """A rule's function for a name: the full one, or the one that the person wants to be called by."""

    def build(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
        name = match["name"].strip(" .!")
        if is_name(name, clause):
            name = name if not clause.is_lowercase else name.title()
            yield make_draft("identity", predicate, name, f"{lead} {name}", single=True, persons=(name,))

    return build


_name = name_rule("name", "The user's name is")
_called = name_rule("preferred_name", "Preferred name is")


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


def _lives(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where, ended = parse_place(ENDED.sub("", match["place"]), clause), bool(match["neg"])
    if where:
        text = f"The user {'no longer lives' if ended else 'lives'} in {where}"
        yield make_draft("identity", "lives_in", where, text, single=True, negated=ended, importance=3, location=where)


def _origin(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    if where := parse_place(match["place"], clause):
        yield make_draft("identity", "comes_from", where, f"The user comes from {where}", single=True, location=where)


def _nationality(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = match["value"].title()
    if said.casefold() in NATIONALITIES:
        yield make_draft("identity", "nationality", said, f"The user is {said}", single=True)


def _moved(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    front = match["front"].strip(" ,")
    said = replace_pronouns(f"{trim_phrase(match['place'])} {front[:1].lower()}{front[1:]}".strip())
    where = parse_place(mentions.remove_dates(match["place"], clause.at), clause)
    if said and where:
        predicate, does = ("plans", "is moving") if match["ahead"] else ("moved_to", "moved")
        yield make_draft("event", predicate, where, f"The user {does} to {said}", importance=3, location=where)


# Descriptions of a person that are no trade, and trades that the person had.
_OF_SORTS = lazy_compile(
    r"(?:bit|lot|kind|sort|terrible|bad|awful|horrible|lousy|poor|good|great|decent|big|huge|slow|fast|nervous|careful"
    r"|natural|born|would-be|wannabe|aspiring|amateur|hobby|home|keen|avid|mean|better|worse|little|proud|former"
    r"|retired|ex)\b",
    re.IGNORECASE,
)
_MAX_TRADE = 4  # words


def parse_trade(words: str) -> str | None:
    """The trade at the start of the words, or None."""
    phrase = trim_phrase(words).split(" for ")[0]
    trade = strip_article(re.split(r"\s+(?:at|in|from|with|who|based|living|working)\b", phrase)[0]).strip()
    last = trade.rpartition(" ")[2].casefold().removesuffix("s")
    if last not in TRADES or _OF_SORTS.match(trade) or len(trade.split()) > _MAX_TRADE:
        return None
    return trade if replace_pronouns(trade) == trade else None


def _trade(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    trade, ended = parse_trade(match["value"]), bool(match["neg"])
    if not trade:
        return
    text = f"The user {'no longer works' if ended else 'works'} as {'an' if trade[0] in 'aeiouAEIOU' else 'a'} {trade}"
    yield make_draft("identity", "works_as", trade, text, single=True, negated=ended, importance=3)
    at = re.search(r"\bat\s+(.+)$", trim_phrase(match["value"]))
    if at and (firm := parse_place(at[1].partition(",")[0], clause)):
        yield _works_at(firm, ended=ended)


def _employer(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said, _, role = re.sub(r"\s+in\s+(?=[A-Z]).*", "", trim_phrase(match["value"])).partition(" as ")
    firm, ended = parse_place(ENDED.sub("", said), clause), bool(match["neg"])
    if firm:
        yield _works_at(firm, ended=ended)
    if trade := parse_trade(role):
        yield make_draft("identity", "works_as", trade, f"The user works as {role}", single=True, importance=3)


def _works_at(firm: str, *, ended: bool) -> Draft:
    text = f"The user {'no longer works' if ended else 'works'} at {firm}"
    return make_draft("identity", "works_at", firm, text, single=True, negated=ended, importance=3, entities=(firm,))


def _end_job(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said, value = replace_pronouns(trim_phrase(match["value"])), mentions.remove_dates(match["value"], clause.at)
    if said and (what := parse_place(value, clause)):
        yield make_draft("event", "left", what, f"The user left {said}", entities=(what,))


def _status(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = match["value"].casefold()
    yield make_draft("identity", "marital_status", said, f"The user is {said}", single=True)


def _studies(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(match["value"], clause)
    if value and not value.casefold().startswith("for "):
        yield make_draft("identity", "studies", strip_article(value), f"The user studies {value}", single=True)


def _speaks(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(match["neg"])
    for word in re.findall(r"[^\W\d_]+", match["value"]):
        if word.casefold() in LANGUAGES:
            text = f"The user {'does not speak' if against else 'speaks'} {word.title()}"
            yield make_draft("skill", "speaks", word.title(), text, negated=against)


def _native(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = match["value"].title()
    if said.casefold() in LANGUAGES:
        yield make_draft("identity", "native_language", said, f"The user's native language is {said}", single=True)


def _budget(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = re.sub(r"\s+(?:on|for)\s+(?:it|that|this)$", "", trim_phrase(match["value"]))
    what = replace_pronouns((match.groupdict().get("what") or "").strip())
    if re.search(r"\d", value) and (said := replace_pronouns(value)):
        most = "at most " if "most" in match.groupdict() else ""
        text = f"The user's budget {f'for {what} ' if what else ''}is {most}{said}"
        topic = strip_article(what) if what else None
        yield make_draft("constraint", "budget", said, text, topic=topic, single=True, importance=3)


_CHANGED = lazy_compile(r"^i\s+now\b|\b(?:now|again|these\s+days|nowadays)\W*$", re.IGNORECASE)


def _likes(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """What the person likes or not; of one thing a later statement denies or confirms an earlier one."""
    verb, neg, said = match["verb"].casefold(), (match["neg"] or "").casefold(), trim_phrase(match["value"])
    ended = ENDED.search(said) is not None or neg.startswith("no ")
    against = ended or bool(neg) or verb in ("hate", "dislike")
    how = f"does not {verb}" if ended or neg else conjugate_verb(verb)
    if neg and verb in ("hate", "dislike"):
        return
    changed = "now " if _CHANGED.search(clause.text) and not against else ""
    for value in parse_list(ENDED.sub("", said), clause):
        text = f"The user {changed}{how} {value}{' any more' if ended else ''}"
        yield make_draft("preference", "likes", strip_article(value), text, negated=against, timeless=True)


_CLOCK = lazy_compile(r"\b(?:at\s+|from\s+|around\s+)?\d{1,2}(?::\d{2})?\s*(?:[ap]m\b|o'clock)?", re.IGNORECASE)


def _dated(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """The date of a thing of the person's; a later statement about the thing moves the date."""
    when, what = trim_phrase(match["value"]), replace_pronouns(match["what"])
    rest = _CLOCK.sub("", mentions.remove_dates(when, clause.at)).strip(" ,")
    if what and mentions.find_mentions(when, clause.at) and rest in ("", "on", "in"):
        yearly = what.casefold().endswith(("birthday", "anniversary"))
        yield make_draft(
            "note",
            make_slug(f"date of {what}"),
            mentions.expand_dates(when, clause.at),
            f"The user's {what} is {when}",
            category="event",
            importance=3,
            single=True,
            timeless=yearly,
        )


def _favourite(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, value = match["what"].casefold(), parse_object(match["value"], clause)
    if value and replace_pronouns(what):
        text = f"The user's favourite {what} {match['be'].casefold()} {value}"
        predicate = f"favourite_{make_slug(what)}"
        yield make_draft("preference", predicate, strip_article(value), text, single=True, timeless=True)


def _style(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """How to answer: a language, a manner such as `briefly`, or what to use or leave out."""
    never = bool(match["neg"])
    how = re.sub(r"\s+", " ", match["how"]).casefold()
    predicate, value = "response_style", how
    if (language := re.fullmatch(r"in (\w+)", how)) and how not in _AT_LENGTH:
        if language[1] not in LANGUAGES:
            return
        predicate, value = "answer_language", language[1].title()
        how = f"in {value}"
    wants = "welcome" if "fine" in match.groupdict() else "want"
    wants = f"does not {wants}" if never else f"{wants}s"
    text = f"The user {wants} {f'{how} in answers' if 'thing' in match.groupdict() else f'answers {how}'}"
    if "preferred" in match.groupdict():
        text = f"The user {'does not want' if never else 'prefers'} {how} answers"
    single = not never and "thing" not in match.groupdict()
    yield make_draft("preference", predicate, value, text, category="style", single=single, negated=never, importance=3)


def _task(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(match["value"], clause)
    is_asked = "dated" not in match.groupdict() or mentions.find_mentions(match["value"], clause.at)
    if value and is_asked and len(value.split()) > 1 and not value.startswith("be "):
        what, text = mentions.remove_dates(value, clause.at), f"The user needs to {value}"
        yield make_draft("todo", "to_do", what, text, importance=3)


_NEG = r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?"
_THING = r"(?P<thing>)(?P<how>emojis?|bullet\s+points|jargon|markdown|slang|exclamation\s+marks|\w+\s+units)"
_MANNER = (
    r"(?:very\s+|more\s+)?(?:short|brief|concise|terse|succinct|simple|formal|informal|casual|polite|direct|detailed|long"
    r"|thorough)"
)
_AT_LENGTH = frozenset({"in detail", "in depth", "in short"})
_ANSWERS = r"(?:answers|replies|responses|explanations)"
_OPENING = r"(?:from\s+now\s+on,?\s+)?(?:please\s+)?(?:always\s+)?"
_END = r"(?:\s+(?:from\s+now\s+on|please|in\s+future|as\s+always|as\s+usual|only)){0,2}$"
RULES: tuple[Rule, ...] = tuple((lazy_compile(pattern, re.IGNORECASE), build) for pattern, build in (
    ((r"(?:you\s+(?:can|may|could|should)\s+|(?:everyone|everybody|people|(?:my|the)\s+(?:friends|family"
     r"|colleagues|team|kids))(?:\s+(?:at|in)\s+[\w' ]{2,24}?)?\s+(?:just\s+|always\s+|usually\s+|all\s+)?"
     rf"|(?:please\s+)?(?:just\s+)?)?calls?\s+me\s+(?P<name>{NAME})$"), _called),
    ((r"(?:i\s+(?:go\s+by|prefer\s+to\s+be\s+called|like\s+to\s+be\s+called|want\s+to\s+be\s+called)"
     r"|i'd\s+(?:prefer|like)\s+to\s+be\s+called|my\s+(?:preferred\s+name|nickname)\s+is)\s+"
     rf"(?P<name>{NAME})$"), _called),
    ((r"(?:my\s+(?:full\s+|first\s+|real\s+)?name(?:\s+is|'s)|i\s+am\s+called|i'm\s+called|i'm\s+named)\s+"
     rf"(?P<name>{NAME})$"), _name),
    (rf"(?:i'?m|i\s+am)\s+(?P<name>{NAME})(?:\s+(?:from|here|speaking)\b.*)?$", _name),
    (rf"this\s+is\s+(?P<name>{NAME})\s+(?:here|speaking)$", _name),
    ((r"(?:my\s+pronouns\s+are|i\s+(?:use|go\s+by)|my\s+pronouns:)\s+(?P<value>(?:she|he|they|xe"
     r"|ze)\s*/\s*\w+(?:\s*/\s*\w+)?)(?:\s+pronouns)?$"), _pronouns),
    (AM + r"(?P<value>\d{1,3})(?:\s+(?:years?|yrs?)\s*-?\s*old|\s+now)?$", _age),
    (r"i\s+(?:just\s+|recently\s+)?turned\s+(?P<value>\d{1,3})\b(?!\s+(?:in|down))", _age),
    (r"my\s+birthday(?:\s+is|'s)\s+(?:on\s+)?(?:the\s+)?(?P<value>.{3,30})$", _birthday),
    (r"i\s+was\s+born\s+on\s+(?:the\s+)?(?P<value>.{3,30})$", _birthday),
    (rf"(?:i\s+{ADV}{_NEG}{ADV}live|(?:i'?m|i\s+am)\s+{ADV}(?:living|based))\s+in\s+(?P<place>.{{2,60}})$", _lives),
    (AM + r"(?:an?\s+)?(?P<value>[a-z]+)(?:\s+by\s+birth|\s+citizen)?$", _nationality),
    (r"i(?:'m|\s+am|\s+come)\s+" + ADV + r"(?:originally\s+)?from\s+(?P<place>.{2,40})$", _origin),
    (r"(?P<front>(?:(?:in|last|yesterday|this|two|three|a)\b[\w ]{0,30}?,?\s+)?)(?:i(?:'ve|\s+have)?\s+" + ADV
     + rf"(?:finally\s+)?(?:moved|relocated|emigrated)|{AM}(?P<ahead>moving|relocating))\s+(?:back\s+)?"
     r"(?:from\s+.{2,40}?\s+)?to\s+(?P<place>.+)$", _moved),
    (rf"(?:{AM}(?P<neg>no\s+longer\s+)?|i\s+{ADV}work\s+{ADV}as\s+)an?\s+(?P<value>.{{3,80}})$", _trade),
    (r"(?:my\s+job\s+is|i\s+got\s+a\s+job\s+as)(?P<neg>)\s+(?:being\s+)?an?\s+(?P<value>.{3,80})$", _trade),
    (rf"(?:i\s+{ADV}{_NEG}{ADV}work|(?:i'm|i\s+am)\s+{ADV}(?:working|employed))\s+(?:at|for)\s+(?P<value>.{{2,60}})$",
     _employer),
    (rf"i(?:'ve|\s+have)?\s+{ADV}(?:left|quit)\s+(?P<value>(?-i:[A-Z]).{{1,60}})$", _end_job),
    (r"(?:i'm|i\s+am|i)\s+" + ADV + r"(?:studying|study|majoring\s+in)\s+(?P<value>.{3,60})$", _studies),
    (AM + r"(?P<value>married|divorced|widowed|engaged|single)(?:\s+now)?$", _status),
    (rf"(?:i\s+{ADV}(?P<neg>don't\s+|can't\s+|cannot\s+)?(?:can\s+)?speak|{AM}fluent\s+in)\s+(?P<value>.+)$",
     _speaks),
    (r"my\s+(?:native\s+language|mother\s+tongue|first\s+language)\s+is\s+(?P<value>\w+)$", _native),
    ((r"(?:(?:my|our|the)\s+(?:\w+\s+)?budget\s+(?:for\s+(?P<what>[\w' ]{2,30})\s+)?is|i\s+have\s+a\s+budget\s+of)"
     r"\s+(?P<value>.+)$"), _budget),
    ((r"i\s+(?:can't|cannot|can\s+not|won't|(?:don't|do\s+not)\s+want\s+to)\s+(?:spend|pay)\s+more\s+than\s+"
     r"(?P<value>(?P<most>).+)$"), _budget),
    ((r"my\s+(?:\w+\s+)?favou?rite\s+(?P<what>[\w'-]+(?:\s+[\w'-]+){0,2}?)\s+(?P<be>is|are)\s+"
     r"(?!(?:that|to|when|how|not|on|in|at|off|out|from)\b)(?P<value>.+)$"), _favourite),
    (_OPENING + r"(?P<neg>never\s+|don't\s+|do\s+not\s+)?(?:answer|reply|respond|(?:talk|speak|write)"
     r"\s+to\s+me)(?:\s+to\s+me)?\s+(?P<how>" + _MANNER + r"ly|in\s+\w+)" + _END, _style),
    ((rf"{_OPENING}(?P<neg>)(?:keep|make)\s+(?:your\s+|the\s+)?(?:answers|replies|responses"
     rf"|explanations)\s+(?P<how>{_MANNER}){_END}"), _style),
    (rf"i(?:'d|\s+would)?\s+{ADV}(?P<neg>)(?P<preferred>prefer|like|want)\s+(?P<how>{_MANNER})\s+{_ANSWERS}{_END}",
     _style),
    (rf"(?P<neg>){_OPENING}be\s+(?P<how>{_MANNER}){_END}", _style),
    ((rf"{_OPENING}(?P<neg>(?:don't|do\s+not|never)\s+)(?P<preferred>give(?:\s+me)?|write)\s+(?:me\s+)?"
      rf"(?P<how>{_MANNER})\s+{_ANSWERS}{_END}"), _style),
    (rf"(?:please\s+)?(?P<neg>)(?P<how>{_MANNER})\s+(?:answers|replies|responses|explanations){_END}", _style),
    ((rf"(?:{_OPENING}(?P<neg>(?:don't|do\s+not|never)\s+use|stop\s+using|no(?:\s+more)?|avoid)"
     rf"|(?=.*\b(?:always|from\s+now\s+on)\b){_OPENING}use)\s+{_THING}{_END}"), _style),
    ((rf"{_THING}\s+(?:is|are)\s+(?P<neg>not\s+)?(?P<fine>\w+\s+)?(?:fine|ok|okay|welcome|good|all\s+right)"
     rf"(?:\s+(?:with|by)\s+me)?(?:\s+now)?$"), _style),
    (rf"i\s+{ADV}{_NEG}{ADV}(?P<verb>like|love|enjoy|hate|dislike)\s+(?P<value>.+)$", _likes),
    ((r"my\s+(?P<what>(?!favou?rite\b)[a-z][\w'-]*(?:\s+[\w'-]+){0,5}?)\s+(?:(?:is(?:\s+now)?|takes\s+place)(?=\s+"
     r"(?:(?:on|in|at|next|this)\s|to(?:day|morrow|night)\b))|(?:has\s+been|was|got)\s+(?:moved|postponed"
     r"|rescheduled|brought\s+forward)\s+to)\s+(?P<value>.+)$"), _dated),
    (rf"i\s+{ADV}(?P<dated>need|have|'ve\s+got)\s+to\s+(?P<value>.+)$", _task),
    ((r"(?:please\s+)?(?:(?:can|could|will)\s+you\s+)?(?:please\s+)?(?:remind\s+me\s+to|don't\s+let\s+me\s+forget\s+to"
     r"|remember\s+to|don't\s+forget\s+to)\s+(?P<value>.+)$"), _task),
))  # fmt: skip
