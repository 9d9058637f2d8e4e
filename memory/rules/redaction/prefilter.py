"""A quick look that finds most texts to have nothing that redaction would take out."""

from __future__ import annotations

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import normalize_text

# Every pattern of `rules.redact` needs one of these, or digits. Before them what each has in it, which is looked for faster.
_MARKS = (
    ("_", ("_",)),
    ("-", ("-----", "sk-", "glpat-")),
    (":", ("://", ":aa")),
    ("x", ("xox",)),
    ("z", ("aiza",)),
    ("j", ("eyj",)),
    ("k", ("key", "token", "akia")),
    ("p", ("pass", "pw")),
    ("b", ("bearer", "basic")),
    ("c", ("secret",)),
    ("s", ("asia",)),
)
_CHINESE = ("密", "口令", "秘钥", "令牌")
_NUMBERED = ("pin", "cvv", "cvc", "otp", "验证码")  # before a number of so many digits; and as they begin a word
_BEGUN = lazy_compile(r"(?<![a-z0-9])(?:pin|cvv|cvc|otp)|验证码")
_STRANGE = lazy_compile("[\u017f\u212a\u0130\u0131]")  # s, k and i to a pattern that minds no case, but not to `lower`
_DIGIT = lazy_compile(r"\d")
# Of ASCII each digit as 0, each letter as a: an IBAN begins with two letters and two digits.
_KINDS = bytes(48 if 48 <= n < 58 else 97 if n < 128 and chr(n).isalpha() else 32 for n in range(256))
_PIN_DIGITS, _PHONE_DIGITS, _CARD_DIGITS = 3, 7, 13
_IBAN = lazy_compile(r"[0-9]{2}(?<=[A-Za-z]{2}[0-9]{2})")


def needs_no_redaction(text: str, *, email: bool = False, phone: bool = False) -> bool:
    """Whether `clean` and `redact` (without patterns of one's own) leave the text as it is; False where that is not sure."""
    lowered = text.lower()
    if not (text.isascii() and text.isprintable()) and _has_unusual_characters(text):
        return False
    if _has_mark(lowered):
        return False
    if email and "@" in text:
        return False
    digits, account = _count_digits(text)
    return digits < 2 or not (
        account
        or digits >= _CARD_DIGITS
        or (phone and digits >= _PHONE_DIGITS)
        or (digits >= _PIN_DIGITS and any(map(lowered.__contains__, _NUMBERED)) and _BEGUN.search(lowered))
    )


def _has_mark(lowered: str) -> bool:
    for part, marks in _MARKS:
        if part in lowered:
            for mark in marks:
                if mark in lowered:
                    return True
    return False


def _count_digits(text: str) -> tuple[int, bool]:
    """How many digits a text has, and whether two letters and two of them follow each other."""
    if text.isascii():
        kinds = text.encode().translate(_KINDS)
        return kinds.count(b"0"), b"aa00" in kinds
    return len(_DIGIT.findall(text)), _IBAN.search(text) is not None


def _has_unusual_characters(text: str) -> bool:
    return _STRANGE.search(text) is not None or any(mark in text for mark in _CHINESE) or normalize_text(text) != text
