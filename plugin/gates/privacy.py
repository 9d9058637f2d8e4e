"""The privacy gate: what takes nothing in, and which statements hold no secret and no raw words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from muniment.memory.config.schema import RedactionSettings
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import fold_text
from muniment.memory.rules.redaction.redact import find_denial
from muniment.plugin.gates.decision import Decision
from muniment.plugin.gates.distillation import drop_fillers

OPEN = "open"  # nothing forbids it
REDACTED = "a secret"
VERBATIM = "raw words"
# Of a turn, as `memory/rules/redaction` names them.
DENIED_SOURCES = frozenset({"denied project", "denied tag", "denied path"})

_MARK = "[redacted:"  # a statement about a secret says nothing without it
_SENTENCE = lazy_compile(r"[^.!?。！？…\n]+")
_UNIT = lazy_compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SPEAKER = lazy_compile(r"(?i)\b(?:i|i'm|i've|i'll|i'd|we|we're|we've|we'll|my|our|me|us|you|your)\b|[我你您咱俺]")
_SHORT = 7  # words, or characters of CJK, of an order that is its own shortest form
_LONG = 24  # of a sentence that says what it does without a word too many


def decide_source(
    settings: RedactionSettings, *, tags: Sequence[str] = (), path: str | None = None, project: str | None = None
) -> Decision:
    """Return whether anything may be read or written for a turn with these tags, of this path and this project."""
    denial = find_denial(settings, tags=tags, path=path, project=project)
    return Decision(allowed=denial is None, reason=denial or OPEN)


def decide_content(content: str, messages: Iterable[str]) -> Decision:
    """Return whether a statement may be kept as it stands, after redaction, beside the messages that it comes from.

    A sentence of a message is raw words where its speaker stands in it, or where it is longer than seven words and a
    note of it would have fewer. An order such as "use pnpm" is none: nothing shorter says the same."""
    if _MARK in content:
        return Decision(allowed=False, reason=REDACTED)
    flat = _flatten(content)
    is_raw = any(sentence in flat for message in messages for sentence in _list_raw_sentences(message))
    return Decision(allowed=not is_raw, reason=VERBATIM if is_raw else OPEN)


def _list_raw_sentences(message: str) -> Iterator[str]:
    """The sentences of a message that nothing may hold, each as words that blanks part."""
    for match in _SENTENCE.finditer(message):
        flat = _flatten(match.group())
        size = flat.count(" ") - 1
        is_whole = size > _LONG or (size > _SHORT and _flatten(drop_fillers(match.group())) != flat)
        if is_whole or (size > 1 and _SPEAKER.search(match.group())):
            yield flat


def _flatten(text: str) -> str:
    """The words of a text, folded, with a blank before and behind each."""
    return f" {' '.join(_UNIT.findall(fold_text(text)))} "
