"""Two known statements by their words alone, when nobody is there to ask: whether one restates the other to the word, or
corrects it in so many words.

What a conversation says last is most likely a correction of what it said before. Of two statements that were kept for days
and came from anywhere both are most likely meant: here a word more is a word that counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.language.tokens import has_cjk
from muniment.memory.rules.merging.wording import has_same_slot, is_retraction, is_whereabouts
from muniment.memory.rules.statements.parse import ParsedStatement, canonicalize_word
from muniment.memory.rules.statements.parse_words import NUMBERS
from muniment.memory.rules.statements.people import USER, has_other_order

_LIGHT = parse_vocabulary(
    """
    a an the is are was were be been being has have had do does did of to in on at by for from with it its that this there
    and as so now currently still 的 了 是 在 有 着 过
    """
)
_WHEN = parse_vocabulary(
    "everi each day week month year morn evening night noon onc twice time often alway usual 每 天 早 晚 上 午 次 周 月 年 点 半 昨 今 明"
)
_TURNING = parse_vocabulary("from as")
_LITTLE = parse_vocabulary("includ contain cost last run go give hold keep have need pay 去 坐 搭 乘 要")
_DENYING = parse_vocabulary("not no never doesn't don't didn't isn't aren't wasn't cannot can't won't 不 没 未 别 无")


def has_same_words(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether each says every word of the other, in whatever order, but for those that say nothing."""
    return (
        a.figures == b.figures
        and Counter(_list_content_words(a)) == Counter(_list_content_words(b))
        and _find_direction_words(a) == _find_direction_words(b)
    )


def _find_direction_words(statement: ParsedStatement) -> frozenset[str]:
    """Of what is between two people the words that make the one who gives the one who gets: `has a vote from Ana`, `has Ana as coach`."""
    several = len(statement.names | ({statement.first_word} if statement.first_word else frozenset())) > 1
    return _TURNING & set(statement.tokens) if several else frozenset()


def is_corrected(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the newer one gives another value to the same thing, says that it has changed, or denies the older one."""
    if has_same_slot(new, old) and not is_whereabouts(new):
        return True
    mine, theirs = set(_list_content_words(new)), set(_list_content_words(old))
    if new.contradicts(old) != old.contradicts(new):
        return new.figures == old.figures and mine - _DENYING == theirs - _DENYING
    # What it was before is its numbers where it has any, else one word; all else has to be said again. Of Chinese each
    # character is a word here.
    gone = old.words - new.words
    return new.is_correction and len(gone) <= (0 if new.figures or has_cjk(old.text) else 1)


def is_taken_back(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the newer one says itself what it takes the place of, and that is what the older one says: `moved from 3 to 5 May`
    where it was the third, `Riga, not Oslo`. Every name and word of the older one has to be said again, but for a verb that
    says little, and the people in the same order: who calls is not who is called."""
    named = old.names | ({old.first_word} if old.first_word else frozenset())
    kept = old.words - new.retracted_words
    return (
        is_retraction(new, old)
        and not old.is_negated
        and bool(kept)
        and kept - new.words <= _LITTLE
        and named - new.retracted_words <= set(new.tokens)
        and not has_other_order(new, old)
    )


def is_unrelated(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether the two have no word in common but names, numbers, times and light ones: neither can be what has become of the other."""
    names = a.names | b.names | frozenset(filter(None, (a.first_word, b.first_word))) | USER | set("用户") | _WHEN
    mine, theirs = ({one for one in _list_content_words(each) if one not in names} for each in (a, b))
    return not mine & theirs


def _list_content_words(statement: ParsedStatement) -> Iterator[str]:
    """Every word but the light ones and the numbers, the same for all spellings and words of one meaning."""
    for said in statement.tokens:
        if said not in _LIGHT and said not in NUMBERS and not said.isdecimal() and said not in statement.figures:
            yield canonicalize_word(said)
