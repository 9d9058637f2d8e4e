"""Finds the numbers of cards and accounts by their lengths, their groups and their checksums."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from importlib import import_module

_EDGE = r"(?<![A-Za-z0-9])"
_GAP = r"[ .\u00a0\u2009\u200b-\u200d\u2060\u202f\u3000\ufeff-]"  # between the groups of a number
_CARD_GAP = r"[ \nxX.\u00a0\u2009\u200b-\u200d\u2060\u202f\u3000\ufeff/_|*·,–—‐‑−-]"
_DIGITS = re.compile(rf"\d+(?:{_CARD_GAP}{{1,3}}\d+)*")
_CARD_LENGTHS, _CARD_SIZES = range(13, 20), (5, 4, 3, 2, 1)  # of the digits, and of the groups within a longer run
_CARD_SHAPES = frozenset({(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (8, 8), (2,) * 8})
_CARD_SHAPES |= {shape for size in _CARD_LENGTHS for shape in ((size,), (1,) * size)}
_CARD_STARTS: tuple[tuple[str | tuple[str, ...], Collection[int]], ...] = (
    ("4", (13, 16, 19)), (("51", "52", "53", "54", "55", "2"), (16,)), (("34", "37"), (15,)), ("35", range(16, 20)),
    (("30", "36", "38", "39"), (14, *range(16, 20))), (("50", "56", "57", "58", "6"), range(13, 20)),
)  # fmt: skip
_CARD_FIRST = frozenset(
    shape[0] for shape in _CARD_SHAPES if len(shape) <= max(_CARD_SIZES)
)  # digits of the first group
CARD_DIGITS = min(map(sum, _CARD_SHAPES))
_IBAN = re.compile(_EDGE + rf"[A-Za-z]{{2}}[0-9]{{2}}(?:{_GAP}?[A-Za-z0-9]){{11,40}}")
_UUID = re.compile(_EDGE + r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![A-Za-z0-9])", re.IGNORECASE)


def find_accounts(text: str) -> Iterator[tuple[int, int, str]]:
    """The spans of the numbers in a text, each with its kind; a part of a UUID is none. Linear in the length of the
    text."""
    found = list(_find_checked(text))
    if found:
        in_uuid = {position for match in _UUID.finditer(text) for position in range(*match.span())}
        yield from (each for each in found if each[0] not in in_uuid)


def _find_checked(text: str) -> Iterator[tuple[int, int, str]]:
    for run in _DIGITS.finditer(text):
        yield from _find_cards(run)
    for match in _IBAN.finditer(text):
        for length in range(len(match.group()), 14, -1):
            stop = match.start() + length
            if text[stop : stop + 1].isascii() and text[stop : stop + 1].isalnum():
                continue
            if _is_iban(re.sub(_GAP, "", match.group()[:length])):
                yield match.start(), stop, "iban"
                break


def _find_cards(run: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    if len(run.group()) < CARD_DIGITS:
        return
    groups = [(run.start() + part.start(), part.group()) for part in re.finditer(r"\d+", run.group())]
    lengths = tuple(len(digits) for _, digits in groups)
    first, sizes = 0, (len(groups), *_CARD_SIZES) if len(groups) <= max(_CARD_LENGTHS) else _CARD_SIZES
    while first < len(groups):
        for size in sizes if lengths[first] in _CARD_FIRST or not first else ():
            if lengths[first : first + size] not in _CARD_SHAPES:
                continue
            parts = groups[first : first + size]
            number = "".join(str(int(digit)) for _, digits in parts for digit in digits)
            if len(number) in _find_card_lengths(number) and _has_luhn_checksum(number):
                yield parts[0][0], parts[-1][0] + len(parts[-1][1]), "card"
                first += len(parts) - 1
                break
        first += 1


def _find_card_lengths(number: str) -> Collection[int]:
    """How many digits a card has whose number begins like this one."""
    return next((lengths for start, lengths in _CARD_STARTS if number.startswith(start)), ())


def _has_luhn_checksum(number: str) -> bool:
    twice = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    return sum(twice[int(d)] if i % 2 else int(d) for i, d in enumerate(reversed(number))) % 10 == 0


def _is_iban(code: str) -> bool:
    """Whether the registry of IBAN names the country, and the code has its form and its checksum. One in 97 ids in hex
    that begin like an IBAN has the checksum alone."""
    if not 15 <= len(code) <= 34 or int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 != 1:
        return False
    registry = import_module("stdnum.iban")  # 50 ms, which most processes never need
    return bool(registry.is_valid(code, check_country=False))
