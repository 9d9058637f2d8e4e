"""What is written down of a person, as the person would say it: `The user lives in Rome`, `User lives in Rome` and, of Ana,
`Ana lives in Rome` all say `I live in Rome`."""

from __future__ import annotations

import re

from muniment.memory.rules.language.english_words import ADVERBS, base
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import vocabulary
from muniment.memory.rules.language.tokens import STOP, has_cjk

# Where there is another voice, or a pronoun, nobody knows whose it is: `she` may be the user, or the sister before. And what
# two do is not what either says of themselves.
_UNCLEAR = late(
    r"(?<![\w/])(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself|we|our|ours|you|your|yours|he|him|his|himself|she|her|hers|herself"
    r"|they|them|their|theirs|themself|themselves|its|(?-i:it|us))(?![\w/])|\buser\s+and\b|\band\s+the\s+user\b(?!['’])|[我你您咱俺他她它]",
    re.IGNORECASE,
)
_USER = r"(?:the\s+)?user"
_NAME = late(r"[^\W\d_][\w .'’-]+")
_BESIDES = late(r"\bthe\s+user\b(?P<own>['’]s\b)?", re.IGNORECASE)
_USER_ZH = late(r"用户(?!名|体验|界面|群|数|画像|协议|端|量|反馈|需求|手册|故事)")
_END = r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)[.!?;](?:\s|$)"
_AND = late(r"(,?\s+(?:and|but)\s+)", re.IGNORECASE)
# The verbs before which a clause of the same subject begins (rules/clauses.py).
_GO_ON = vocabulary(
    "like love hate prefer enjoy dislike adore live work speak play want plan have am need hope don't can't"
)

# What is written down without a subject is written of the owner, if it starts as such a note does. `Studies show …`, `Plays by …`
# start so, too: behind these verbs stands what is done, and no other verb.
_NOTE = late(
    r"(?:(?:currently|also|really|still|usually|always|now)\s+)?(?:(?:likes|loves|enjoys|hates|dislikes|prefers|adores|lives|works|speaks|plays|studies|knows|has|wants|plans|hopes|doesn't|does\s+not|can't|cannot"
    r"|is(?=\s+(?-i:[a-z\d])))\s+(?!(?:of|by|about|on|show|suggest|find|indicate|prove|say|reveal|confirm|have|been|not\s+only)\b))"
    r"(?!.*\b(?:is|are|was|were|will|would|can|could|did|should|must)\b).+",
    re.IGNORECASE,
)
_OWN_NOTE = late(
    r"(?:(?:full|first|last|preferred)\s+)?(?:name|nickname|birthday|native\s+language|mother\s+tongue|favou?rite\s+\w+)\s+is\s+.+|pronouns\s+are\s+.+",
    re.IGNORECASE,
)
_MORE = late(r"[.!?;]\s+\S|[?\n]|\buser\b", re.IGNORECASE)


def as_said(text: str, owner: str) -> str:
    """The text as its owner would say it, or as it stands where it has another voice, too."""
    if _UNCLEAR.search(text):
        return text
    if has_cjk(text):
        return _USER_ZH.sub("我", text)
    named = _NAME.fullmatch(owner) and owner.casefold() not in STOP
    who = rf"{_USER}|{re.escape(owner)}" if named else _USER
    subject = late(
        rf"(?P<start>^|[.!?;]\s+|\n\s*)(?:{who})(?:(?P<own>['’]s)(?=\s)|\s+(?P<rest>\S[^\n]*?)(?={_END}|\n|$))",
        re.IGNORECASE,
    )
    text = _with_subject(text)
    i = "i" if text == text.lower() else "I"
    said = subject.sub(
        lambda found: found["start"] + ("my" if found["own"] else f"{i} {_conjugated(found['rest'])}"), text
    )
    return _BESIDES.sub(lambda found: "my" if found["own"] else "me", said)


def _with_subject(text: str) -> str:
    """A single sentence of the owner that leaves the owner out: `Likes hiking`, `Name is Ana`."""
    own = _OWN_NOTE.fullmatch(text)
    if _MORE.search(text) or not (own or _NOTE.fullmatch(text)):
        return text
    who = "user" if text == text.lower() else "User"
    return f"{who}'s {text}" if own else f"{who} {text[0].lower()}{text[1:]}"


def _conjugated(rest: str) -> str:
    """What follows `The user`, as it follows `I`."""
    first, *more = _AND.split(rest)
    for n, clause in enumerate(more):
        verb, said = _spoken(clause)
        more[n] = said if n % 2 and verb in _GO_ON else clause
    return _spoken(first)[1] + "".join(more)


def _spoken(clause: str) -> tuple[str, str]:
    """The verb that a clause begins with, in the first person, and the clause with it."""
    tokens = clause.split(" ")
    at = next((n for n, one in enumerate(tokens) if one.casefold() not in ADVERBS), 0)
    tokens[at] = base(tokens[at])
    return tokens[at].casefold(), " ".join(tokens)
