"""The English rules for experience, skills, events, plans and habits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.draft import ADV, AM, IDLE, Draft, Rule, make_draft, make_rule, strip_article
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import (
    find_names,
    make_slug,
    parse_list,
    parse_object,
    parse_place,
    trim_clause,
)
from muniment.memory.rules.language.english_words import LANGUAGES, narrate_clause, replace_pronouns
from muniment.memory.rules.language.lazy_regex import lazy_compile


def _worked(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = narrate_clause(trim_clause(clause.text))
    value = parse_object(match["value"], clause)
    if said and value:
        predicate = {"as": "worked_as", "at": "worked_at", "for": "worked_at", "in": "worked_in"}[
            match["how"].casefold()
        ]
        yield make_draft(
            "experience",
            predicate,
            strip_article(mentions.remove_dates(value, clause.at)),
            said,
            entities=find_names(value),
        )


def _draft_experience(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(match["value"], clause)
    if (
        value
        and not re.match(r"(?:to\s|up\s|out\s|on\s|a\s+lot|through\s|be\b)", value)
        and (said := narrate_clause(f"{match['subject']} {value}"))
    ):
        verb = make_slug(match["verb"])
        doing = verb.endswith("ing")
        rest = re.sub(r"\s*\b(?:for|since)\b.*$", "", f"{verb} {value}") if doing else value
        predicate = "has_been" if doing else "used_to" if verb == "used" else verb
        yield make_draft(
            "experience",
            predicate,
            strip_article(mentions.remove_dates(rest, clause.at)),
            said,
            entities=find_names(value),
        )


def _skill(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(match["neg"])
    for value in parse_list(match["value"], clause):
        if len(value.split()) <= 6 and not re.match(r"(?:the|a|an|least)\s", value):
            yield make_draft(
                "skill",
                "skilled_in",
                value,
                f"The user is {'not ' if against else ''}{match['how'].casefold()} {value}",
                negated=against,
            )


def _speaks(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(match["neg"])
    for word in re.findall(r"[^\W\d_]+", match["value"]):
        if word.casefold() in LANGUAGES:
            text = f"The user {'does not speak' if against else 'speaks'} {word.title()}"
            yield make_draft("skill", "speaks", word.title(), text, negated=against)


def _their_language(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    language, how = match["value"], parse_object(match["how"], clause)
    if language.casefold() in LANGUAGES and how:
        bad = bool(re.match(r"(?:very\s+|really\s+)?(?:bad|poor|terrible|not\s)", how, re.IGNORECASE))
        yield make_draft("skill", "speaks", language, f"The user's {language} is {how}", confidence=0.7 if bad else 0.9)


def _plays(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    for value in parse_list(match["value"], clause, allow_articles=True):
        if len(value.split()) <= 4 and not re.match(r"(?:a|an|some|with|around|along|in|on)\b", value, re.IGNORECASE):
            yield make_draft("skill", "plays", strip_article(value), f"The user plays {value}")


def _knows(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(match["value"], clause)
    if (
        value
        and (match["how"] or re.match(r"[A-Z][\w+#.]*(?:(?:,\s*|\s+and\s+)[A-Z][\w+#.]*)*$", value))
        and not IDLE.match(value)
    ):
        for thing in [value] if match["how"] else parse_list(value, clause):
            how = "how to " if match["how"] else ""
            yield make_draft("skill", "skilled_in", thing, f"The user knows {how}{thing}", entities=find_names(thing))


_MOVED = lazy_compile(
    r"(?:moved|relocated|emigrated)\s+(?:back\s+)?(?:from\s+.{2,40}?\s+)?(?:in)?to\s+(?P<place>.+)", re.IGNORECASE
)
_BIG = lazy_compile(
    r"(?:moved|married|got\s+(?:married|engaged|divorced|promoted|fired|laid)|graduated|was\s+born|retired|adopted|quit"
    r"|bought\s+a\s+house|gave\s+birth)\b",
    re.IGNORECASE,
)


# Events that need no date.
_LIFE = lazy_compile(
    r"got\s+(?:married|engaged(?!\s+(?:in|with))|divorced|promoted|fired(?!\s+up)|laid\s+off)\b|quit\s+(?:smoking"
    r"|drinking|my\s+job)\b|(?:left|quit)(?:\s+[A-Z][\w&.'-]*){1,3}$"
)


_VAGUE = lazy_compile(
    r"\w+\s+(?:that|the\s+(?:idea|feeling|chance\s+to\s+see\s+it)|so|such|really|pretty|kind)\b|(?:wanted|needed"
    r"|decided|tried|realized|realised|noticed|loved|liked|enjoyed|hoped|looked|seemed|stayed|stopped)\b"
    r"|was\s+(?!born|hired|promoted|diagnosed|accepted|fired|in\s|at\s|elected|invited|admitted|laid\s|awarded|chosen"
    r"|robbed|arrested|injured)",
    re.IGNORECASE,
)


def _event(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what = trim_clause(match["what"])
    moved = _MOVED.match(what)
    where = parse_place(mentions.remove_dates(moved["place"], clause.at), clause) if moved else None
    dated = bool(mentions.find_mentions(clause.text, clause.at)) and not mentions.find_mentions(
        match["verb"], clause.at
    )
    if not dated and not where and not _LIFE.match(what):
        return
    front = match["front"].strip(" ,")
    said = narrate_clause(f"I {what} {front[:1].lower()}{front[1:]}".strip())
    beside = match.groupdict().get("beside")
    if beside and said:
        said = said.replace("The user ", f"The user and {replace_pronouns(beside)} ", 1)
    value = mentions.remove_dates(what, clause.at)
    rest = value[len(match["verb"]) :].strip()
    if said and (rest or where) and len(value.split()) <= 24 and not _VAGUE.match(value):
        light = match["verb"].casefold() in ("got", "was", "had", "became", "went", "took")
        predicate = "moved_to" if where else make_slug(f"{match['verb']} {rest.split()[0]}" if light else match["verb"])
        yield make_draft(
            "event",
            predicate,
            where or strip_article(rest),
            said,
            importance=3 if _BIG.match(what) else 2,
            location=where,
            entities=find_names(rest),
        )


def _plan(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    if not mentions.find_mentions(match["value"], clause.at):
        return
    value = parse_object(match["value"], clause)
    said = narrate_clause(trim_clause(clause.text))
    if value and said and not IDLE.match(value) and mentions.remove_dates(value, clause.at):
        yield make_draft(
            "event", "plans", strip_article(mentions.remove_dates(value, clause.at)), said, entities=find_names(value)
        )


def _habit(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = narrate_clause(trim_clause(clause.text))
    value = parse_object(match["what"], clause)
    if said and value and len(value.split()) <= 14:
        yield make_draft("note", "habit", strip_article(value), said, entities=find_names(value))


def _grew_up(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = parse_place(match["place"], clause)
    if where:
        yield make_draft("experience", "lived_in", where, f"The user grew up in {where}", location=where)


_PAST = (
    r"(?:was|had|went|got|came|met|saw|took|made|bought|left|began|became|ran|won|lost|found|taught|wrote|built|gave"
    r"|sold|flew|drove|broke|quit|spent|grew|fell|led|brought|caught|sent|swam|sang|drew|chose|rode|held|paid|ate|read"
    r"|[a-z]{2,14}(?<!ne)(?<!fe)(?<!spe)ed)"
)
RULES: tuple[Rule, ...] = (
    make_rule(r"i\s+(?:used\s+to\s+work|worked|have\s+worked|formerly\s+worked)\s+(?P<how>as|at|for|in)\s+"
          r"(?P<value>.+)$", _worked),
    make_rule(r"(?:i've|i\s+have)\s+(?:previously\s+)?worked\s+(?P<how>as|at|for|in)\s+(?P<value>.+)$", _worked),
    make_rule(r"(?P<subject>i\s+(?P<verb>used)\s+to)\s+(?P<value>.+)$", _draft_experience),
    make_rule(r"(?P<subject>(?:i've|i\s+have)\s+(?:also\s+|just\s+|already\s+|recently\s+)?(?P<verb>lived|studied"
          r"|visited|travelled|traveled|completed|climbed|published|written|built|taught|led|managed|volunteered|owned"
          r"|competed|graduated|run|founded|designed|served|won|finished))\s+(?P<value>.+)$", _draft_experience),
    make_rule(r"(?P<subject>(?:i've|i\s+have)\s+been\s+(?P<verb>[a-z]{2,14}ing))\s+(?P<value>.*\b(?:for\s+(?:"
          r"(?:\w+\s+){1,4})(?:years?|months?|decades?)|since\s+(?:\d{4}|childhood|\w+\s+\d{4}|i\s+was\s+\w+))\b.*)$",
          _draft_experience),
    make_rule(AM + r"(?P<neg>not\s+)?(?:very\s+|pretty\s+|quite\s+)?(?P<how>(?:good|great|excellent|skilled|experienced"
          r"|proficient|talented|bad|terrible)\s+(?:at|in|with))\s+(?P<value>.+)$", _skill),
    make_rule(r"(?:i\s+" + ADV + r"(?P<neg>don't\s+|can't\s+|cannot\s+)?(?:can\s+)?speak|" + AM
          + r"fluent\s+in)\s+(?P<value>.+)$", _speaks),
    make_rule(r"my\s+(?P<value>[A-Z][a-z]+)\s+is\s+(?P<how>" + ADV + r"(?:(?:pretty|quite|not|rather|getting)\s+" + ADV
          + r"){0,3}(?:fluent|good|great|decent|basic|rusty|ok|okay|bad|poor|terrible|better)\b.*)$", _their_language),
    make_rule(r"i\s+(?:can\s+)?" + ADV + r"play\s+(?P<value>(?:the\s+)?.{3,40})$", _plays),
    make_rule(r"i\s+" + ADV + r"(?:know|can)\s+(?P<how>how\s+to\s+)?(?P<value>.+)$", _knows),
    make_rule(r"i\s+grew\s+up\s+in\s+(?P<place>.{2,40})$", _grew_up),
    make_rule(r"i\s+" + ADV + r"(?P<what>(?!\w+\s+and\b)(?:go|run|swim|walk|cycle|bike|work\s+out|meditate|play|read"
          r"|cook|volunteer|practi[sc]e|train|meet|visit|call|teach|do\s+(?:yoga|pilates|a|my|the))\b.*\b(?:every"
          r"|each)\s+(?:other\s+)?(?:day|morning|evening|night|week|weekend|month|year|\w+day)\b.*)$", _habit),
    make_rule(r"(?P<front>)i\s+(?:&\s+(?P<beside>(?:my\s+(?:\w+\s+)?)?\w+)\s+)?(?:just\s+|also\s+|finally\s+"
          r"|recently\s+|actually\s+|then\s+|first\s+)*(?P<what>(?P<verb>" + _PAST + r")\s+.+)$", _event),
    make_rule(r"(?P<front>)i(?:'ve|\s+have)\s+(?:(?:just|recently|finally|now|already)\s+)?(?P<what>(?P<verb>moved"
          r"|relocated|emigrated)\s+.+)$", _event),
    make_rule(r"(?P<front>(?:on|in|last|yesterday|this|two|three|a)\b[\w ]{0,30}?,?\s+)i\s+(?:just\s+|also\s+"
          r"|finally\s+)*(?P<what>(?P<verb>" + _PAST + r")\b.*)$", _event),
    make_rule(r"(?:i\s+have|i've\s+got|i'm\s+having)\s+(?P<value>(?:an?|my|the)\s+.+)$", _plan),
    make_rule(r"(?:i'm|i\s+am|i)\s+(?:going|flying|travell?ing|moving|heading|getting|starting|running|meeting|visiting"
          r"|taking|leaving)\s+(?P<value>.+)$", _plan),
)  # fmt: skip
