"""Notes: sentences of a person about themselves in their own words, where the rules read no fact or only a part of it.

A note is one statement of at most `MAX_CHARS` characters: in the third person where that is certain, else quoted.
Neighbouring sentences share a note, but for one that says what its speaker decided, found out, repaired or keeps to:
it has a note of its own with that as its fact."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from muniment.memory.domain.memory import NOTE, Fact
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import classify, gate
from muniment.memory.rules.extraction.chinese.subjects import TOGETHER, complete_clauses, find_unsure_clauses
from muniment.memory.rules.extraction.work.read import file_work, list_names
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.chinese_words import PERSON, RELATION as RELATION_ZH
from muniment.memory.rules.language.english_words import RELATION, narrate_first_person, strip_fillers
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements.parse import has_changed_condition
from muniment.memory.rules.statements.parse_words import NUMBERS

MAX_CHARS = 280
IMPORTANCE = 1
_WORK_IMPORTANCE = 2
_NO_WORK: Mapping[str, Fact] = {}
_CONTEXT_CHARS = 300  # of a turn before a note, its end
_LEAD_EN, _LEAD_ZH = 'The user said: "', '用户说："'
_EVEN = 0.0  # the score of what is as likely a statement of its speaker as not
_CERTAIN_ROOM = 1.0  # below the limit, for a sentence of which the rules read a part
_REQUESTED_ROOM = 3.0  # below the limit, for what is asked to be remembered, which may be about anything
_OTHER_WORDS = 0.25  # the share of a sentence's words that its facts may put in other words
_PLAIN_ZH = frozenset("我的了是在有和也都就很还又着过吗呢吧啊呀哦嗯这那个们叫")
_FEW_CJK = 3
_POLITE = tokens.get_lexeme_set("please hi hey hello thanks")
_MIN_REST = 5  # words that are understood by themselves
_MIN_WORDS, _MIN_CJK = 3, 4
_WORD = lazy_compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+")
_LATIN_WORD = lazy_compile(r"[A-Za-z]+")
_CJK = lazy_compile(r"[\u3400-\u9fff]")
REDACTED = "[redacted:"
_LABEL = lazy_compile(r"[^,，;；。:：]{0,80}[:：]\s*(?=\[redacted:)")
_WONDERS = lazy_compile(r"^\W*(?:i\s+(?:was\s+|am\s+)?|i'm\s+)wonder(?:ing|ed)?\b", re.IGNORECASE)
_SPEAKER = lazy_compile(r"\b(?:i|im|ive|me|my|mine|we|us|our|ours)\b|[我咱俺]", re.IGNORECASE)
_OWN_CLAUSE = lazy_compile(r"(?:i|i'm|im|i've|my|we|we're|we've|our)\b|[我咱俺]", re.IGNORECASE)
# A statement about a relative: `my niece has`, `we have two kids`.
_RELATED = lazy_compile(
    rf"\W*(?:(?:my|our)\s+|(?:i|we)\s+have\s+(?:\w+\s+){{1,2}}){RELATION}s?\b|\W*我(?:的|们?家)?{RELATION_ZH}",
    re.IGNORECASE,
)
_UNFINISHED = lazy_compile(r"[?？:：]\s*$|\b(?:said|says|wrote|asked|told me)\W*$", re.IGNORECASE)
CLAUSES = lazy_compile(
    r"(?:[，,;；。：]\s*|:\s+)(?:(?:and|but|so|because)\s+)?|\s+[-–—]\s+|\s+(?:and|but|so|because)\s+", re.IGNORECASE
)
_REFERS_BACK = lazy_compile(
    r"^\W*(?:and |but |so )?(?:it|that|this|they|these|those)(?:['’](?:s|re|ll|d))?\b"
    r"|\b(?:go|going|went|get|getting|fly|flying|live|work|stay|staying|be|been|move|moving) there\b|^(?:它|那|这)",
    re.IGNORECASE,
)
_BARE_NOUN = lazy_compile(r"(?:the|this|that|these|those|all)\s+\w+(?:\s+for\s+[\w ]{1,30})?[.!]*", re.IGNORECASE)
_JOINT = lazy_compile(r"(?:\s*[，,;；]\s*|\s+)(?:(?P<and>and|but)\s+)?$|\s*[，,;；]\s*$", re.IGNORECASE)
_END = " .!。！~～"
_ASSISTANT = lazy_compile(r"\byou(?:r|rs|'re|'ve|'ll)?\b|[你您]", re.IGNORECASE)
_ZH_OTHER = lazy_compile(r"[你您他她它咱俺]|我们|自我|忘我|我国")
_USER = "The user "
_NO_VERB = lazy_compile(rf"[A-Z].*|\W.*|.*(?<!s)s|{RELATION}")  # a name, a plural, a relative: a subject of its own
_AUXILIARIES = frozenset(
    ("am", "have", "had", "was", "do", "did", "can", "could", "will", "would", "never", "also", "still")
)
_THIRD_PERSON = lazy_compile(r"(?:(?:also|now|still)\s+)?[a-z]{2,}s\s+\w")
_PARTS = lazy_compile(r"[，,;；]\s*|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])|\s+[-–—]\s+|(?<=[.!?])\s+")
_NAME = lazy_compile(r"(?<!^)(?<![.!?]\s)\b(?!I['’])[A-Z][\w'’-]+")
_LATIN_QUOTES = str.maketrans({'"': "'", "“": "'", "”": "'", "\n": " "})
_TOLD_ALREADY = lazy_compile(r"The user(?:'s)?\s(?!.*\b(?:I|me|my|we|our|us)\b)")
_ZH_PERSON = lazy_compile(r"[你您咱俺]|我们|自我|忘我|我国")
_ZH_OWNER = lazy_compile(rf"我(?={PERSON})")
_ZH_SUBJECT = lazy_compile(r"^(?:[^，,。]{0,6})我")


def select_statement(sentence: str, *, is_read: bool, is_beside_request: bool = False) -> str:
    """What of a sentence its speaker states and is worth a note: all of it, what is left without its questions and
    requests, or nothing. `is_read`: a rule read a part of it. `is_beside_request`: its message asks for something."""
    if is_own_statement(sentence, is_read=is_read, is_beside_request=is_beside_request):
        return sentence
    parts = [part for part in _PARTS.split(sentence) if part.strip()]
    stated = [part for part in parts if not classify.is_request(part)]
    if not stated or len(stated) == len(parts):
        return ""
    rest = ("，" if _CJK.search(sentence) else ", ").join(part.strip(" ,，;；") for part in stated)
    return rest if is_own_statement(rest, is_read=is_read, is_beside_request=True) else ""


def refers_back(sentence: str) -> bool:
    """Whether a sentence is about something that the one before it names: `It's my favourite tree`."""
    return _REFERS_BACK.search(sentence) is not None


def quote_clause(sentence: str) -> str:
    """What may stand of a sentence in a note for the sake of the one after it: of a question the last clause."""
    clauses = [part for part in CLAUSES.split(sentence) if _WORD.search(part)]
    clause = clauses[-1].strip(" ,，;；") if clauses and sentence.endswith(("?", "？")) else sentence
    return clause if REDACTED not in sentence and len(clause) <= MAX_CHARS // 2 else ""


def drop_redacted(sentence: str) -> str:
    """The sentence without the clauses that something was redacted from, and without those that may go on with them:
    of such a sentence only a clause that has the speaker as its subject, or as the owner of it, is kept."""
    clauses = CLAUSES.split(_LABEL.sub("", sentence))  # `my password is:` says nothing
    parts = [part for part in clauses if REDACTED not in part and _OWN_CLAUSE.match(part)]
    return ("，" if _CJK.search(sentence) else ", ").join(part.strip(" ,，;；.。") for part in parts)


def states_something(sentence: str) -> bool:
    """Whether a sentence that a person asks to remember says something: `the steps for next time` does not."""
    is_nothing = _BARE_NOUN.fullmatch(sentence) or classify.is_request(sentence)
    return not is_nothing and classify.score_statement(sentence) > classify.get_limit() - _REQUESTED_ROOM


def is_own_statement(sentence: str, *, is_read: bool, is_beside_request: bool = False) -> bool:
    """Whether a sentence states something of its speaker that is worth a note. `is_read`: a rule read a part of it.
    `is_beside_request`: its message asks for something."""
    if REDACTED in sentence or _UNFINISHED.search(sentence):
        return False
    if not is_read and _WONDERS.search(sentence):  # a question by its meaning
        return False
    if _is_short(sentence) or (
        not is_read and gate.FAREWELL.search(sentence) and gate.takes_leave(sentence) and not names_details(sentence)
    ):
        return False
    limit, names_speaker = classify.get_limit(), _SPEAKER.search(sentence) is not None
    if is_read or _RELATED.match(sentence) or (names_speaker and has_changed_condition(sentence)):
        limit -= _CERTAIN_ROOM
    # What names no speaker and is a request or stands beside one is rather what is asked for, such as `the first column
    # is the date`.
    elif not names_speaker and (is_beside_request or classify.is_request(sentence)):
        limit = _EVEN
    return classify.score_statement(sentence) > limit


def names_details(words: str) -> bool:
    """Whether there is a name or a number in a sentence."""
    return bool(_NAME.search(words) or tokens.extract_numbers(words))


def _is_short(words: str) -> bool:
    """Whether words are too few to say something."""
    signs = len(_CJK.findall(words))
    if signs:
        return signs + 2 * len(_LATIN_WORD.findall(words)) < _MIN_CJK
    return len(_WORD.findall(words)) < _MIN_WORDS


def strip_covered(sentence: str, texts: Sequence[str], at: datetime) -> str:
    """The clauses of a sentence that statements do not hold yet; empty when they hold all of it."""
    if not texts:
        return sentence
    parts = [part for part in CLAUSES.split(sentence) if part.strip()]
    # No statement is of the subject of an unsure clause.
    unsure = find_unsure_clauses(parts) if _CJK.search(sentence) else set()
    unsure = {n for n in unsure if is_own_statement(parts[n], is_read=True)}
    rest = [part for n, part in enumerate(parts) if n in unsure or not is_covered(part, texts, at)]
    # Words that are missing here and there are those that the rules put in other words; a clause is not.
    is_sure = all(gate.is_courtesy(parts[n]) for n in unsure)
    is_spread = all(_is_short(part) and not _OWN_CLAUSE.match(part) for part in rest)
    if is_sure and is_spread and is_covered(sentence, texts, at):
        return ""
    if not rest or len(rest) == len(parts):
        return sentence
    rest = [part for part in rest if not gate.is_courtesy(part)]
    return ("，" if _CJK.search(sentence) else ", ").join(part.strip(" ,，;；.。") for part in rest)


def keep_remainder(rest: str, sentence: str, *, is_wish: bool = False) -> str:
    """What is noted of a sentence of which `rest` is not read: the rest, all of it where the rest is too short to be
    understood, or nothing where the rest says nothing. `is_wish`: the sentence is a wish about answers, so that an
    order is a part of it."""
    if not rest or gate.find_skip_reason(rest, "user"):  # `Hi, call me …` leaves a greeting
        return ""
    opening = "" if sentence.startswith(rest) else "x "  # a capital within a sentence is a name's
    has_details = _NAME.search(f"{opening}{rest}") or tokens.extract_numbers(rest)
    is_to_assistant = (not is_wish and classify.is_request(rest)) or _ASSISTANT.search(rest)
    if not has_details and (_is_short(rest) or (is_to_assistant and not is_own_statement(rest, is_read=False))):
        return ""
    has_subject = _OWN_CLAUSE.match(rest) is not None
    is_clear = has_subject or len(_WORD.findall(rest)) >= _MIN_REST or len(_CJK.findall(rest)) >= _MIN_CJK
    return rest if is_clear else sentence


def extend_statement(text: str, source: str, rest: str, sentence: str, at: datetime) -> str | None:
    """A statement with the words that go on with its subject right behind its source: `…, just started school`.

    None where the rest stands elsewhere in the sentence, has a subject of its own, or makes the statement too long."""
    body, rest = sentence.rstrip(_END), rest.rstrip(_END)
    before = body.removesuffix(rest)
    joint = _JOINT.search(before)
    if not rest or before == body or joint is None or not source or not before[: joint.start()].endswith(source):
        return None
    if _CJK.search(rest):
        told = (
            None
            if _ZH_OTHER.search(rest) or TOGETHER.match(rest)
            else mentions.annotate_dates(rest, at).replace("我", "用户")
        )
        longer = f"{text}，{told}" if told else None
    else:
        told = _continue_subject(text, rest) if joint["and"] else None
        longer = f"{text} {joint['and']} {mentions.annotate_dates(told, at)}" if told else None
    return longer if longer and len(longer) <= MAX_CHARS else None


def _continue_subject(text: str, rest: str) -> str | None:
    """A clause without a subject, so that it goes on with that of a statement in the third person."""
    if text.startswith("The user's"):
        return rest if _THIRD_PERSON.match(rest) else None
    first = rest.split(maxsplit=1)[0]
    is_subject = _NO_VERB.fullmatch(first) or (first.casefold() in tokens.STOP_WORDS and first not in _AUXILIARIES)
    told = narrate_first_person(f"I {rest}") if text.startswith(_USER) and not is_subject else None
    return told.removeprefix(_USER).rstrip(_END) if told else None


def restore_subjects(rest: str, sentence: str) -> str:
    """The rest of a Chinese sentence with what tells whose each of its clauses is."""
    clauses = [part.strip(" ,，;；.。") for part in CLAUSES.split(sentence) if part.strip()]
    remaining = {part.strip(" ,，;；.。") for part in CLAUSES.split(rest)}
    wanted = {n for n, clause in enumerate(clauses) if clause in remaining}
    return "，".join(complete_clauses(clauses, wanted)) or rest


def holds_statement(text: str, statement: str, at: datetime) -> bool:
    """Whether a statement is said wholly by another one that begins with the same words: `The user's friend Max …`."""
    opening = statement.split()[:3]
    return text.split()[:3] == opening and is_covered(statement, [text], at, is_strict=True)


def is_covered(sentence: str, texts: Sequence[str], at: datetime, *, is_strict: bool = False) -> bool:
    """Whether statements hold what a sentence says: all its names and numbers, and its words but for one of four.

    A rule may put a word such as `call` in its own terms; of two words or fewer none may be missing, and none at all
    with `is_strict`."""
    if not texts:
        return False
    said, bare = " ".join(texts), mentions.remove_dates(strip_fillers(sentence), at)
    if _CJK.search(bare):
        folded, signs = tokens.fold_text(said), set(_CJK.findall(bare)) - _PLAIN_ZH
        missing = sum(sign not in folded for sign in signs)
        room = max(2, _OTHER_WORDS * len(signs)) if len(signs) > _FEW_CJK else len(signs) // 2
    else:
        words = tokens.get_lexeme_set(bare) - _POLITE
        missing = len(words - tokens.get_lexeme_set(said))
        room = max(1, _OTHER_WORDS * len(words)) if len(words) > 1 else 0
    if missing > (0 if is_strict else room) or not holds_details(bare, said):
        return False
    # A date may be written in another way, but not be missing.
    return bare == sentence or not mentions.find_mentions(sentence, at) or bool(mentions.find_mentions(said, at))


def is_read_whole(source: str, captured: str, texts: Sequence[str], at: datetime) -> bool:
    """Whether statements hold all that a rule took from its source: the captured words, and every name and number."""
    folded = tokens.fold_text(" ".join(texts))
    bare, taken = mentions.remove_dates(source, at), mentions.remove_dates(captured, at)
    if not holds_details(bare, folded):
        return False
    if _CJK.search(taken):
        return all(sign in folded for sign in set(_CJK.findall(taken)) - _PLAIN_ZH)
    return tokens.get_lexeme_set(taken) <= tokens.get_lexeme_set(folded)


def holds_details(said: str, text: str) -> bool:
    """Whether a text has all names and numbers of another one, `said`."""
    details, folded = [*_NAME.findall(said), *tokens.extract_numbers(said)], tokens.fold_text(text)
    counts = (word for word in tokens.fold_text(said).split() if NUMBERS.get(word, 0) > 1)
    return all(tokens.fold_text(detail) in folded for detail in details) and set(counts) <= set(folded.split())


def tell_sentence(said: str, at: datetime) -> str | None:
    """What a note of some words says in the third person; None where it quotes them."""
    told = _narrate(said)
    return mentions.annotate_dates(told, at) if told else None


def name_persons(note: Candidate, persons: Iterable[str]) -> Candidate:
    """The note with those of the persons that it names in its fact."""
    named = tuple(person for person in persons if person in note.text)
    return replace(note, fact=replace(note.fact, persons=named)) if note.fact else note


def make_notes(
    sentences: Sequence[str],
    turn: Turn,
    previous: Sequence[Turn] = (),
    *,
    importance: int = IMPORTANCE,
    work: Mapping[str, Fact] = _NO_WORK,
) -> Iterator[Candidate]:
    """The notes of a turn's sentences, in their order; as few as fit. `work` has what a sentence says of its speaker's
    work: such a sentence has a note of its own, with what refers back to it."""
    group: list[str] = []
    for sentence in _cut_long(sentences):
        is_apart = sentence in work or (group and group[0] in work and not refers_back(sentence))
        if group and (is_apart or len(_write_note([*group, sentence], turn.at)) > MAX_CHARS):
            yield _make_note(group, turn, previous, importance, work.get(group[0]))
            group = []
        group.append(sentence)
    if group:
        yield _make_note(group, turn, previous, importance, work.get(group[0]))


def _make_note(
    sentences: Sequence[str], turn: Turn, previous: Sequence[Turn], importance: int, fact: Fact | None
) -> Candidate:
    said = " ".join(sentences)
    category = classify.choose_category(said)
    if fact:
        category, importance = file_work(fact, said, category), max(importance, _WORK_IMPORTANCE)
    at = None if fact and fact.kind == "rule" else turn.at  # a rule is of no day
    # What helps to find the note: the day it was said, the turns before it, and the rest of the message.
    context = [f"{turn.at.day} {turn.at:%B %Y}"]
    context += [
        " ".join(each.text.split())[-_CONTEXT_CHARS:] for each in previous if each.role in ("user", "assistant")
    ]
    if (rest := " ".join(turn.text.split())) != said:
        context.append(rest[: 2 * _CONTEXT_CHARS])
    return Candidate(
        text=_write_note(sentences, at),
        category=category,
        fact=fact or Fact(kind="note", predicate=NOTE, object=said[:MAX_CHARS]),
        importance=max(importance, classify.IMPORTANCES.get(category, IMPORTANCE)),
        event_time=mentions.resolve_date(said, at) if at else None,
        context="\n".join(context),
        aliases=list_names(fact, said) if fact else (),
        turns=(turn.id,),
        actor=turn.actor,
        role=turn.role,
    )


def _write_note(sentences: Sequence[str], at: datetime | None) -> str:
    """The sentences as one text: about the user where every one can be told so, else as a quotation. With `at` a
    relative date has the day that it means behind it."""
    told = [_narrate(sentence) for sentence in sentences]
    joined = " ".join(sentences)
    text = " ".join(filter(None, told)) if all(told) else joined.translate(_LATIN_QUOTES)
    text = mentions.annotate_dates(text, at) if at else text
    if all(told):
        return text
    lead = _LEAD_ZH if len(_CJK.findall(joined)) > len(_WORD.findall(joined)) else _LEAD_EN
    return f'{lead}{text}"'


def _narrate(sentence: str) -> str | None:
    """The sentence in the third person with its full stop, or None where that is not certain."""
    if sentence.endswith(("?", "？")) or len(sentence) > MAX_CHARS:
        return None
    if not _CJK.search(sentence):
        text = sentence if _TOLD_ALREADY.match(sentence) else narrate_first_person(sentence)
        return text if text is None or text.endswith((".", "!", "…")) else f"{text}."
    is_told = sentence.startswith("用户") and "我" not in sentence
    if _ZH_PERSON.search(sentence) or not (is_told or _ZH_SUBJECT.search(sentence)):
        return None
    text = _ZH_OWNER.sub("用户的", sentence).replace("我", "用户")
    return text if text.endswith(("。", "！", "!")) else f"{text}。"


def _cut_long(sentences: Sequence[str]) -> Iterator[str]:
    """The sentences, a long one in pieces at its commas or blanks that fit a note."""
    room = MAX_CHARS - len(_LEAD_EN) - 40
    for sentence in sentences:
        rest = sentence
        while len(rest) > room:
            cut = max(rest.rfind(mark, 0, room) for mark in ("，", ", ", "；", "; "))
            cut = cut + 1 if cut > room // 3 else (rest.rfind(" ", 0, room) if " " in rest[:room] else room)
            yield rest[:cut].strip()
            rest = rest[cut:].strip()
        if rest:
            yield rest
