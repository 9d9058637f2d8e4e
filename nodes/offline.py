"""Replies without a model: they quote memory and make nothing up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muniment.nodes.state import State

SETUP_HINT = (
    "No model is configured, so I can only quote memory. To talk with a model, set MUNIMENT_MODEL and OPENAI_API_KEY "
    "(and OPENAI_BASE_URL for an endpoint other than OpenAI's) and start again."
)
_MAX_QUOTED = 3
_QUESTION_START = re.compile(
    r"(what|who|whom|whose|when|where|which|why|how|do|does|did|is|are|am|was|were|can|could|should|will|would|"
    r"tell me|remind me|show me|(?:may|shall) (?:i|we))\b",
    re.IGNORECASE,
)
_QUESTION_END = re.compile(r"[?？][\s\"'”’)]*$|[吗呢][。!！]?$|什么|谁|哪|几时|怎么")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]{3,}")
_STOP_WORDS = re.compile(
    r"the|and|for|are|was|were|what|who|when|where|which|why|how|does|did|can|could|would|you|your|user|has|have|had|"
    r"that|this|with|about|tell|show|remind|from|的|了|是|我|你"
)


def is_open_question(state: State, text: str) -> bool:
    """Whether the message is a question, and the context has lasting memories of which none has its words."""
    if not _is_question(text) or state.get("bullets"):
        return False
    return bool(_list_profile_lines(state)) and not _find_related(state, text)


def compose_reply(state: State, text: str, texts: Sequence[str] = ()) -> str:
    """A reply that quotes the memories of the context, or else `texts`; empty for a message that was refused."""
    if state.get("refused"):
        return ""
    if not text.strip():
        return "Your message has no text that I can read."
    # On one line, so that no text looks like several memories.
    bullets = [f"- {' '.join(bullet.split())}" for bullet in (state.get("bullets") or texts)[:_MAX_QUOTED]]
    if _is_question(text):
        related, lasting = _find_related(state, text), _list_profile_lines(state)
        body = _quote_lines("From memory:", [*related, *bullets]) or "I have nothing in memory about that."
        if not related and not bullets:
            body += "\n" * 2 * bool(lasting) + _quote_lines("What I do know about you:", lasting[:_MAX_QUOTED])
    elif bullets:
        body = _quote_lines("I have read that. What I remember that may bear on it:", bullets)
    else:
        body = "I have read that. What it changes in memory, if anything, is being written."
    if state.get("unread"):
        body = "I have read that."
    return "\n\n".join(filter(None, [state.get("header", ""), body]))


def _is_question(text: str) -> bool:
    return bool(_QUESTION_START.match(text.strip()) or _QUESTION_END.search(text.strip()))


def _list_profile_lines(state: State) -> list[str]:
    return [line for line in state.get("stable", "").splitlines() if line.strip()]


def _find_related(state: State, text: str) -> list[str]:
    return [line for line in _list_profile_lines(state) if _find_stems(line) & _find_stems(text)]


def _quote_lines(title: str, lines: list[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""


def _find_stems(text: str) -> set[str]:
    """The first four letters of a text's words, without stop words: roughly their stems."""
    return {word[:4] for word in _WORD.findall(text.casefold()) if not _STOP_WORDS.fullmatch(word)}
