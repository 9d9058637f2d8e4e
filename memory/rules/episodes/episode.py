"""Episodes: what a person asked, decided and did in a conversation, in the past tense, without a model.

Only the person's own words count, without statements of facts, which are memories of their own (S-81)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from itertools import groupby

from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.clauses import split_clauses, split_sentences
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.language import chinese_words, tokens
from muniment.memory.rules.language.english_words import replace_pronouns
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance import quoted

TAG = "episode"
CATEGORY = "activity"  # the supervisor may read it; `recent_activity` is for the executor alone
MAX_CHARS = 280
_SENTENCE = 200
_PHRASE = 80
_PHRASES = 3
_MAX_QUESTIONS = 2  # if there is more than questions
_MIN_WORDS = 2  # lexemes: less is no topic
_SHARED = 0.5

_HIDDEN = "[redacted:"
_FILLER = lazy_compile(
    r"^(?:(?:and|but|so|then|also|well|ok|okay|hey|hi|hello|please|by\s+the\s+way|btw|actually|now|great|thanks"
    r"|thank\s+you)\b[\s,.!]*)+",
    re.IGNORECASE,
)
# Questions to memory are no news to memory.
_OWN_PAST = lazy_compile(
    r"\b(?<!how )(?:do|did|am|was|have|had)\s+i\b|\b(?:is|are|was|were|what's|who's|where's|when's)\s+my\b|\bremember\b"
    r"|\bremind\s+me\b|\byou\s+know\s+about\b|\bdo\s+you\s+know\s+(?:my|who|where|what)\b|\btold\s+you\b",
    re.IGNORECASE,
)
_OWN_PAST_ZH = lazy_compile(r"记得|我的|我(?!们?(?:该|应该|要不要|可以|能|怎么|如何|需要|得))")
_WH = r"what(?:\s+\w+){0,2}?|which(?:\s+\w+){1,3}?|where|when|who|how(?:\s+(?:much|many|long|often|far)(?:\s+\w+)?)?"
_TOPICS = (
    (lazy_compile(r"(?:how)\s+(?:do|does|can|could|should|would)\s+(?:i|we|you|one)\s+(?P<what>.+)", re.IGNORECASE),
     "asked how to {what}"),
    (lazy_compile(rf"(?P<wh>{_WH})\s+(?:should|can|could|shall|must)\s+(?:i|we)\s+(?P<what>.+)", re.IGNORECASE),
     "asked {wh} to {what}"),
    (lazy_compile(r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?tell\s+me\s+(?:more\s+)?about\s+(?P<what>.+)",
     re.IGNORECASE),
     "asked about {what}"),
    (lazy_compile(r"what\s+do\s+you\s+think\s+(?:of|about)\s+(?P<what>.+)", re.IGNORECASE), "asked about {what}"),
    (lazy_compile(r"(?:what|how)\s+about\s+(?P<what>.+)", re.IGNORECASE), "asked about {what}"),
    (lazy_compile(r"(?:what|who|where)(?:'s|\s+(?:is|are|was|were))\s+(?P<what>(?:the|a|an)\s+.+)", re.IGNORECASE),
     "asked about {what}"),
    (lazy_compile(r"(?:can|could|would|will)\s+you\s+(?:please\s+)?(?P<what>\w.+)", re.IGNORECASE),
     "asked the assistant to {what}"),
)  # fmt: skip
_ORDER = lazy_compile(
    r"(?P<what>(?:explain|plan|help\s+me|suggest|recommend|compare|draft|find|list|show\s+me|give\s+me|look\s+up|check"
    r"|calculate|design|review)\s.+)",
    re.IGNORECASE,
)
_DECIDED = (
    lazy_compile(
        r"(?:i\s+think\s+)?(?:i|we)(?:'ve|\s+have)?\s+(?:just\s+|now\s+|finally\s+)?decided\s+(?P<what>(?:to"
        r"|on|against|not\s+to)\s.+)",
        re.IGNORECASE,
    ),
    lazy_compile(
        r"(?:i\s+think\s+)?(?:let's|let\s+us|we'll|we\s+will|i'll|i\s+will)\s+(?P<what>(?!be\b|let\b|see\b"
        r"|think\b|try\b|tell\b|ask\b|do\b|have\b|get\b|talk\b|come\b|say\b|know\b|just\b|never\b|always\b)\w.+)",
        re.IGNORECASE,
    ),
)
_DONE = lazy_compile(
    r"(?:i|we)(?:'ve|\s+have)?\s+(?:just\s+|now\s+|finally\s+|already\s+)?(?P<what>(?:finished|completed|booked|ordered"
    r"|bought|sent|submitted|cancelled|canceled|fixed|signed\s+up|paid|scheduled|deployed|released|published|merged"
    r"|tested|updated|picked|settled\s+on|returned|repaired)\s.+)",
    re.IGNORECASE,
)
_ZH = lazy_compile(r"[\u3400-\u9fff]")
_START_ZH = r"^(?:那么?|好的?|好吧|最后|最终|所以|嗯|，|,|\s)*"
_DECIDED_ZH = (
    lazy_compile(_START_ZH + r"(?:我们|我|咱们)?(?:已经)?决定(?P<what>.{2,40}?)(?:了|吧|啦)?$"),
    lazy_compile(_START_ZH + r"(?:我们|我|咱们)?就(?P<what>(?:选|去|订|用|坐|按|买|做|吃).{1,40}?)(?:了|吧|啦)?$"),
)
_DONE_ZH = lazy_compile(
    _START_ZH
    + r"(?:我们|我)(?:已经|刚刚?|终于)?(?P<what>(?:预订|预约|订|买|完成|提交|取消|寄|付|报名|修好|写完|发布)了?.{1,40}?"
    r")(?:了|啦)?$"
)
_ASKS_ZH = lazy_compile(
    r"[?？]\s*$|(?:吗|呢|什么|怎么办|怎么样)[。.!！]?$|^(?:请问|怎么|如何|为什么|帮我|请帮|请推荐|推荐|解释|介绍)"
)
_SCAFFOLD = frozenset(
    tokens.extract_lexemes("the user asked about how what which to the assistant decided also help")
) | frozenset(tokens.extract_lexemes("用户询问了并决定还"))
_DATED = lazy_compile(r"^(?:On\s+)?(?P<day>\d{4}-\d\d-\d\d)(?:\s+the\s+user\s+|，用户)")
_TWO = lazy_compile(r"(?:\. (?:On \d|The user also ))|。(?:\d{4}-|用户还)")


@dataclass(frozen=True, slots=True)
class _Phrase:
    text: str
    is_question: bool
    place: int


def build_episodes(turns: Sequence[Turn]) -> tuple[Candidate, ...]:
    """An episode for each day (UTC) of these turns on which the user asked, decided or did something, oldest first.

    Its turns are all user turns of the day, and its time is that of the last one."""
    user_turns = sorted((turn for turn in turns if turn.role == "user"), key=lambda turn: turn.at)
    days = groupby(user_turns, key=lambda turn: turn.at.astimezone(UTC).date())
    return tuple(episode for day, group in days if (episode := _build_episode(day, list(group))) is not None)


def is_same_topic(a: str, b: str) -> bool:
    """Whether two episodes share half of the shorter one's content words, and two at least."""
    left, right = _extract_topic(a), _extract_topic(b)
    shared = len(left & right)
    return shared >= _MIN_WORDS and shared >= _SHARED * min(len(left), len(right))


def combine_episodes(old: str, new: str) -> str | None:
    """Two episodes as one text of two sentences; None if it is too long or one has two sentences already."""
    if _TWO.search(old) or _TWO.search(new):
        return None
    chinese = bool(_ZH.search(old))
    first, second = _DATED.match(old), _DATED.match(new)
    if first and second and first["day"] == second["day"] and chinese == bool(_ZH.search(new)):
        new = ("用户还" if chinese else "The user also ") + new[second.end() :]
    both = f"{old}。{new}" if chinese else f"{old}. {new}"
    return both if len(both) <= MAX_CHARS else None


def _extract_topic(text: str) -> frozenset[str]:
    return tokens.get_lexeme_set(_DATED.sub("", text)) - _SCAFFOLD


def _build_episode(day: date, turns: list[Turn]) -> Candidate | None:
    phrases = [phrase for place, turn in enumerate(turns) for phrase in _find_phrases(turn, place)]
    is_chinese = sum(bool(_ZH.search(phrase.text)) for phrase in phrases) * 2 > len(phrases)
    texts = _select_phrases([phrase for phrase in phrases if bool(_ZH.search(phrase.text)) == is_chinese])
    while texts and len(_render_sentence(day, texts, chinese=is_chinese)) > _SENTENCE:
        texts.pop()
    if not texts:
        return None
    last = turns[-1]
    return Candidate(
        text=_render_sentence(day, texts, chinese=is_chinese),
        category=CATEGORY,
        kind="episodic",
        importance=1,  # it has no fact
        tags=(TAG,),
        event_time=last.at,
        turns=tuple(turn.id for turn in turns),
        actor=last.actor,
    )


def _select_phrases(phrases: list[_Phrase]) -> list[str]:
    """The three best phrases in their order: decisions and actions first, then the questions with most words."""
    distinct = list({phrase.text.casefold(): phrase for phrase in phrases}.values())
    rich = sorted(distinct, key=lambda phrase: -len(tokens.get_lexeme_set(phrase.text)))
    acts = [phrase for phrase in rich if not phrase.is_question][: _PHRASES - 1]
    questions = [phrase for phrase in rich if phrase.is_question][: _MAX_QUESTIONS if acts else _PHRASES]
    selection = sorted([*acts, *questions], key=lambda phrase: (phrase.place, not phrase.is_question))
    return [phrase.text for phrase in selection[:_PHRASES]]


def _render_sentence(day: date, phrases: Sequence[str], *, chinese: bool) -> str:
    if chinese:
        return f"{day}，用户" + "，".join(phrases)
    head, last = ", ".join(phrases[:-1]), phrases[-1]
    return f"On {day} the user {head} and {last}" if head else f"On {day} the user {last}"


def _find_phrases(turn: Turn, place: int) -> Iterator[_Phrase]:
    for sentence in split_sentences(quoted.strip_quoted(turn).text):
        if _HIDDEN in sentence:
            continue
        question = _parse_question(sentence)
        phrase = question or _find_action(turn, sentence)
        if phrase and len(tokens.get_lexeme_set(phrase) - _SCAFFOLD) >= _MIN_WORDS:
            yield _Phrase(phrase, question is not None, place)


def _parse_question(sentence: str) -> str | None:
    if _ZH.search(sentence):
        return _parse_chinese_question(sentence)
    bare = _FILLER.sub("", sentence.strip()).rstrip(" ?!.")
    asks = sentence.rstrip().endswith("?")
    if _OWN_PAST.search(bare) or gate.find_skip_reason(sentence, "user") == "question about the assistant":
        return None
    for pattern, template in _TOPICS if asks else ():
        match = pattern.fullmatch(bare)
        if match and (what := replace_pronouns(match["what"])):
            return _shorten_text(template.format(what=what, wh=match.groupdict().get("wh", "").lower()))
    if (order := _ORDER.fullmatch(bare)) and (what := replace_pronouns(order["what"])):
        return _shorten_text(f"asked the assistant to {what[:1].lower()}{what[1:]}")
    return _quote_text("asked", bare + "?") if asks else None


def _parse_chinese_question(sentence: str) -> str | None:
    bare = sentence.strip(" ，。！!.")
    if not _ASKS_ZH.search(sentence.strip()) or _OWN_PAST_ZH.search(bare.replace("帮我", "")):
        return None
    return _quote_text("询问了", bare)


def _find_action(turn: Turn, sentence: str) -> str | None:
    """The decision or action in a sentence; None if the sentence states a fact."""
    if extract_statements(replace(turn, text=sentence)).facts:
        return None
    for clause in split_clauses(sentence):
        action = _parse_chinese_action(clause) if _ZH.search(clause) else _parse_english_action(_FILLER.sub("", clause))
        if action:
            return action
    return None


def _parse_english_action(clause: str) -> str | None:
    for pattern in _DECIDED:
        if (match := pattern.fullmatch(clause)) and (what := replace_pronouns(match["what"])):
            direct = re.match(r"(?:to|on|against|not\s+to)\s", what, re.IGNORECASE)
            return _shorten_text(f"decided {what}" if direct else f"decided to {what}")
    match = _DONE.fullmatch(clause)
    what = replace_pronouns(match["what"]) if match else None
    return _shorten_text(what) if what else None


def _parse_chinese_action(clause: str) -> str | None:
    for pattern in _DECIDED_ZH:
        if (match := pattern.match(clause)) and (what := chinese_words.replace_pronouns(match["what"])):
            return f"决定{what}"
    match = _DONE_ZH.match(clause)
    return chinese_words.replace_pronouns(match["what"]) if match else None


def _quote_text(verb: str, text: str) -> str:
    plain = text.replace('"', "'")
    return f"{verb}“{_shorten_text(plain)}”" if _ZH.search(text) else f'{verb} "{_shorten_text(plain)}"'


def _shorten_text(text: str) -> str:
    flat = " ".join(text.split())
    if len(flat) <= _PHRASE:
        return flat
    cut = flat[: _PHRASE - 1]
    return (cut if _ZH.search(cut) else cut.rsplit(" ", 1)[0]).rstrip(" ,;") + "…"
