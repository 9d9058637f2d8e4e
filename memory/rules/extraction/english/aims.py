"""What an English clause states of goals and things to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.draft import Draft, make_draft
from muniment.memory.rules.extraction.english.grammar import ADV, ENDED, IDLE, Rule, make_rule, strip_article
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import find_names, parse_object, trim_phrase
from muniment.memory.rules.language.lazy_regex import lazy_compile


def _goal(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    value = parse_object(ENDED.sub("", found["value"]), clause)
    if value and not IDLE.match(value) and len(value.split()) >= 2:
        ended = (
            "no longer wants"
            if ENDED.search(trim_phrase(found["value"])) or (found["neg"] or "").casefold().strip() == "no longer"
            else "does not want"
        )
        how = (
            ended
            if against
            else {"plan": "plans", "inte": "intends", "hope": "hopes", "aim": "aims"}.get(
                found["how"].casefold()[:4].strip(), "wants"
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


def _toward(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, over = parse_object(ENDED.sub("", found["value"]), clause), "over" in found.groupdict()
    if value:
        doing = re.sub(r"\s+", " ", found["doing"].casefold())
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


def _task(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(found["value"], clause)
    asked = (
        clause.is_directive
        or "remind" in (found["ask"] or "").casefold()
        or "let me" in (found["ask"] or "").casefold()
    )
    dated = bool(value and mentions.find_mentions(value, clause.at))
    if value and (asked or _CHORE.match(value) or (dated and not IDLE.match(value))) and len(value.split()) >= 2:
        yield make_draft(
            "note",
            "to_do",
            mentions.remove_dates(value, clause.at),
            f"The user needs to {value}",
            category="tasks",
            importance=3,
            entities=find_names(value),
        )


RULES: tuple[Rule, ...] = (
    make_rule(r"i\s+" + ADV + r"(?P<neg>don't\s+|do\s+not\s+|no\s+longer\s+)?" + ADV + r"(?P<how>want|plan|intend|hope"
          r"|aim|wish)\s+to\s+(?P<value>.+)$", _goal),
    make_rule(r"i(?:'d|\s+would)\s+(?P<neg>)" + ADV + r"(?P<how>like|love)\s+to\s+(?P<value>.+)$", _goal),
    make_rule(r"(?:i'm|i\s+am)\s+" + ADV + r"(?P<neg>not\s+)?(?P<how>planning|intending|hoping|aiming|looking)\s+to\s+"
          r"(?P<value>.+)$", _goal),
    make_rule(r"(?:i've|i\s+have)\s+(?:always\s+)?(?P<neg>)(?P<how>wanted|decided|planned)\s+to\s+(?P<value>.+)$", _goal),
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
