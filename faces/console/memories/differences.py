"""The difference of two texts, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

Part = tuple[str, str]  # "same", "gone" or "new", and a text
_TOKEN = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff]+|\s+|.", re.DOTALL)
_MOST_TOKENS = 400  # of what differs; longer texts are shown one after the other


def compare_words(before: str, after: str) -> list[Part]:
    """Return the parts of two texts in order: what both have, what was only in the first, and what is in the second.

    What both begin and end with is found first; of the rest, a long one is not compared word by word."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    shortest = min(len(old), len(new))
    start = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    rest = shortest - start
    end = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    parts: list[Part] = [("same", "".join(old[:start]))]
    if max(len(middle_old), len(middle_new)) > _MOST_TOKENS:
        parts += [("gone", "".join(middle_old)), ("new", "".join(middle_new))]
    else:
        for what, a, b, c, d in SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_opcodes():
            if what == "equal":
                parts.append(("same", "".join(middle_old[a:b])))
            else:
                parts += [("gone", "".join(middle_old[a:b])), ("new", "".join(middle_new[c:d]))]
    parts.append(("same", "".join(old[len(old) - end :])))
    return [part for part in parts if part[1]]
