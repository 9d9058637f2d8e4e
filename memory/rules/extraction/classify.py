"""Classifies a sentence: whether it states something lasting about the person who says it, and what it is about.

The first is told by a linear classifier. Its features are words and their first and last letters, pairs of words, how
the sentence begins, its shape - its function words, with a sign for the others -, the signals below, alone and by who
is spoken of, and its length. Each has a weight of one byte at the place of its hash (feature hashing, Weinberger et al.
2009). `python -m benchmarks.statements` trains the weights by logistic regression on sentences that were written for
it, finds the limit that stands with them, and prints how well they tell unseen sentences apart.
`python -m benchmarks.notes` measures the categories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from struct import Struct
from zlib import crc32

from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import english_words, tokens
from muniment.memory.rules.language.english_words import RELATION
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.language.tokens import parse_vocabulary

PLACES = 32768
WEIGHTS = Path(__file__).with_name("own_statement.weights")
HEADER = Struct("<fff")  # the weight of one step of a byte, the bias, and the limit
_MAX_TOKENS, _MAX_CHARS = 60, 600  # of a sentence; the rest has no say
_SIGNAL_SHARE = 0.35  # what a signal counts beside a word of a sentence of one word
_SHAPE_SHARE = 0.7  # what the whole shape counts beside the words, and what the beginning does
_LETTERS_SHARE = 0.5  # what the first and last letters of long words count
_LONG_WORD = 5
_MOST_LENGTHS = 20  # tokens; what is longer is of one length
_TOKEN = lazy_compile(r"[A-Za-z0-9]+(?:'[A-Za-z]+)?|[\u3400-\u9fff]|[?!,.:;…？！，。：；]")
_ENDINGS = ("ing", "ed", "ly", "s")
_FUNCTION_WORDS = tokens.STOP_WORDS | parse_vocabulary(
    "i'm im i've ive don't dont can't cant didn't isn't won't not no never yes please just still also already always"
    " yesterday today tomorrow last next now then"
)
_FUNCTION_SIGNS = frozenset(
    "我你您他她它们的了是在有和也都就很还又着过吗呢吧啊呀哦嗯这那个不没别会能要想可以得把被给对从到去来上下年月日天前后"
    "每一二三两几什么怎谁哪如果要是"
)
_DIGITS = lazy_compile(r"\d+")
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_OPENING = r"^\W*(?:(?:and|but|so|well|also|ok|yeah|no|oh|actually|btw)\W+)*"

# What a sentence looks like as a whole: who speaks, whether it asks, doubts or supposes, and when it is true.
_SIGNALS = tuple(
    (name, lazy_compile(pattern, re.IGNORECASE))
    for name, pattern in {
        "I": r"\bi(?:m|ve)?\b",
        "my": r"\b(?:my|our|mine)\b",
        "we": r"\b(?:we|us)\b",
        "I first": _OPENING + r"(?:i(?:m|ve)?|we|my|our)\b",
        "you": r"\b(?:you|your|u)\b",
        "asks": r"[?？]\s*$",
        "asks what": _OPENING + r"(?:what|who|whom|whose|where|why|how|which|when)\b",
        "asks whether": _OPENING + r"(?:is|are|was|were|am|do|does|did|can|could|will|would|should|shall|have|has|may"
        r"|isn't|aren't|don't|doesn't|didn't|can't|won't)\b",
        "asks for": r"\b(?:wonder\w*|any idea|anyone know|curious|do you know|tell me|explain|help me|i'd like to know"
        r"|i need help)\b",
        "doubts": r"\b(?:maybe|perhaps|might|not sure|unsure|i think|i guess|possibly|probably|don't know|dunno|idk"
        r"|no idea|could be|can't tell|can't decide|not certain|thinking (?:of|about)|considering|suppose)\b",
        "supposes": r"\b(?:if|unless|imagine|pretend|suppose|say i|let's say|dream\w*|wish|would|could have|would've)\b"
        r"|'d\b",
        "past": r"\b(?:\w+ed|was|were|got|had|went|did|bought|took|came|left|made)\b",
        "time": r"\b(?:yesterday|last|ago|since|every|each|in (?:19|20)\d\d|\w+day|january|february|march|april|june"
        r"|july|august|september|october|november|december|years?|months?|weeks?|always|never|used to|still|any ?more"
        r"|no longer|this (?:year|week|month|spring|summer|autumn|winter))\b",
        "moment": r"\b(?:today|right now|just now|rn|this morning|tonight|so tired|at the moment|currently)\b",
        "people": rf"\b(?:my|our)\s+(?:{RELATION}|kids?|boss|dog|cat|flatmate|neighbou?r)s?\b",
        "orders": r"^\W*(?:(?:and|so|ok|okay|now|please|just|can you|could you)\W+)*(?:tell|ask|write|give|show|explain"
        r"|translate|summari[sz]e|make|help|find|list|create|draft|fix|check|add|remove|change|let|rewrite|turn|put|use"
        r"|compare|pick|suggest|recommend|plan|read|look|try|answer|describe|define|convert|sort|count|shorten|keep)\b",
        "吩咐": r"^\W*(?:请|麻烦|帮|给我|替我|把|写|翻译|总结|解释|推荐|列|告诉|提醒|改|换|继续|再)",
        "number": r"\d",
        "exclaims": r"[!！]|\b(?:lol|omg|wow|haha\w*)\b|哈哈|嘿|哎|唉",
        "code": r"[={}<>\[\];]|\(\)|::|\b(?:error|exception|function|null|import|def|return)\b",
        "points": r"\b(?:this|that|these|those|it|the (?:first|second|third|last|other) (?:one|paragraph|line|option)"
        r"|above|paragraph|sentence|version)\b",
        "a thing first": r"^\W*(?:the|a|an|it|there|this|that)\b",
        "我": r"[我俺咱]",
        "我 first": r"^\W*(?:(?:其实|另外|还有|对了|嗯|哦|不过|但是|而且|那|所以)\W*)*[我咱俺]",
        "rules": r"\b(?:from now on|in future|whenever you|when you (?:answer|reply|write)|your (?:answers|replies))\b"
        r"|以后|回[我答]|跟我说|每次",
        "问": r"吗|呢[?？。]?$|还是|什么|怎么|为什么|哪|多少|几[个点岁年]|是不是|有没有|能不能|可不可以|谁",
        "疑": r"可能|也许|大概|说不定|好像|不确定|不知道|还没想好|或许|吧[。]?$|没准|拿不准|记不清|应该是|考虑",
        "假": r"如果|要是|假如|假设|假装|想象|万一|的话|就好了|梦里|梦见|恨不得|宁愿|当初",
        "你": r"[你您]",
        "short": r"^.{0,9}$",
        "long": r"^.{60}",
    }.items()
)


_SIGNALS_EN = tuple((name, pattern) for name, pattern in _SIGNALS if name.isascii())  # the others are Chinese
_FIRST = frozenset({"I first", "我 first"})
_SPEAKER = frozenset({"I", "my", "we", "我"})
_REQUESTS = ("asks", "asks what", "asks whether", "asks for", "orders", "问", "吩咐")


def is_request(clause: str) -> bool:
    """Whether a clause asks something or tells the assistant what to do, by its form alone."""
    return any(pattern.search(clause[:_MAX_CHARS]) for name, pattern in _SIGNALS if name in _REQUESTS)


def get_limit() -> float:
    """The log odds above which a sentence is taken for a statement of its speaker."""
    return _load_weights()[3]


def score_statement(sentence: str) -> float:
    """The log odds that a sentence states something lasting about its speaker; above 0 it rather does."""
    weights, step, bias, _ = _load_weights()
    total = sum(value * sum(map(weights.__getitem__, places)) for places, value in list_features(sentence))
    return total * step + bias


def list_features(sentence: str) -> Iterator[tuple[list[int], float]]:
    """Groups of places of a sentence's features, and the value of each: all words together have the length 1, as a
    vector."""
    sentence = sentence[:_MAX_CHARS]
    written = _TOKEN.findall(sentence.replace("’", "'"))[:_MAX_TOKENS]
    words = [_DIGITS.sub("0", word.lower()) for word in written]
    marked = ["^", *words, "$"]
    names = {f"u {word}" for word in words}
    names.update(f"b {a} {b}" for a, b in pairwise(marked))
    names.update(
        f"t {a} {b} {c}"
        for a, b, c in zip(marked, marked[1:], marked[2:], strict=False)
        if a == "^" or c == "$" or _CJK.match(b)
    )
    signs = [_classify_word(word, is_first=not n) for n, word in enumerate(written)]
    shape = ["^", "^", *signs, "$"]
    shapes = {f"k {a} {b}" for a, b in pairwise(shape)}
    shapes.update(f"k {a} {b} {c}" for a, b, c in zip(shape, shape[1:], shape[2:], strict=False))
    starts = {f"q {' '.join(signs[:n])}" for n in (1, 2, 3)} | {f"v {' '.join(words[:n])}" for n in (1, 2)}
    long = [word for word in words if len(word) >= _LONG_WORD]
    letters = {f"c {word[:4]}" for word in long} | {f"e {word[-3:]}" for word in long}
    groups = ((names, 1.0), (shapes, _SHAPE_SHARE), (starts, _SHAPE_SHARE), (letters, _LETTERS_SHARE))
    for group, share in groups:
        yield _find_places(group), share / max(1, len(group)) ** 0.5
    yield _find_places(_list_signals(sentence, written)), _SIGNAL_SHARE


def _find_places(names: Iterable[str]) -> list[int]:
    return [crc32(name.encode()) % PLACES for name in names]


def _list_signals(sentence: str, written: Sequence[str]) -> Iterator[str]:
    """The signals, each also with whether the speaker comes first, somewhere or nowhere; the length, and how many of
    the words are function words, of which a row of random words has none."""
    known = _SIGNALS_EN if sentence.isascii() else _SIGNALS
    signals = [name for name, pattern in known if pattern.search(sentence)]
    person = "first" if not _FIRST.isdisjoint(signals) else "there" if not _SPEAKER.isdisjoint(signals) else "none"
    yield f"p {person}"
    for name in signals:
        yield f"s {name}"
        yield f"p {person} {name}"
    length = min(len(written), _MOST_LENGTHS) // 3
    yield f"l {length}"
    yield f"l {person} {length}"
    functional = sum(word.lower() in _FUNCTION_WORDS or word in _FUNCTION_SIGNS for word in written)
    share = 4 * functional // max(1, sum(word[0].isalnum() for word in written))
    yield f"f {share}"
    if len(written) >= _LONG_WORD:
        yield f"f long {share}"


def _classify_word(word: str, *, is_first: bool) -> str:
    """A function word as it is; a number, a name and any other word by its ending as one sign each."""
    folded = word.lower()
    if folded in _FUNCTION_WORDS or folded in _FUNCTION_SIGNS:
        return folded
    if _CJK.match(word):
        return "Z"
    if not word[0].isalnum():
        return word
    if word[0].isdigit():
        return "0"
    if word[0].isupper() and not is_first:
        return "N"
    return next((f"X{ending}" for ending in _ENDINGS if folded.endswith(ending)), "X")


@lru_cache(maxsize=1)
def _load_weights() -> tuple[memoryview, float, float, float]:
    """The weights, each a signed byte, the weight of one step, the bias, and the limit."""
    content = WEIGHTS.read_bytes()
    step, bias, limit = HEADER.unpack_from(content)
    return memoryview(content)[HEADER.size :].cast("b"), step, bias, limit


# The category of a sentence, by what it is about: words and phrases of both languages vote for categories.

DOUBTFUL = "activity"
IMPORTANCES: Mapping[str, int] = {"constraints": 3, "style": 3, "tasks": 3, "goals": 3}  # at least, as of facts
_WEIGHTS = {"sure": 3.0, "fairly": 2.0, "likely": 1.0}  # of the sections of the lexicons
_KIN, _TRADE = 2.5, 1.5
_MIN_SCORE = 2.0  # below it nothing is certain
_IN_CONTEXT = {"profile": 3.0, "constraints": 3.0}  # least scores: such a note is in every context
# Of equal scores the first category wins.
_ORDER = (
    "constraints", "style", "tasks", "goals", "event", "history", "relationships", "projects", "knowledge",
    "interests", "preferences", "profile", "activity",
)  # fmt: skip
_WORD = lazy_compile(r"[a-z0-9]+(?:['-][a-z]+)*")
_CJK_RUN = lazy_compile(r"[\u3400-\u9fff]+")
_CONDITION = lazy_compile(rf"\b(?:{english_words.CONDITIONS}|{english_words.MEDICINE}|\d+\s?mg)\b")
_SPEAKING = lazy_compile(
    r"\b(?:i(?:'m|'ve)?|me|we)\b|^\W*(?:please\b\W*)?(?:never|don't|do not|no)\b"
    r"|我(?:自己|也|们|不|对|有|从|绝|吃|喝|患|得|只|要|每天|一直)|千万|别|不准|禁止"
)


@dataclass(frozen=True, slots=True)
class _Votes:
    """What each word or phrase votes for, with the weight of its vote, and the most words or characters of one that
    begins with a word or character."""

    weights: Mapping[str, tuple[tuple[str, float], ...]]
    lengths: Mapping[str, int]


def choose_category(sentence: str) -> str:
    """The category of a sentence; `activity` in case of doubt."""
    text = sentence[:_MAX_CHARS].lower().replace("’", "'")
    scores = dict.fromkeys(_ORDER, 0.0)
    english, chinese = _load_votes()
    votes = [*_match_phrases(_WORD.findall(text), " ", english)]
    if runs := _CJK_RUN.findall(text):
        votes += _match_phrases(" ".join(runs), "", chinese)
    for category, weight in votes:
        scores[category] += weight
    if _CONDITION.search(text):
        scores["constraints"] += _WEIGHTS["sure"]
    if scores["relationships"] and not _SPEAKING.search(text):  # of somebody else: "my sister is allergic to cats"
        scores["relationships"] += _WEIGHTS["likely"] if re.match(r"\W*(?:my|our|我)", text) else 0.0
        scores["constraints"] = 0.0
    for category, least in _IN_CONTEXT.items():
        if scores[category] < least:
            scores[category] = 0.0
    best = max(_ORDER, key=scores.__getitem__)
    return best if scores[best] >= _MIN_SCORE else DOUBTFUL


def file_wish(note: Candidate) -> Candidate:
    """The note of a wish about answers under `style`, where it is about nothing else."""
    is_open = note.category == DOUBTFUL
    return replace(note, category="style", importance=max(note.importance, IMPORTANCES["style"])) if is_open else note


def _match_phrases(parts: Sequence[str], joint: str, votes: _Votes) -> Iterator[tuple[str, float]]:
    """Yield the votes of the longest phrases; a phrase votes once, however often it is there."""
    at, seen = 0, set[str]()
    while at < len(parts):
        for end in range(min(len(parts), at + votes.lengths.get(parts[at], 1)), at, -1):
            phrase = joint.join(parts[at:end])
            found = votes.weights.get(phrase) or (votes.weights.get(phrase.removesuffix("s")) if joint else None)
            if found:
                if phrase not in seen:
                    seen.add(phrase)
                    yield from found
                at = end
                break
        else:
            at += 1


@lru_cache(maxsize=1)
def _load_votes() -> tuple[_Votes, _Votes]:
    """The votes of English and of Chinese, which the first note reads from the lexicons."""
    english, chinese = _read_table("en"), _read_table("zh")
    for word in english_words.RELATIONS:
        english.setdefault(word, []).append(("relationships", _KIN))
    for word in english_words.TRADES:
        english.setdefault(word, []).append(("profile", _TRADE))
    return _make_votes(english, " "), _make_votes(chinese, "")


def _read_table(language: str) -> dict[str, list[tuple[str, float]]]:
    lexicon = load_lexicon(f"note_categories.{language}")
    table: dict[str, list[tuple[str, float]]] = {}
    for section, weight in _WEIGHTS.items():
        for category, entries in lexicon.get_table(section).items():
            for entry in entries:
                for spelling in {entry, entry.replace("-", " ")}:  # `part-time` is written in both ways
                    table.setdefault(spelling, []).append((category, weight))
    return table


def _make_votes(table: Mapping[str, list[tuple[str, float]]], joint: str) -> _Votes:
    lengths: dict[str, int] = {}
    for phrase in table:
        parts = phrase.split(joint) if joint else phrase
        lengths[parts[0]] = max(len(parts), lengths.get(parts[0], 1))
    return _Votes({phrase: tuple(dict.fromkeys(found)) for phrase, found in table.items()}, lengths)
