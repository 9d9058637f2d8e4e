"""Notes about a person in the first person: `The user lives in Rome` becomes `I live in Rome`."""

from __future__ import annotations

import re

from muniment.memory.rules.language.english_words import ADVERBS, get_base_verb
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.language.tokens import STOP_WORDS, has_cjk

# With another pronoun the subject is unclear: `she` may be the user or a sister. `The user and Ana` is not `I` either.
_UNCLEAR = lazy_compile(
    r"(?<![\w/])(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself|we|our|ours|you|your|yours|he|him|his|himself|she|her"
    r"|hers|herself|they|them|their|theirs|themself|themselves|its|(?-i:it|us))(?![\w/])|\buser\s+and\b"
    r"|\band\s+the\s+user\b(?!['’])|[我你您咱俺他她它]",
    re.IGNORECASE,
)
_USER = r"(?:the\s+)?user"
_NAME = lazy_compile(r"[^\W\d_][\w .'’-]+")
_OTHER_MENTION = lazy_compile(r"\bthe\s+user\b(?P<own>['’]s\b)?", re.IGNORECASE)
_USER_ZH = lazy_compile(r"用户(?!名|体验|界面|群|数|画像|协议|端|量|反馈|需求|手册|故事)")
_END = r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)[.!?;](?:\s|$)"
_AND = lazy_compile(r"(,?\s+(?:and|but)\s+)", re.IGNORECASE)
_CONTINUING_VERBS = load_lexicon("verbs.en").get_words("continuing")

# A note without a subject is about its owner if it starts with one of these verbs. The words after the verb exclude
# `Studies show …` and `Plays by …`.
_NOTE = lazy_compile(
    r"(?:(?:currently|also|really|still|usually|always|now)\s+)?(?:(?:likes|loves|enjoys|hates|dislikes|prefers"
    r"|adores|lives|works|speaks|plays|studies|knows|has|wants|plans|hopes|doesn't|does\s+not|can't|cannot"
    r"|is(?=\s+(?-i:[a-z\d])))\s+(?!(?:of|by|about|on|show|suggest|find|indicate|prove|say|reveal|confirm|have"
    r"|been|not\s+only)\b))"
    r"(?!.*\b(?:is|are|was|were|will|would|can|could|did|should|must)\b).+",
    re.IGNORECASE,
)
_OWN_NOTE = lazy_compile(
    r"(?:(?:full|first|last|preferred)\s+)?(?:name|nickname|birthday|native\s+language|mother\s+tongue"
    r"|favou?rite\s+\w+)\s+is\s+.+|pronouns\s+are\s+.+",
    re.IGNORECASE,
)
_MORE = lazy_compile(r"[.!?;]\s+\S|[?\n]|\buser\b", re.IGNORECASE)


def rewrite_first_person(text: str, owner: str) -> str:
    """The text with `I` for the user or owner. Unchanged where another pronoun makes it unclear."""
    if _UNCLEAR.search(text):
        return text
    if has_cjk(text):
        return _USER_ZH.sub("我", text)
    named = _NAME.fullmatch(owner) and owner.casefold() not in STOP_WORDS
    who = rf"{_USER}|{re.escape(owner)}" if named else _USER
    subject = lazy_compile(
        rf"(?P<start>^|[.!?;]\s+|\n\s*)(?:{who})(?:(?P<own>['’]s)(?=\s)|\s+(?P<rest>\S[^\n]*?)(?={_END}|\n|$))",
        re.IGNORECASE,
    )
    text = _add_subject(text)
    i = "i" if text == text.lower() else "I"
    rewritten = subject.sub(
        lambda match: match["start"] + ("my" if match["own"] else f"{i} {_conjugate_clauses(match['rest'])}"), text
    )
    return _OTHER_MENTION.sub(lambda match: "my" if match["own"] else "me", rewritten)


def _add_subject(text: str) -> str:
    """A single sentence with `user` where it leaves the owner out: `Likes hiking`, `Name is Ana`."""
    own = _OWN_NOTE.fullmatch(text)
    if _MORE.search(text) or not (own or _NOTE.fullmatch(text)):
        return text
    who = "user" if text == text.lower() else "User"
    return f"{who}'s {text}" if own else f"{who} {text[0].lower()}{text[1:]}"


def _conjugate_clauses(rest: str) -> str:
    """The words after `The user`, as they stand after `I`."""
    first, *more = _AND.split(rest)
    for n, clause in enumerate(more):
        verb, rewritten = _conjugate_first(clause)
        more[n] = rewritten if n % 2 and verb in _CONTINUING_VERBS else clause
    return _conjugate_first(first)[1] + "".join(more)


def _conjugate_first(clause: str) -> tuple[str, str]:
    """The first verb of a clause in the first person, and the clause with it."""
    tokens = clause.split(" ")
    index = next((n for n, token in enumerate(tokens) if token.casefold() not in ADVERBS), 0)
    tokens[index] = get_base_verb(tokens[index])
    return tokens[index].casefold(), " ".join(tokens)
