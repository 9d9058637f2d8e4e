"""Signs in a clause that tell what it claims: whose it is, whether it is denied, wished for, asked or only imagined."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from muniment.memory.rules.language import chinese_words, english_words
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

USER, OTHER = "user", "other"
_LEXICONS = load_lexicon("bearing.en"), load_lexicon("bearing.zh")
_SENTENCE = lazy_compile(r"[^.!?。！？\n]+(?:[.](?=\w)[^.!?。！？\n]*)*[.!?。！？]*")
_BORDER = lazy_compile(
    r"[,;:，；：]\s*|\s+[-–—]+\s+|\s+(?=(?:and|but|so|because|while|though|although|since|whereas)\s)|(?=但是|不过|可是|而且|所以)",
    re.IGNORECASE,
)
_OPENING = lazy_compile(
    r"^(?:and|but|so|because|while|though|although|since|no|nope|nah|yes|yeah|yep|well|oh|ok|okay|hey|hi|sure|right"
    r"|thanks|actually|now|just|honestly|不是|没有|是的|对|嗯|好的|但是|不过|可是|而且|所以|其实)(?![\w'])[\s,，]*",
    re.IGNORECASE,
)
_WORD = lazy_compile(r"[\w'’-]+")
_MIN_WORDS, _MIN_CHARS = 3, 4  # of a clause; a shorter one belongs to the clause before it
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_USER_WORDS = r"(?:i|i'm|i've|i'd|i'll|im|ive|we|we're|we've|we'd|we'll)"
_USER_ZH = r"(?:我们?|咱们?|俺|本人)"
_OTHER_WORDS = r"(?:he|she|they|you|somebody|everyone|everybody|people|nobody)(?:'s|'re|'ve|'d|'ll)?(?![\w'])"
_OTHER_ZH = r"(?:[他她](?!们?的)们?|你们?|您|别人|有人)"
_NOT_SUBJECT_ZH = r"(?<![带和跟给陪对把为与同帮送接教看找见有只个位名条])"
_NOT_VERBS = r"(?:since|in|for|with|and|or|at|on|to|from|of|by|as|until|till|near|but)"
_DOES_ZH = r"(?=[叫是在有今对也很会不上去住患得喜要想说下明昨刚最从已一每经爱怕过])"
_DOES = (
    r"(?=\s*(?:,\s*)?(?:who|whose|that|is|are|was|were|has|had|just|also|never|always|can|can't|will|won't|doesn't"
    r"|isn't|'s|and\s+i|[a-z]{2,}(?:s|ed)|got|went|made|ran|[A-Z][\w-]+)(?![\w-]))"
)
_PERFECT = lazy_compile(r"\b(?:has|have|'ve|i've|we've)\s+(?:(?:always|also|been|just|recently)\s+)*[a-z]+")
_SOMEBODY = lazy_compile(
    r"(?<!\bas )\b(?:a|an|the|some|any|every)\s+(?:[a-z-]+\s+){1,2}?(?:who|whose)\b"
    r"|(?<!\bas )\b(?:some|any|every)one\b"
)
_ORDER = lazy_compile(
    r"^(?:please\s+)?(?:can\s+you\s+)?(?:write|compose|draft|create|generate|design|translate|summari[sz]e|invent|make\s+up"
    r"|tell\s+me\s+(?:a|about|how|what))\b|^(?:请|帮我)?(?:写|编|翻译|生成|起草|总结)",
    re.IGNORECASE,
)
_TO_USER = lazy_compile(r"(?<![\w'])(?:me|us)(?![\w'])|(?:给|让|叫|请|教|送|带)我")
_PRESUPPOSED = lazy_compile(
    r"(?<![\w'])(?:my|i'm|i\s+am(?!\s+i)|i\s+have|i've|our|we're|we've|as\s+an?|who)(?![\w'])|我的|我是|我有|我家|我(?=[老妈爸儿女])",
    re.IGNORECASE,
)
_INVERTED = lazy_compile(r"(?:should|do|did|am|can|could|would|will|shall|is)\s+(?:i|we)(?![\w'])", re.IGNORECASE)
_ASKS = lazy_compile(r"[?？]\s*$|[吗呢么]\s*[。！]?\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause of a sentence, and who it is about if it does not say so itself."""

    text: str
    sentence: str
    before: str = USER  # the subject of the clause before it in the sentence


def split_clauses(text: str) -> list[Clause]:
    """The clauses of a text. What is too short for a clause stays with the one before it."""
    clauses: list[Clause] = []
    for sentence in _SENTENCE.findall(straighten_quotes(text)):
        parts: list[str] = []
        for part in filter(str.strip, _BORDER.split(sentence)):
            if parts and (_is_short(part) or _is_short(parts[-1])):
                parts[-1] = f"{parts[-1]} {part.strip()}"
            else:
                parts.append(part.strip())
        before = USER
        for part in parts:
            bare = strip_opening(part)
            clause = Clause(text=bare or part, sentence=sentence.strip(), before=before)
            clauses.append(clause)
            before = find_subject(clause)[0]
    return clauses


def straighten_quotes(text: str) -> str:
    """The text with straight apostrophes."""
    return text.replace("’", "'").replace("‘", "'")


def strip_opening(text: str) -> str:
    """The text without words that open a clause and say nothing."""
    bare = _OPENING.sub("", text.strip())
    return strip_opening(bare) if bare != text.strip() else bare


def find_subject(clause: Clause, *, until: int | None = None, names: Collection[str] = ()) -> tuple[str, int]:
    """Who the clause is about before the position `until`, and where the words about that subject begin.

    `USER`, the name of a relation, one of `names`, or `OTHER`. Without a subject of its own it has the one before."""
    text = clause.text
    marks = sorted(_iterate_subjects(text, names))
    marks = [mark for mark in marks if until is None or mark[0] <= until]
    if not marks:
        return clause.before, 0
    start, subject = marks[-1]
    for earlier, other in reversed(marks[:-1]):
        if other != subject:
            break
        start = earlier
    return subject, start


def names_user(text: str) -> bool:
    """Whether the text has the speaker as a subject."""
    return _USER_MARK.search(straighten_quotes(text).casefold()) is not None


def find_kin(text: str) -> frozenset[str]:
    """The relations that a text names."""
    folded = straighten_quotes(text).casefold()
    found = {_KIN[match.group()] for match in _KIN_WORD.finditer(folded)}
    return frozenset(found | {_KIN_ZH[match.group()] for match in _KIN_WORD_ZH.finditer(folded)})


def find_owned_kin(statement: str) -> frozenset[str]:
    """The relations of the user that a statement names: `the user's mother`."""
    return frozenset(
        name
        for match in _OWNED.finditer(straighten_quotes(statement))
        for name in (_KIN.get((match["en"] or "").casefold()), _KIN_ZH.get(match["zh"] or ""))
        if name
    )


def drop_unknown_kin(statement: str, known: str, persons: Collection[str] = ()) -> str:
    """The statement with a bare name for `the user's brother Ben` where nobody called that person a brother."""
    kin = find_kin(known)

    def shorten(match: re.Match[str]) -> str:
        return match.group() if is_same_kin(_KIN[match["en"].casefold()], kin) else match["name"]

    text = _APPOSITION.sub(shorten, straighten_quotes(statement))
    for person in persons:
        found = re.search(rf"用户的?({join_alternatives(_KIN_ZH)}){re.escape(person)}", text)
        if found and not is_same_kin(_KIN_ZH[found[1]], kin):
            text = text.replace(found.group(), person)
    return text


def is_same_kin(kin: str, known: Collection[str]) -> bool:
    """Whether one of the known relations may be this one: a son is a child."""
    return kin in known or not _SAME_KIN.get(kin, frozenset()).isdisjoint(known)


def is_denied(text: str) -> bool:
    """Whether the text denies: `does not`, `gave up`, `used to`, `hates`. A denied dislike is no denial."""
    folded = _replace_idioms(text)
    past = _PAST_STATE.search(_PERFECT.sub(" ", folded))
    denied = bool(_NEGATION.search(folded) or _ENDING.search(folded) or past)
    return denied != bool(_AVERSION.search(folded))


def is_wish(text: str) -> bool:
    """Whether the text tells of a wish, a plan or a possibility."""
    return _WISH.search(straighten_quotes(text).casefold()) is not None


def is_imagined(sentence: str) -> bool:
    """Whether the sentence tells of a case that is only thought of."""
    return _HYPOTHETICAL.search(straighten_quotes(sentence).casefold()) is not None


def is_death(text: str) -> bool:
    """Whether somebody has died in the text."""
    return _DEATH.search(straighten_quotes(text).casefold()) is not None


def is_asked(clause: Clause) -> bool:
    """Whether the clause only asks. `my` and `I'm` in a question tell something beside."""
    if _ORDER.search(clause.sentence):
        return not _PRESUPPOSED.search(clause.text)
    if not _ASKS.search(clause.sentence):
        return False
    return bool(_INVERTED.search(clause.text)) or not _PRESUPPOSED.search(clause.text)


def concerns_user(text: str) -> bool:
    """Whether somebody does something to or for the user in the text."""
    last = max((start for start, _ in _iterate_subjects(text, ())), default=0)
    return _TO_USER.search(straighten_quotes(text).casefold(), last) is not None


def as_first_person(statement: str) -> Clause:
    """A statement about the user as if the user said it, with its signs where those of a clause are."""
    text = straighten_quotes(statement)
    for pattern, word in _THIRD_TO_FIRST:
        text = pattern.sub(word, text)
    return Clause(text=text, sentence=text)


def cut_start(clause: Clause, start: int) -> Clause:
    """The clause from a position on."""
    return replace(clause, text=clause.text[start:])


def _is_short(part: str) -> bool:
    bare = strip_opening(part)
    if _CJK.search(bare):
        return len(_CJK.findall(bare)) < _MIN_CHARS
    return len(_WORD.findall(bare)) < _MIN_WORDS and not re.search(rf"(?i)(?<![\w'])(?:{_USER_WORDS})(?![\w'])", bare)


def _iterate_subjects(text: str, names: Collection[str]) -> Iterable[tuple[int, str]]:
    folded = text.casefold()
    yield from ((match.start(), USER) for match in _USER_MARK.finditer(folded))
    yield from ((match.start(), OTHER) for match in _OTHER_MARK.finditer(folded))
    yield from ((match.start(), OTHER) for match in _SOMEBODY.finditer(folded))
    for match in _KIN_MARK.finditer(text):
        yield match.start(), _KIN[(match["first"] or match["later"]).casefold()]
    for match in _KIN_MARK_ZH.finditer(text):
        yield match.start(), _KIN_ZH[match["first"] or match["later"]]
    for name in names:
        if called := re.match(rf"{re.escape(name)}(?:'s)?(?=\s+(?!{_NOT_VERBS}\b)[a-z]|[\u3400-\u9fff])", text):
            yield called.start(), name


def _is_chinese(entry: str) -> bool:
    return any("\u3400" <= char <= "\u9fff" for char in entry)  # no pattern, which an import would compile


def _list(section: str) -> list[str]:
    return [
        " ".join(entry.split())
        for lexicon in _LEXICONS
        for entry in lexicon.get_text(section).replace("\n", " ").split(",")
        if entry.strip()
    ]


def _compile(section: str) -> re.Pattern[str]:
    """A pattern for any entry of a section; Chinese ones need no border, and a hyphen or an apostrophe is one."""
    entries = _list(section)
    english = [entry for entry in entries if not _is_chinese(entry)]
    bounded = join_alternatives(entry for entry in english if entry[0] != "'" and entry != "n't" and entry[-1] != "-")
    parts = [rf"(?<![\w'-]){bounded}(?![\w'-])"]
    parts += [re.escape(entry) + r"(?![\w-])" for entry in english if entry[0] == "'" or entry == "n't"]
    parts += [r"(?<![\w'-])" + re.escape(entry) for entry in english if entry[-1] == "-"]
    chinese = [entry for entry in entries if _is_chinese(entry)]
    return lazy_compile("|".join([*parts, join_alternatives(chinese)]))


def _replace_idioms(text: str) -> str:
    folded = straighten_quotes(text).casefold()
    return _IDIOM.sub(lambda match: _IDIOMS[match.group()], folded)


def _read_idioms() -> dict[str, str]:
    pairs = (
        entry.partition(":")
        for lexicon in _LEXICONS
        for line in lexicon.get_phrases("idioms")
        for entry in line.split(",")
    )
    return {phrase.strip(): meaning.strip() for phrase, _, meaning in pairs}


_KIN = dict(english_words.RELATIONS.items()) | _LEXICONS[0].get_index("kin", ",")
_KIN |= {f"{word}s": name for word, name in _KIN.items() if not word.endswith("s")}
_KIN_ZH = {word: name for word, (name, _) in chinese_words.RELATIONS.items()} | _LEXICONS[1].get_index("kin", ",")
_SAME_KIN = {
    name: frozenset(entry for lexicon in _LEXICONS for entry in lexicon.get_table("same_kin", ",").get(name, ()))
    for name in {*_LEXICONS[0].get_table("same_kin", ","), *_LEXICONS[1].get_table("same_kin", ",")}
}
KIN_NAMES = frozenset({*_KIN.values(), *_KIN_ZH.values()})
_KIN_WORD = lazy_compile(rf"(?<![\w-]){join_alternatives(_KIN)}(?![\w-])")
_KIN_WORD_ZH = lazy_compile(join_alternatives(_KIN_ZH))
_OWNED = lazy_compile(
    rf"(?i:\buser's)\s+(?:[\w-]+\s+){{0,2}}?(?P<en>(?i:{join_alternatives(_KIN)}))(?![\w-])"
    rf"|用户的?(?P<zh>{join_alternatives(_KIN_ZH)})"
)
_APPOSITION = lazy_compile(
    rf"(?i:(?:\bthe\s+)?\buser's)\s+(?P<en>(?i:{join_alternatives(_KIN)}))\s+(?P<name>[A-Z][\w-]+)(?!\w)"
)
_USER_MARK = lazy_compile(
    rf"(?<![\w'-]){_USER_WORDS}(?![\w'-])"
    rf"|{_USER_ZH}(?!家?的?(?:那个?|这个?)?{join_alternatives(_KIN_ZH)}|的(?!是))|(?<![\w])我家里?(?=有)"
)
_OTHER_MARK = lazy_compile(rf"(?<![\w'-]){_OTHER_WORDS}|{_OTHER_ZH}")
_KIN_MARK = lazy_compile(
    rf"^(?i:my|our|his|her|the)\s+(?:[\w-]+\s+){{0,2}}?(?P<first>(?i:{join_alternatives(_KIN)}))(?![\w-])"
    rf"|(?<![\w'-])(?i:my|our|his|her|the|a|an|one|two|three|that|says|and|because|when)\s+(?:[a-z-]+\s+){{0,1}}?"
    rf"(?P<later>{join_alternatives(_KIN)})(?![\w-]){_DOES}"
)
_KIN_MARK_ZH = lazy_compile(
    rf"^(?:我们?|咱们?)?家?的?(?:那个?|这个?)?(?P<first>{join_alternatives(_KIN_ZH)})"
    rf"|{_NOT_SUBJECT_ZH}(?:我们?|咱们?)?(?P<later>{join_alternatives(_KIN_ZH)}){_DOES_ZH}"
)
_THIRD_TO_FIRST = (
    (lazy_compile(r"\b(?:the\s+)?user's(?!\w)", re.IGNORECASE), "my"),
    (lazy_compile(r"\b(?:the\s+)?user\b", re.IGNORECASE), "I"),
    (lazy_compile(r"用户"), "我"),
)
_NEGATION, _ENDING, _PAST_STATE = _compile("negations"), _compile("endings"), _compile("past_states")
_AVERSION, _WISH, _HYPOTHETICAL = _compile("aversions"), _compile("wishes"), _compile("hypotheticals")
_DEATH = _compile("deaths")
_IDIOMS = _read_idioms()
_IDIOM = lazy_compile(
    rf"(?<![\w-])(?:{join_alternatives(k for k in _IDIOMS if not _is_chinese(k))})(?![\w-])"
    rf"|{join_alternatives(k for k in _IDIOMS if _is_chinese(k))}"
)
