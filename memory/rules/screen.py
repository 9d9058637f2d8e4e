"""A quick look that finds most texts to have nothing that redaction would take out."""

from __future__ import annotations

import re

from muniment.memory.rules.text import clean

# Every pattern of `rules.redact` needs one of these, or digits.
_MARKS = (
    "_", "-----", "sk-", "glpat-", "://", ":aa", "akia", "asia", "xox", "aiza", "eyj", "bearer", "basic", "token", "secret",
    "pass", "pw", "key",
)  # fmt: skip
_CHINESE = ("密", "口令", "秘钥", "令牌")
_NUMBERED = ("pin", "cvv", "cvc", "otp", "验证码")  # before a number of so many digits; and as they begin a word
_BEGUN = re.compile(r"(?<![a-z0-9])(?:pin|cvv|cvc|otp)|验证码")
_STRANGE = re.compile("[\u017f\u212a\u0130\u0131]")  # s, k and i to a pattern that minds no case, but not to `lower`
_DIGIT, _PLAIN_DIGITS = re.compile(r"\d"), b"0123456789"
_PIN_DIGITS, _PHONE_DIGITS, _CARD_DIGITS = 3, 7, 13
_IBAN = re.compile(r"[0-9]{2}(?<=[A-Za-z]{2}[0-9]{2})")  # it begins with two letters and two digits


def harmless(text: str, *, email: bool = False, phone: bool = False) -> bool:
    """Whether `clean` and `redact` (without patterns of one's own) leave the text as it is; False where that is not sure."""
    lowered = text.lower()
    if not (text.isascii() and text.isprintable()) and _doubtful(text):
        return False
    if any(map(lowered.__contains__, _MARKS)):
        return False
    if email and "@" in text:
        return False
    digits = _digits(text)
    return digits < 2 or not (
        digits >= _CARD_DIGITS
        or (phone and digits >= _PHONE_DIGITS)
        or (digits >= _PIN_DIGITS and any(map(lowered.__contains__, _NUMBERED)) and _BEGUN.search(lowered))
        or _IBAN.search(text)
    )


def _digits(text: str) -> int:
    if text.isascii():
        return len(text) - len(text.encode().translate(None, _PLAIN_DIGITS))
    return len(_DIGIT.findall(text))


def _doubtful(text: str) -> bool:
    return _STRANGE.search(text) is not None or any(mark in text for mark in _CHINESE) or clean(text) != text
