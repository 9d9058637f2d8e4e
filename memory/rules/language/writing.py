"""What a text is written in: its script, and of Latin letters its language. What a cosine means depends on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.stop_words import ENGLISH_WORD, LANGUAGES, detect_language
from muniment.memory.rules.language.tokens import cache_texts

if TYPE_CHECKING:
    from muniment.memory.config.schema import CosineBands, EmbedderProfile, Writing

ENGLISH = "en"
LATIN = "latin"  # in Latin letters that English lacks, and the language does not show
PLAIN = "plain"  # in Latin letters that English has, and the language does not show
OTHER = "other"
MIXED = "mixed"  # two texts of two writings
_LATIN_WRITINGS = frozenset((ENGLISH, PLAIN, LATIN, *LANGUAGES))
_OTHER_LATIN_WRITINGS = _LATIN_WRITINGS - {ENGLISH, PLAIN}
_LETTER = lazy_compile(r"[^\W\d_]")
# The letters of a script, and how many letters of an alphabet one of them stands for.
_SCRIPTS = {
    LATIN: (lazy_compile("[A-Za-zªºÀ-ɏḀ-ỿⱠ-Ɀ꜠-ꟿＡ-Ｚａ-ｚ]"), 1),
    "cyrillic": (lazy_compile("[\u0400-\u052f]"), 1),
    "hangul": (lazy_compile("[\uac00-\ud7af\u1100-\u11ff]"), 2),
    "kana": (lazy_compile("[\u3040-\u30ff]"), 2),
    "han": (lazy_compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff]"), 3),
}
_LEAST_UNREAD = 5  # texts; fewer may be quotations
_KANA_SHARE = 0.1  # of the characters of Japanese; Chinese has none


@cache_texts(4_096)
def detect_writing(text: str) -> str:
    """Return the language of a text in Latin letters (`latin` or `plain` where it does not show), else the script of
    most letters, `other` for one that is not named here."""
    if text.isascii():
        return _detect_latin(text)
    counts = {name: weight * len(letters.findall(text)) for name, (letters, weight) in _SCRIPTS.items()}
    if counts["kana"] > _KANA_SHARE * (counts["kana"] + counts["han"]):
        counts["kana"] += counts.pop("han")
    known = sum(len(letters.findall(text)) for letters, _ in _SCRIPTS.values())
    counts[OTHER] = len(_LETTER.findall(text)) - known
    script = max(counts, key=counts.__getitem__)
    return _detect_latin(text) if script == LATIN else script


class UnreadShare(NamedTuple):
    """The writing that most texts have which an embedder cannot read, and their share of the texts that show one."""

    writing: str
    share: float


def find_unread(profile: EmbedderProfile, texts: Sequence[str]) -> UnreadShare | None:
    """Return what an embedder cannot read of these texts, or None where it reads most of them, or few show what they
    are written in."""
    counts = Counter(writing for writing in map(detect_writing, texts) if writing not in (PLAIN, LATIN))
    unread = Counter({name: count for name, count in counts.items() if not can_read(profile, name)})
    share = unread.total() / max(1, counts.total())
    if unread.total() < _LEAST_UNREAD or share <= 1 / 2:
        return None
    return UnreadShare(unread.most_common(1)[0][0], share)


def can_read(profile: EmbedderProfile, writing: str) -> bool:
    """Whether an embedder knows the meaning of texts of a writing."""
    return not profile.reads or writing in profile.reads


def choose_bands(profile: EmbedderProfile, text: str, other: str) -> CosineBands:
    """Return what a cosine of two texts means to an embedder: the profile itself where it is one for all writings.

    What runs for every hit and neighbour asks for `by_writing` before it calls this."""
    return find_bands(profile, detect_writing(text), detect_writing(other)) if profile.by_writing else profile


def find_bands(profile: EmbedderProfile, writing: str, other: str) -> CosineBands:
    """Return what a cosine of a text of one writing and one of another means to an embedder.

    In Latin letters a text whose language does not show may be in the language of the other."""
    if writing == other == ENGLISH:
        return profile
    names = {writing, other}
    if names <= _LATIN_WRITINGS:
        names = names - {PLAIN} or {ENGLISH}
    if names <= _OTHER_LATIN_WRITINGS and len(names) > 1:
        names -= {LATIN}
    [name] = names if len(names) == 1 else [MIXED]
    return profile if name == ENGLISH else profile.by_writing.get(cast("Writing", name), profile)


def _detect_latin(text: str) -> str:
    if ENGLISH_WORD.search(text):
        return ENGLISH
    return detect_language(text) or (PLAIN if all(letter.isascii() for letter in _LETTER.findall(text)) else LATIN)
