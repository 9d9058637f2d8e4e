"""Finds forwarded mails, with their headers, and letters, from the salutation on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile

_HEADED = lazy_compile(
    r"^(?:(?:subject|主题)\s*[:：][^\n]{1,200}\n|-{2,}\s*(?:original|forwarded)\b|begin\s+forwarded\s+message:"
    r"|-{2,}\s*(?:原始邮件|转发)|on\s[^\n]{5,120}\swrote:\s*$|(?:from|发件人)\s*[:：][^\n]{1,200}\n(?:[^\n]{0,200}\n){0,3}?"
    r"(?:to|subject|date|sent|cc|主题|收件人|日期)\s*[:：])",
    re.IGNORECASE | re.MULTILINE,
)
_SALUTATION = lazy_compile(
    r"^[ \t]*(?:(?P<formal>Dear|To whom)\s|(?:Hi|Hello|Hey|Good (?:morning|day|evening))\b)[^\n.!?]{0,60}[,:][ \t]*$"
    r"|\b(?P<inline>Dear[ ](?!diary\b)[^\n.!?,]{1,40}(?:(?:Mr|Mrs|Ms|Dr)\.[ ][^\n.!?,]{1,30})?,)(?=[ ])"
    r"|^[ \t]*(?P<formal_zh>尊敬的|亲爱的)[^\n。！？]{1,30}?[：:，,！!][ \t]*$",
    re.MULTILINE,
)
_CLOSING = lazy_compile(
    r"\b(?:(?:kind|best|warm)(?:est)?\s+(?:regards|wishes)|regards|sincerely|faithfully|yours|all the best|best|cheers"
    r"|love|thanks)[ \t]*,?[ \t]*(?:\n|[A-Z])|此致|敬礼|敬上|谨上|祝好|顺祝",
    re.IGNORECASE,
)
_NEEDED = ("\n", ":", "：", "Dear", "-")  # one of them stands in each header and salutation


def _is_followed(text: str, closing: int) -> bool:
    """Whether a paragraph follows the one with the closing formula: then the formula closes no message."""
    paragraph = text.find("\n\n", closing)
    return paragraph >= 0 and bool(text[paragraph:].strip())


def find_letter_spans(text: str) -> Iterator[tuple[int, int]]:
    """The span from a header or a salutation to the end of the text.

    A message to the assistant may itself begin with a greeting: the first line of a text is a salutation only where it
    is formal and a closing formula follows."""
    if not any(mark in text for mark in _NEEDED):
        return
    starts = [header.start()] if (header := _HEADED.search(text)) else []
    last_closing = max((closing.start() for closing in _CLOSING.finditer(text)), default=-1)
    for salutation in _SALUTATION.finditer(text):
        is_formal = salutation["formal"] or salutation["formal_zh"] or salutation["inline"]
        is_first = not text[: salutation.start()].strip()
        is_closed = last_closing > salutation.end()
        if is_formal and (is_closed or (not is_first and not salutation["inline"])):
            starts.append(salutation.start())
            break
        if is_closed and (not is_first or _is_followed(text, last_closing)):
            starts.append(salutation.start())
            break
    if starts:
        yield min(starts), len(text)
