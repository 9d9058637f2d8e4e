"""What an English clause states of likes, favourites and how to answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.extraction.draft import Draft, make_draft
from muniment.memory.rules.extraction.english.grammar import ADV, AM, ENDED, Rule, make_rule, strip_article
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import make_slug, parse_list, parse_object, trim_phrase
from muniment.memory.rules.language.english_words import LANGUAGES, conjugate_verb, replace_pronouns

_NEGATIVE = frozenset({"hate", "dislike", "detest", "loathe", "despise"})


def _likes(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, neg = found["verb"].casefold(), re.sub(r"\s+", " ", found["neg"] or "").casefold().strip()
    said = found["value"]
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


def _keen(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    for value in parse_list(found["value"], clause):
        how = re.sub(r"^fan of", "a fan of", re.sub(r"\s+", " ", found["how"].casefold()))
        text = f"The user is {'not ' if against else ''}{how} {value}"
        yield make_draft("preference", "likes", strip_article(value), text, negated=against, timeless=True)


def _prefers(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    halves = re.split(r"\s+(?:over|rather\s+than|instead\s+of|more\s+than|to)\s+(?!be\b)", found["value"], maxsplit=1)
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


def _favourite(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, value = found["what"].casefold(), parse_object(found["value"], clause)
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


def _style(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    how = trim_phrase(found["how"]).casefold()
    single, value = "response_style", how
    if language := re.fullmatch(r"in\s+(\w+)", how):
        if language[1] not in LANGUAGES:
            return
        how, single, value = f"in {language[1].title()}", "answer_language", language[1].title()
    never = bool(found["neg"])
    text = f"The user wants answers {how}" if not never else f"The user does not want answers {how}"
    yield make_draft("preference", single, value, text, category="style", single=not never, negated=never, importance=3)


def _manner(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    never, value = bool(found["neg"]), found["value"].casefold()
    yield make_draft(
        "preference",
        "response_style",
        value,
        f"The user {'does not want' if never else 'wants'} {value} in answers",
        category="style",
        negated=never,
        importance=3,
    )


def _welcome(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    never, value = bool(found["neg"]), found["value"].casefold()
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
          r"|replies|responses|explanations)(?:\s+(?:as\s+always|as\s+usual|from\s+now\s+on|please|only)){0,2}$", _style),
)  # fmt: skip
