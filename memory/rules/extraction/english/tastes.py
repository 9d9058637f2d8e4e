"""The English rules for likes, favourites, how to answer, goals and things to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.draft import (
    ADV,
    AM,
    ENDED,
    IDLE,
    Draft,
    Rule,
    make_draft,
    make_rule,
    strip_article,
)
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import find_names, make_slug, parse_list, parse_object, trim_phrase
from muniment.memory.rules.language.english_words import LANGUAGES, conjugate_verb, replace_pronouns
from muniment.memory.rules.language.lazy_regex import lazy_compile

_NEGATIVE = frozenset({"hate", "dislike", "detest", "loathe", "despise"})


def _likes(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, neg = match["verb"].casefold(), re.sub(r"\s+", " ", match["neg"] or "").casefold().strip()
    said = match["value"]
    ended = bool(ENDED.search(trim_phrase(said))) or neg in ("no longer", "stopped")
    said = ENDED.sub("", trim_phrase(said))
    changed = re.search(r"^i\s+now\b|\b(?:now|again|these\s+days|nowadays)\W*$", clause.text, re.IGNORECASE)
    bears = verb in ("stand", "bear")
    if bears != neg.startswith(("can't", "cannot", "can not", "cant")) or (verb in _NEGATIVE and neg):
        return
    for value in parse_list(said, clause):
        against = bool(neg) or verb in _NEGATIVE or ended
        # Of what was not liked, or not eaten, before: the word tells that something has changed.
        text = f"The user {'now ' if changed and not against else ''}{conjugate_verb(verb)} {value}"
        if bears:
            text = f"The user cannot {verb} {value}"
        elif ended:
            text = f"The user no longer {conjugate_verb(verb)} {value}"
        elif neg:
            text = f"The user does not {verb} {value}"
        yield make_draft("preference", "likes", strip_article(value), text, negated=against, timeless=True)


def _keen(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(match["neg"])
    for value in parse_list(match["value"], clause):
        how = re.sub(r"^fan of", "a fan of", re.sub(r"\s+", " ", match["how"].casefold()))
        text = f"The user is {'not ' if against else ''}{how} {value}"
        pastime = not against and how.startswith(("interested", "passionate", "into", "obsessed"))
        category = "interests" if pastime else None
        thing = strip_article(value)
        yield make_draft("preference", "likes", thing, text, category=category, negated=against, timeless=True)


def _prefers(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    halves = re.split(r"\s+(?:over|rather\s+than|instead\s+of|more\s+than|to)\s+(?!be\b)", match["value"], maxsplit=1)
    value = parse_object(halves[0], clause)
    other = parse_object(halves[1], clause) if len(halves) == 2 and not halves[0].startswith("to ") else None
    if not value:
        return
    style = re.search(
        r"\b(?:answers?|replies|responses?|explanations?|summaries|bullet\s+points|emojis?)\b", value, re.IGNORECASE
    )
    text = f"The user prefers {value}" + (f" over {other}" if other else "")
    yield make_draft(
        "preference", "prefers", strip_article(value), text, topic=other, category="style" if style else None
    )


def _favourite(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, value = match["what"].casefold(), parse_object(match["value"], clause)
    if (
        value
        and len(what.split()) <= 3
        and replace_pronouns(what)
        and not value.casefold().startswith(
            ("that ", "to ", "when ", "how ", "not ", "on ", "in ", "at ", "off ", "out ", "from ")
        )
    ):
        be = "are" if what.endswith("s") and not what.endswith("ss") else "is"
        yield make_draft(
            "preference",
            f"favourite_{make_slug(what)}",
            strip_article(value),
            f"The user's favourite {what} {be} {value}",
            single=True,
            timeless=True,
        )


def _style(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    how = trim_phrase(match["how"]).casefold()
    single, value = "response_style", how
    if language := re.fullmatch(r"in\s+(\w+)", how):
        if language[1] not in LANGUAGES:
            return
        how, single, value = f"in {language[1].title()}", "answer_language", language[1].title()
    never = bool(match["neg"])
    text = f"The user wants answers {how}" if not never else f"The user does not want answers {how}"
    yield make_draft("preference", single, value, text, category="style", single=not never, negated=never, importance=3)


def _manner(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    never, value = bool(match["neg"]), match["value"].casefold()
    yield make_draft(
        "preference",
        "response_style",
        value,
        f"The user {'does not want' if never else 'wants'} {value} in answers",
        category="style",
        negated=never,
        importance=3,
    )


def _welcome(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    never, value = bool(match["neg"]), match["value"].casefold()
    text = f"The user {'does not welcome' if never else 'welcomes'} {value} in answers"
    yield make_draft("preference", "response_style", value, text, category="style", negated=never, importance=3)


_NEG = r"(?P<neg>not\s+(?:really\s+|very\s+|a\s+)?|no\s+longer\s+)?"
RULES: tuple[Rule, ...] = (
    make_rule(r"i\s+" + ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+|never\s+|can't\s+|cannot\s+|can\s+not\s+"
          r"|cant\s+)?" + ADV
          + r"(?P<verb>like|love|enjoy|adore|hate|dislike|detest|loathe|despise|stand|bear)\s+(?P<value>.+)$",
          _likes),
    make_rule(AM + _NEG + ADV + r"(?:a\s+)?(?:big\s+|huge\s+|great\s+)?(?P<how>into|fond\s+of|fan\s+of|keen\s+on"
          r"|obsessed\s+with|passionate\s+about|interested\s+in|crazy\s+about)\s+(?P<value>.+)$", _keen),
    make_rule(r"i(?:'d|\s+would)?\s+" + ADV + r"prefer\s+(?P<value>.+)$", _prefers),
    make_rule(r"my\s+(?:all[- ]time\s+|absolute\s+)?favou?rite\s+(?P<what>[\w' -]{2,30}?)\s+(?:is|are|has\s+always\s+"
          r"been|would\s+be)\s+(?:called\s+)?(?P<value>.+)$", _favourite),
    make_rule(r"(?P<value>(?!what|which|who|this|that|it|he|she)[\w' ]{2,40}?)\s+(?:is|are)\s+my\s+(?:all[- ]time\s+"
          r"|absolute\s+)?favou?rite\s+(?P<what>[\w' -]{2,30})$", _favourite),
    make_rule(r"(?:please\s+)?(?:always\s+|from\s+now\s+on,?\s+(?:please\s+)?)?(?P<neg>never\s+|don't\s+"
          r"|do\s+not\s+)?(?:answer|reply|respond|talk\s+to\s+me|speak\s+to\s+me|write\s+to\s+me|write\s+your\s+"
          r"answers)(?:\s+to\s+me)?\s+(?P<how>(?:more\s+|very\s+)?(?:briefly|concisely|shortly|formally|informally"
          r"|casually|politely|directly|in\s+\w+|in\s+(?:short|full|simple)\s+\w+|in\s+bullet\s+points|in\s+detail))"
          r"(?:\s+from\s+now\s+on|\s+please|\s+in\s+future)?$", _style),
    make_rule(r"(?:please\s+)?(?:always\s+)?(?:keep|make)\s+(?:your\s+|the\s+)?(?:answers|replies|responses"
          r"|explanations)\s+(?P<neg>)(?P<how>(?:very\s+)?(?:short|brief|concise|simple|formal|informal|casual|detailed"
          r"|to\s+the\s+point))(?:\s+please)?$", _style),
    make_rule(r"(?:please\s+)?(?:(?P<neg>don't\s+use|do\s+not\s+use|never\s+use|stop\s+using|no(?:\s+more)?|avoid)"
          r"|always\s+use)\s+(?P<value>emojis?|bullet\s+points|jargon|markdown|slang|exclamation\s+marks|metric\s+units"
          r"|imperial\s+units)(?:\s+please)?$", _manner),
    make_rule(r"(?P<value>emojis?|bullet\s+points|jargon|markdown|slang|exclamation\s+marks)\s+(?:is|are)\s+"
          r"(?P<neg>not\s+)?(?:totally\s+|perfectly\s+)?(?:fine|ok|okay|welcome|good|all\s+right)(?:\s+(?:with"
          r"|by)\s+me)?(?:\s+now)?$", _welcome),
    make_rule(r"(?:please\s+)?(?P<neg>)(?P<how>short|brief|concise|detailed|formal|informal|casual|simple)\s+(?:answers"
          r"|replies|responses|explanations)(?:\s+(?:as\s+always|as\s+usual|from\s+now\s+on|please|only)){0,2}$",
          _style),
)  # fmt: skip


def _goal(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(match["neg"])
    value = parse_object(ENDED.sub("", match["value"]), clause)
    if value and not IDLE.match(value) and len(value.split()) >= 2:
        ended = (
            "no longer wants"
            if ENDED.search(trim_phrase(match["value"])) or (match["neg"] or "").casefold().strip() == "no longer"
            else "does not want"
        )
        how = (
            ended
            if against
            else {"plan": "plans", "inte": "intends", "hope": "hopes", "aim": "aims"}.get(
                match["how"].casefold()[:4].strip(), "wants"
            )
        )
        yield make_draft(
            "goal",
            "wants_to",
            mentions.remove_dates(value, clause.at),
            f"The user {how} to {value}",
            negated=against,
            importance=3,
            entities=find_names(value),
        )


def _toward(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, over = parse_object(ENDED.sub("", match["value"]), clause), "over" in match.groupdict()
    if value:
        doing = re.sub(r"\s+", " ", match["doing"].casefold())
        predicate = {
            "trai": "trains_for",
            "prep": "prepares_for",
            "savi": "saves_for",
            "lear": "learns",
            "tryi": "wants_to",
            "plan": "plans",
        }.get(doing[:4], "works_toward")
        if predicate == "wants_to" and (IDLE.match(value) or len(value.split()) < 2):
            return
        yield make_draft(
            "goal",
            predicate,
            strip_article(mentions.remove_dates(value, clause.at)),
            f"The user is {'no longer ' if over else ''}{doing} {value}",
            importance=3,
            negated=over,
            entities=find_names(value),
        )


_CHORE = lazy_compile(
    r"(?:call|e-?mail|text|buy|book|pay|pick\s+up|send|schedule|renew|submit|finish|return|order|cancel|fix|register"
    r"|file|sign|write|prepare\s+(?:the|an?|my|for)|pack|collect|drop\s+off|water|clean|print|review|update|apply"
    r"|contact|hand\s+in|deliver|refill|repair|wash|reply\s+to|complete|take\s+out)\b",
    re.IGNORECASE,
)


def _task(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(match["value"], clause)
    is_requested = (
        clause.is_directive
        or "remind" in (match["ask"] or "").casefold()
        or "let me" in (match["ask"] or "").casefold()
    )
    dated = bool(value and mentions.find_mentions(value, clause.at))
    if value and (is_requested or _CHORE.match(value) or (dated and not IDLE.match(value))) and len(value.split()) >= 2:
        yield make_draft(
            "note",
            "to_do",
            mentions.remove_dates(value, clause.at),
            f"The user needs to {value}",
            category="tasks",
            importance=3,
            entities=find_names(value),
        )


AIM_RULES: tuple[Rule, ...] = (
    make_rule(r"i\s+" + ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?" + ADV + r"(?P<how>want|plan|intend|hope"
          r"|aim|wish)\s+to\s+(?P<value>.+)$", _goal),
    make_rule(r"i(?:'d|\s+would)\s+(?P<neg>)" + ADV + r"(?P<how>like|love)\s+to\s+(?P<value>.+)$", _goal),
    make_rule(r"(?:i'm|i\s+am)\s+" + ADV + r"(?P<neg>not\s+)?(?P<how>planning|intending|hoping|aiming|looking)\s+to\s+"
          r"(?P<value>.+)$", _goal),
    make_rule(r"(?:i've|i\s+have)\s+(?:always\s+)?(?P<neg>)(?P<how>wanted|decided|planned)\s+to\s+(?P<value>.+)$",
          _goal),
    make_rule(r"(?P<neg>)my\s+(?:\w+\s+){0,2}(?P<how>goal|dream|aim|resolution|ambition|target)\s+(?:for\s+\S+\s+"
          r"|this\s+year\s+)?is\s+to\s+(?P<value>.+)$", _goal),
    make_rule(r"(?:i'?m|i\s+am)\s+" + ADV + r"(?P<doing>training\s+for|preparing\s+for|saving\s+(?:up\s+)?for"
          r"|saving\s+(?:up\s+)?to|studying\s+for|trying\s+to|learning\s+to|learning|working\s+toward?s?"
          r"|planning)\s+(?P<value>(?!to\s).+)$", _toward),
    make_rule(r"(?:(?:i|i've|i\s+have)\s+" + ADV + r"(?:stopped|quit|gave\s+up|given\s+up)|(?:i'?m|i\s+am)\s+(?:not"
          r"|no\s+longer))\s+(?P<over>)(?P<doing>training\s+for|preparing\s+for|saving\s+(?:up\s+)?for|studying\s+for"
          r"|learning\s+to|learning)\s+(?P<value>.+)$", _toward),
    make_rule(r"i\s+" + ADV + r"(?P<ask>)(?:need|have|'ve\s+got)\s+to\s+(?P<value>.+)$", _task),
    make_rule(r"(?:please\s+)?(?:(?:can|could|will)\s+you\s+)?(?:please\s+)?(?P<ask>remind\s+me\s+to|don't\s+let\s+"
          r"me\s+forget\s+to|remember\s+to|don't\s+forget\s+to)\s+(?P<value>.+)$", _task),
)  # fmt: skip
