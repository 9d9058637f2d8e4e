"""Which font of a PDF draws which letter, and which letters none of them draws."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from xml.sax.saxutils import escape

LATIN, BOLD, CHINESE, OWN = "Helvetica", "Helvetica-Bold", "STSong-Light", "muniment-own"
_TYPOGRAPHIC = frozenset("–—‘’‚“”„†‡•…‰‹›€™")  # what the fonts of Latin letters have beside Latin-1
# Scripts of Unicode whose letters join, change their order, or run from right to left: no letter of them stands alone.
_JOINED = frozenset(
    {
        "ARABIC", "HEBREW", "SYRIAC", "THAANA", "NKO", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA",
        "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "THAI", "LAO", "TIBETAN", "MYANMAR", "KHMER", "MONGOLIAN",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LetterFaults:
    """The letters of a PDF that are in its text and are not seen as they should be, each with how often it is there:
    those that no font draws, and those that are drawn one by one though their script joins them."""

    missing: Counter[str] = field(default_factory=Counter)
    unjoined: Counter[str] = field(default_factory=Counter)

    def list_missing(self) -> str:
        """Return the letters that no font draws, the most frequent first."""
        return "".join(letter for letter, _ in self.missing.most_common())

    def list_scripts(self) -> list[str]:
        """Return the scripts of all these letters, as Unicode names them."""
        return sorted({name_script(letter) for letter in (*self.missing, *self.unjoined)})


class Letters:
    """Marks up texts with the fonts that have their letters, and notes those that none draws.

    The fonts are that of an own file, if there is one, given by the code points that it has; then those that every
    reader of PDF brings, for Latin letters and for Chinese."""

    def __init__(self, own: AbstractSet[int] | None = None) -> None:
        self.faults = LetterFaults()
        self.latin = self.bold = LATIN if own is None else OWN
        if own is None:
            self.bold = BOLD
        self._own = own
        self._fonts: dict[str, str] = {}  # of letters that were seen; empty: that of the paragraph

    def mark_up(self, text: str) -> str:
        """Return a text for a paragraph: its lines, and its runs by the font that has them."""
        return "".join(self._mark_runs(text)).replace("\n", "<br/>")

    def _mark_runs(self, text: str) -> Iterator[str]:
        if self._own is None and text.isascii():
            yield escape(text)
            return
        for font, letters in groupby(text, self._choose_font):
            run = escape("".join(letters))
            yield f'<font name="{font}">{run}</font>' if font else run

    def _choose_font(self, letter: str) -> str:
        font = self._fonts.get(letter)
        if font is None:
            font = self._fonts[letter] = self._find_font(letter)
        if not letter.isascii():
            self._note_faults(letter)
        return font

    def _find_font(self, letter: str) -> str:
        if letter.isspace() or self._is_own(letter):
            return ""
        if _is_latin(letter):
            return "" if self._own is None else LATIN
        return CHINESE if _is_chinese(letter) or self._own is None else ""

    def _note_faults(self, letter: str) -> None:
        if not (letter.isspace() or self._is_own(letter) or _is_latin(letter) or _is_chinese(letter)):
            self.faults.missing[letter] += 1
        elif name_script(letter) in _JOINED:
            self.faults.unjoined[letter] += 1

    def _is_own(self, letter: str) -> bool:
        return self._own is not None and ord(letter) in self._own


def name_script(letter: str) -> str:
    """Return the script of a letter, as the first word of its name in Unicode."""
    return unicodedata.name(letter, "UNNAMED").partition(" ")[0]


def _is_latin(letter: str) -> bool:
    return ord(letter) < 256 or letter in _TYPOGRAPHIC


def _is_chinese(letter: str) -> bool:
    """Whether the Chinese font of a reader has a letter: those of GBK."""
    try:
        letter.encode("gbk")
    except UnicodeEncodeError:
        return False
    return True
