"""The privacy gate: what takes nothing in, and which statements hold no secret and no raw words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muniment.memory.config.schema import RedactionSettings
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import fold_text, parse_vocabulary
from muniment.memory.rules.redaction.redact import find_denial
from muniment.plugin.gates.decision import Decision

OPEN = "open"  # nothing forbids it
REDACTED = "a secret"
VERBATIM = "raw words"
# Of a turn, as `memory/rules/redaction` names them.
DENIED_SOURCES = frozenset({"denied project", "denied tag", "denied path"})

_MARK = "[redacted:"  # a statement about a secret says nothing without it
_SENTENCE = lazy_compile(r"[^.!?。！？…\n]+")
_UNIT = lazy_compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SPEAKER = lazy_compile(r"(?i)\b(?:i|i'm|i've|i'll|i'd|we|we're|we've|we'll|my|our|me|us|you|your)\b|[我你您咱俺]")
# Words by which a telling is put into the third person: with others in their place it is the same telling.
_PERSONS = parse_vocabulary(
    "i m ve ll d s re we my our me us you your the user team assistant 我 你 您 咱 俺 们 用 户 的"
)
_RUN = 25  # words, or characters of CJK, in a row from which on they are a telling and no statement


def decide_source(
    settings: RedactionSettings, *, tags: Sequence[str] = (), path: str | None = None, project: str | None = None
) -> Decision:
    """Return whether anything may be read or written for a turn with these tags, of this path and this project."""
    denial = find_denial(settings, tags=tags, path=path, project=project)
    return Decision(allowed=denial is None, reason=denial or OPEN)


def decide_content(content: str, messages: Iterable[str]) -> Decision:
    """Return whether a statement may be kept as it stands, after redaction, beside the messages that it comes from.

    Raw words are a sentence of a message with its speaker in it, and any run of more than 24 words of a message, also
    one in which another person stands for the speaker. What states something in few words and without a person, such
    as "use pnpm", is none: it is the statement."""
    if _MARK in content:
        return Decision(allowed=False, reason=REDACTED)
    flat = _flatten(content)
    is_raw = any(_has_run(flat, message) or _has_sentence(flat, message) for message in messages)
    return Decision(allowed=not is_raw, reason=VERBATIM if is_raw else OPEN)


def _has_run(flat: str, message: str) -> bool:
    """Whether a statement has more words of a message in a row than may be kept."""
    words, said = flat.split(), _flatten(message).split()
    return _share_run(words, said) or _share_run(_drop_persons(words), _drop_persons(said))


def _share_run(words: Sequence[str], said: Sequence[str]) -> bool:
    """Whether some of the words in a row, as many as may not be kept, are said in the same order."""
    whole = f" {' '.join(said)} "
    return any(f" {' '.join(words[n : n + _RUN])} " in whole for n in range(len(words) - _RUN + 1))


def _drop_persons(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in _PERSONS]


def _has_sentence(flat: str, message: str) -> bool:
    """Whether a statement has a whole sentence of a message, of two words or more, in which its speaker stands."""
    sentences = (match.group() for match in _SENTENCE.finditer(message))
    spoken = (_flatten(sentence) for sentence in sentences if _SPEAKER.search(sentence))
    return any(sentence.count(" ") > 2 and sentence in flat for sentence in spoken)


def _flatten(text: str) -> str:
    """The words of a text, folded, with a blank before and behind each."""
    return f" {' '.join(_UNIT.findall(fold_text(text)))} "
