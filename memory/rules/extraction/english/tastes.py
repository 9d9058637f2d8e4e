"""What an English clause states of likes, favourites and how to answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.extraction.draft import Draft, draft
from muniment.memory.rules.extraction.english.grammar import ADV, AM, ENDED, Rule, bare, rule
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import listed, slug, thing, trim
from muniment.memory.rules.language.english_words import LANGUAGES, owned, singular

_NEGATIVE = frozenset({"hate", "dislike", "detest", "loathe", "despise"})


def _likes(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, neg = found["verb"].casefold(), re.sub(r"\s+", " ", found["neg"] or "").casefold().strip()
    said = found["value"]
    ended = bool(ENDED.search(trim(said))) or neg in ("no longer", "stopped")
    said = ENDED.sub("", trim(said))
    changed = re.search(r"^i\s+now\b|\b(?:now|again|these\s+days|nowadays)\W*$", clause.text, re.IGNORECASE)
    bears = verb in ("stand", "bear")
    if bears != neg.startswith(("can't", "cannot", "can not", "cant")) or (verb in _NEGATIVE and neg):
        return
    for value in listed(said, clause):
        against = bool(neg) or verb in _NEGATIVE or ended
        # Of what was not liked, or not eaten, before: the word tells that something has changed.
        text = f"The user {'now ' if changed and not against else ''}{singular(verb)} {value}"
        if bears:
            text = f"The user cannot {verb} {value}"
        elif ended:
            text = f"The user no longer {singular(verb)} {value}"
        elif neg:
            text = f"The user does not {verb} {value}"
        yield draft("preference", "likes", bare(value), text, negated=against, timeless=True)


def _keen(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    for value in listed(found["value"], clause):
        how = re.sub(r"^fan of", "a fan of", re.sub(r"\s+", " ", found["how"].casefold()))
        text = f"The user is {'not ' if against else ''}{how} {value}"
        yield draft("preference", "likes", bare(value), text, negated=against, timeless=True)


def _prefers(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    halves = re.split(r"\s+(?:over|rather\s+than|instead\s+of|more\s+than|to)\s+(?!be\b)", found["value"], maxsplit=1)
    value = thing(halves[0], clause)
    other = thing(halves[1], clause) if len(halves) == 2 and not halves[0].startswith("to ") else None
    if not value:
        return
    style = re.search(
        r"\b(?:answers?|replies|responses?|explanations?|summaries|bullet\s+points|emojis?)\b", value, re.IGNORECASE
    )
    text = f"The user prefers {value}" + (f" over {other}" if other else "")
    yield draft("preference", "prefers", bare(value), text, topic=other, category="style" if style else None)


def _favourite(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, value = found["what"].casefold(), thing(found["value"], clause)
    if (
        value
        and len(what.split()) <= 3
        and owned(what)
        and not value.casefold().startswith(
            ("that ", "to ", "when ", "how ", "not ", "on ", "in ", "at ", "off ", "out ", "from ")
        )
    ):
        be = "are" if what.endswith("s") and not what.endswith("ss") else "is"
        yield draft(
            "preference",
            f"favourite_{slug(what)}",
            bare(value),
            f"The user's favourite {what} {be} {value}",
            single=True,
            timeless=True,
        )


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


def _welcome(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    never, value = bool(found["neg"]), found["value"].casefold()
    text = f"The user {'does not welcome' if never else 'welcomes'} {value} in answers"
    yield draft("preference", "response_style", value, text, category="style", negated=never, importance=3)


_NEG = r"(?P<neg>not\s+(?:really\s+|very\s+|a\s+)?|no\s+longer\s+)?"
RULES: tuple[Rule, ...] = (
    rule(r"i\s+" + ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+|never\s+|can't\s+|cannot\s+|can\s+not\s+|cant\s+)?" + ADV
          + r"(?P<verb>like|love|enjoy|adore|hate|dislike|detest|loathe|despise|stand|bear)\s+(?P<value>.+)$",
          _likes),
    rule(AM + _NEG + ADV + r"(?:a\s+)?(?:big\s+|huge\s+|great\s+)?(?P<how>into|fond\s+of|fan\s+of|keen\s+on|obsessed\s+with|passionate\s+about|interested\s+in|crazy\s+about)\s+(?P<value>.+)$", _keen),
    rule(r"i(?:'d|\s+would)?\s+" + ADV + r"prefer\s+(?P<value>.+)$", _prefers),
    rule(r"my\s+(?:all[- ]time\s+|absolute\s+)?favou?rite\s+(?P<what>[\w' -]{2,30}?)\s+(?:is|are|has\s+always\s+been|would\s+be)\s+(?:called\s+)?(?P<value>.+)$", _favourite),
    rule(r"(?P<value>(?!what|which|who|this|that|it|he|she)[\w' ]{2,40}?)\s+(?:is|are)\s+my\s+(?:all[- ]time\s+|absolute\s+)?favou?rite\s+(?P<what>[\w' -]{2,30})$", _favourite),
    rule(r"(?:please\s+)?(?:always\s+|from\s+now\s+on,?\s+(?:please\s+)?)?(?P<neg>never\s+|don't\s+|do\s+not\s+)?(?:answer|reply|respond|talk\s+to\s+me|speak\s+to\s+me|write\s+to\s+me|write\s+your\s+answers)(?:\s+to\s+me)?\s+"
          r"(?P<how>(?:more\s+|very\s+)?(?:briefly|concisely|shortly|formally|informally|casually|politely|directly|in\s+\w+|in\s+(?:short|full|simple)\s+\w+|in\s+bullet\s+points|in\s+detail))(?:\s+from\s+now\s+on|\s+please|\s+in\s+future)?$", _style),
    rule(r"(?:please\s+)?(?:always\s+)?(?:keep|make)\s+(?:your\s+|the\s+)?(?:answers|replies|responses|explanations)\s+(?P<neg>)(?P<how>(?:very\s+)?(?:short|brief|concise|simple|formal|informal|casual|detailed|to\s+the\s+point))(?:\s+please)?$", _style),
    rule(r"(?:please\s+)?(?:(?P<neg>don't\s+use|do\s+not\s+use|never\s+use|stop\s+using|no(?:\s+more)?|avoid)|always\s+use)\s+(?P<value>emojis?|bullet\s+points|jargon|markdown|slang|exclamation\s+marks|metric\s+units|imperial\s+units)(?:\s+please)?$", _manner),
    rule(r"(?P<value>emojis?|bullet\s+points|jargon|markdown|slang|exclamation\s+marks)\s+(?:is|are)\s+(?P<neg>not\s+)?(?:totally\s+|perfectly\s+)?(?:fine|ok|okay|welcome|good|all\s+right)"
          r"(?:\s+(?:with|by)\s+me)?(?:\s+now)?$", _welcome),
    rule(r"(?:please\s+)?(?P<neg>)(?P<how>short|brief|concise|detailed|formal|informal|casual|simple)\s+(?:answers|replies|responses|explanations)(?:\s+(?:as\s+always|as\s+usual|from\s+now\s+on|please|only)){0,2}$", _style),
)  # fmt: skip
