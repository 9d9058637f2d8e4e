"""Texts that a careless pattern reads slowly: one of many fragments again and again, in one of ten arrangements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

# What separates, opens, closes, counts, names, dates, asks and tells, in several languages and writings.
FRAGMENTS = (
    " ", "\t", "\n", "\r\n", "\n\n ", " \n", "\u3000", "\xa0", "\u200b", "\ufeff", "\x0b", "\u2028", "|\n", ",,,\n",
    "\t\t\n", ".", "!", "?", ",", ";", ":", "-", "—", "...", "…", "'", '"', "“", "”", "‘", "(", ")", "[", "]", "{",
    "}", "<", ">", "/", "\\", "*", "**", "_", "`", "```\n", "~", "#", "@", "&", "%", "$", "+", "=", "|", "。", "，",
    "、", "？", "「", "」", "：", "> ", "> > ", "- ", "* ", "1. ", "# a\n", "| a ", "--- \n", "Fwd:\n", "From: a\n",
    "On Monday Bob wrote:\n", "[12:00] Bob: hi\n", "Bob: ", "the email: ", "```py\n", '{"a": ', "<a>", "a,b\n",
    "&x=1", "?a=b", '"a": "b", ', "password: ", "my password is ", "sk-", "key=", "https://a:b@c/", "a@b.", "a.b@",
    "4111 ", "1-", "1,", "+49 ", "DE12 ", "eyJ", "0x", "-----BEGIN ", "%3D", "token ", "A1", "a", "I ", "I'm ",
    "I live in ", "my ", "my sister ", "and ", "and I ", "no, ", "not ", "but ", "please ", "remember that ",
    "forget ", "because ", "if ", "Dear Ana, I'm ", "I used to ", "I like tea and ", "Ana ", "von der ", "3 May ",
    "on Monday ", "in two ", "12:30 ", "2024-", "x1 ", "the ", "what is ", "用户", "我", "我喜欢", "我的", "三月", "不",
    "二〇",    "二〇", "이 ", "ひ", "é", "e\u0301", "\ufb01", "\u0130", "😀", "🇩", "\u202e",
)  # fmt: skip
ARRANGEMENTS: Mapping[str, Callable[[str], tuple[str, str, str]]] = {
    "alone": lambda one: ("", one, ""),
    "then a letter": lambda one: ("", one, "x"),
    "then a line": lambda one: ("", one, "\n!"),
    "of the user": lambda one: ("I said ", one, "."),
    "asked for": lambda one: ("Remember that my ", one, "?"),
    "in quotes": lambda one: ('I live in "', one, '"'),
    "with words": lambda one: ("", f"{one}word ", ""),
    "with the user": lambda one: ("", f"I {one}", ""),
    "with a number": lambda one: ("", f"{one}7", ""),
    "a line each": lambda one: ("", f"{one}a\n", ""),
}


def list_shapes() -> list[tuple[str, str]]:
    """Return every shape as its fragment and its arrangement."""
    return [(fragment, arrangement) for fragment in FRAGMENTS for arrangement in ARRANGEMENTS]


def make_text(fragment: str, arrangement: str, size: int) -> str:
    """Return `size` characters of a shape."""
    start, repeated, end = ARRANGEMENTS[arrangement](fragment)
    room = size - len(start) - len(end)
    return start + (repeated * (room // len(repeated) + 1))[:room] + end
