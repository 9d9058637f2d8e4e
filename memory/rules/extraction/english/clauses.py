"""The English rules in the order in which they are tried, and those for sums, dates and belongings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.draft import (
    Draft,
    Rule,
    make_draft,
    make_rule,
    match_rule,
    strip_article,
)
from muniment.memory.rules.extraction.english import past, people as english_people, self, tastes
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import (
    find_names,
    make_slug,
    strip_fillers,
    trim_clause,
    trim_phrase,
)
from muniment.memory.rules.language.english_words import (
    DIETS,
    has_verb,
    narrate_clause,
    replace_pronouns,
)
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary


def _budget(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = re.sub(r"\s+(?:on|for)\s+(?:it|that|this)$", "", trim_phrase(match["value"]))
    what = replace_pronouns((match.groupdict().get("what") or "").strip())
    if re.search(r"\d", value) and (said := replace_pronouns(value)):
        yield make_draft(
            "constraint",
            "budget",
            said,
            f"The user's budget {f'for {what} ' if what else ''}is {'at most ' if 'most' in match.groupdict() else ''}"
            f"{said}",
            topic=strip_article(what) if what else None,
            category="constraints",
            single=True,
            importance=3,
        )


def _deadline(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = narrate_clause(trim_phrase(clause.text))
    if said and mentions.find_mentions(clause.text, clause.at):
        what = strip_article(replace_pronouns(match["what"] or "") or "work")
        due = mentions.expand_dates(match["value"], clause.at)
        yield make_draft(
            "constraint",
            make_slug(f"deadline of {what}"),
            due,
            said,
            category="tasks",
            importance=3,
            topic=what,
            single=True,
        )


_CLOCK = lazy_compile(r"\b(?:at\s+|from\s+|around\s+)?\d{1,2}(?::\d{2})?\s*(?:[ap]m\b|o'clock)?", re.IGNORECASE)


def _dated(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """The date of a thing of the person's; a later statement about the thing moves the date."""
    when, what = trim_phrase(match["value"]), replace_pronouns(match["what"])
    text = what and f"The user's {what} is {when}"
    # `on Christmas Eve` may be a date only together with the thing.
    dated = when if mentions.find_mentions(when, clause.at) else text or ""
    rest = _CLOCK.sub("", mentions.remove_dates(dated, clause.at).removeprefix(f"The user's {what} is")).strip(" ,")
    if text and mentions.find_mentions(dated, clause.at) and rest in ("", "on", "in"):
        yearly = bool(re.search(r"\b(?:birthday|anniversary)$", what or "", re.IGNORECASE))
        yield make_draft(
            "note",
            make_slug(f"date of {what}"),
            mentions.expand_dates(dated, clause.at).removeprefix(f"The user's {what} is "),
            text,
            category="event",
            importance=3,
            single=True,
            timeless=yearly,
        )


_DATE_RULES: tuple[Rule, ...] = (
    make_rule(r"(?:my|our|the)\s+(?:total\s+|monthly\s+|weekly\s+|travel\s+|project\s+)?budget\s+(?:for\s+"
          r"(?P<what>[\w' ]{2,30})\s+)?is\s+(?P<value>.+)$", _budget),
    make_rule(r"i\s+(?:can't|cannot|can\s+not|won't|(?:don't|do\s+not)\s+want\s+to)\s+(?:spend|pay)\s+more\s+than\s+"
          r"(?P<value>(?P<most>).+)$", _budget),
    make_rule(r"i\s+have\s+a\s+budget\s+of\s+(?P<value>.+)$", _budget),
    make_rule(r"(?:my|our|the)\s+deadline\s+(?:for\s+(?P<what>.{2,40}?)\s+)?is\s+(?P<value>.+)$", _deadline),
    make_rule(r"my\s+(?P<what>(?!(?:favou?rite|best|worst)\b)[a-z][\w'-]*(?:\s+[\w'-]+){0,5}?)\s+(?:(?:is(?:\s+now)?"
          r"|takes\s+place)(?=\s+(?:(?:on|in|at|next|this)\s|to(?:day|morrow|night)\b))|(?:has\s+been|was"
          r"|got)\s+(?:moved|postponed|rescheduled|brought\s+forward)\s+to)\s+(?P<value>.+)$", _dated),
)  # fmt: skip


_MINE = r"(?:my|our)\s+(?:new\s+|current\s+|own\s+)?"
_NOW = r"(?:(?:now|currently)\s+)?"
_THING = (
    r"(?P<what>(?:(?:work|company|family|gaming|road|mountain|electric|acoustic|bass)\s+)?(?:car|van|truck|motorbike"
    r"|motorcycle|scooter|bike|bicycle|boat|phone|smartphone|laptop|computer|pc|tablet|camera|watch|guitar|piano|violin"
    r"|printer|tv|fridge))"
)
# A make has a capital or a digit: a red Skoda, an iPhone 13, but not a mess.
_MAKE = (
    r"(?-i:an?\s+(?:(?!(?:from|of|for|by|like|to|in|on|with|at|and|or|called|named|than|about|former|total|real"
    r"|absolute|complete|bit|piece|gift|present|copy)\b)[a-z0-9][a-z0-9-]*\s+){0,3}(?:[A-Z][\w.&-]*|[a-z][A-Z]\w+)"
    r"(?:\s+(?:[A-Z0-9][\w.&-]*|[a-z][A-Z]\w+)){0,4})"
)
_LOUD = lazy_compile(r"\b[A-Z]{4,}\b")  # emphasis, not a make
_NO_MAKE = parse_vocabulary("lemon godsend lifesaver pos disaster nightmare mess joke miracle blessing")
_SUM = r"(?:\d[\d,.]*(?<![,.])(?:\s?(?:k|thousand|million|grand))?)"
_MONEY = (
    r"(?:euros?|dollars?|pounds?|francs?|yuan|yen|rupees?|zloty|kron(?:or|er|a)|bucks|quid|usd|eur|gbp|chf|cny|rmb"
    r"|[$€£¥])"
)
_A_TIME = r"(?:\s*(?:a|an|per|each|every|/)\s*(?:hour|day|week|month|year|annum))"
_AMOUNT = (
    rf"(?:(?:[$€£¥]\s?{_SUM}|{_SUM}\s?{_MONEY}){_A_TIME}?|{_SUM}{_A_TIME})(?:\s+(?:before\s+tax|after\s+tax|net|gross"
    rf"|warm|cold))?"
)
_DUE = (
    r"(?P<what>(?:(?!(?:first|last|next|old|former|previous|dream|ideal|other|second)\b)[a-z-]+\s+)?(?:rent|salary"
    r"|mortgage|income|pension|wages?|pay|allowance|tuition|loan|debt|stipend|scholarship|savings|net\s+worth"
    r"|credit\s+limit|hourly\s+rate|day\s+rate))"
)
_FLOOR = r"(?:ground|top|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d{1,2}(?:st|nd|rd|th))"


def _make(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = match["value"]
    if not _LOUD.search(value) and value.split()[-1].casefold() not in _NO_MAKE:
        yield _own(match["what"], value, f"is {value}", entities=find_names(value))


def _sum(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield _own(match["what"], match["value"], f"{match['be']} {match['value']}")


def _floor(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield _own(f"{match['what']} floor", match["value"], f"is on the {match['value']} floor", match["what"])


def _own(key: str, value: str, said: str, what: str = "", *, entities: tuple[str, ...] = ()) -> Draft:
    text = f"The user's {(what or key).casefold()} {said}"
    return make_draft("note", make_slug(f"own {key}"), value, text, single=True, entities=entities)


_THING_RULES: tuple[Rule, ...] = (
    make_rule(_MINE + _THING + r"\s+is\s+" + _NOW + r"(?P<value>" + _MAKE + r")$", _make),
    make_rule(
        _MINE + _DUE + r"\s+(?P<be>is|are)\s+" + _NOW + r"(?P<value>(?:(?:only|about|around|roughly|exactly)\s+"
        r")?" + _AMOUNT + r")$",
        _sum,
    ),
    make_rule(
        _MINE
        + r"(?P<what>flat|apartment|office|room|studio|desk)\s+is\s+"
        + _NOW
        + r"on\s+the\s+(?P<value>"
        + _FLOOR
        + r")\s+floor$",
        _floor,
    ),
)


# What `we` did and is true of the speaker, too. Other things that `we` did may be those of a firm or a country.
_TOGETHER = (
    r"(?:went(?!\s+(?:public|bankrupt|live|viral|out|down|up|back|over|through|under|for)\b)|visited|hiked|travell?ed"
    r"|flew|drove|camped|skied|sailed|cycled|climbed|toured|(?:moved|relocated|emigrated)(?!\s+(?:\w+\s+)?to\s+"
    r"(?:kubernetes|docker|aws|azure|gcp|postgres\w*|mysql|kafka|jira|zoom|slack|teams|notion|github|gitlab|react|linux"
    r"|windows|python|rust|java|google|microsoft|office)\b)|adopted|bought\s+(?:a|our)\s+(?:\w+\s+)?(?:house|home|flat"
    r"|apartment|car|van|boat|cottage|dog|cat|puppy|kitten)|rented|celebrated|lived|married|divorced|separated"
    r"|got\s+(?:married|engaged|divorced|an?\s+(?:\w+\s+)?(?:dog|cat|puppy|kitten|baby))|had\s+(?:dinner|lunch"
    r"|breakfast|a\s+(?:baby|son|daughter|picnic|barbecue)))"
)
_VERB = lazy_compile(r"\b(?:are|user|[a-z]{3,}s|[a-z]{3,}ed)\b")
_SHORT = 3  # words; a longer note needs no sure verb
_WE = lazy_compile(
    r"(?P<front>(?:(?:on|in|last|yesterday|this|two|three|a)\b[\w ]{0,30}?,?\s+)?)(?:we(?:\s+(?:both|all))?"
    r"|i\s+&\s+(?P<who>my\s+(?:\w+\s+)?\w+))\s+(?P<what>(?:(?:just|also|finally|recently|now|still|currently)\s+)*(?:"
    r"(?P<lives>live\s+in|are\s+(?P<diet>" + "|".join(map(re.escape, DIETS)) + r")$)|" + _TOGETHER + r"\b).*)$",
    re.IGNORECASE,
)
_JOINED = lazy_compile(r"\s+(?:and|but|so|with|since)\s+", re.IGNORECASE)
_CERTAIN_KINDS = ("identity", "constraint")
_RULES = self.RULES + _DATE_RULES + tastes.RULES + tastes.AIM_RULES + past.RULES + _THING_RULES


def draft_facts(clause: Clause) -> list[Draft]:
    """The drafts of the first rule that matches the clause, and those about the people that it names."""
    drafts = _draft_own_facts(clause)
    people = english_people.draft_people_facts(clause)
    if not drafts and (match := _WE.match(clause.text)):
        drafts = _draft_own_facts(replace(clause, text=_rewrite_singular(match)))
        if match["who"] and match["lives"]:
            does = f"is {match['diet']}" if match["diet"] else match["what"].replace("live", "lives", 1)
            people += english_people.draft_people_facts(replace(clause, text=f"{match['who']} {does}"))
    texts = {draft.text for draft in drafts}
    return drafts + [draft for draft in people if draft.text not in texts]


def _draft_own_facts(clause: Clause) -> list[Draft]:
    """The drafts of the first rule that matches the clause, less trailing fillers; else those of its start that are
    certain whatever follows: a name, a home, an allergy."""
    for form in dict.fromkeys((clause.text, trim_clause(clause.text))):
        if drafts := _match_rules(form, clause):
            return drafts
    start = _JOINED.split(clause.text, maxsplit=1)[0]
    drafts = _match_rules(start, clause) if start != clause.text else []
    return drafts if all(draft.fact.kind in _CERTAIN_KINDS for draft in drafts) else []


def _match_rules(text: str, clause: Clause) -> list[Draft]:
    return next(filter(None, (match_rule(rule, text, clause) for rule in _RULES)), [])


def _rewrite_singular(several: re.Match[str]) -> str:
    """The clause with `I` in place of `we`."""
    does = f"am {several['diet']}" if several["diet"] else several["what"]
    return f"{several['front']}I {does}"


def draft_note(clause: Clause) -> Draft | None:
    """The clause as a note in the third person; None if it cannot be converted or has no verb."""
    text = narrate_clause(strip_fillers(clause.text)) or narrate_clause(trim_clause(clause.text))
    if not text:
        return None
    states = has_verb(text) or (len(text.split()) > _SHORT and _VERB.search(text))
    return make_draft("note", "note", text, text, importance=3) if states and len(text.split()) >= _SHORT else None
