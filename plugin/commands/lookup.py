"""Items by the beginning of their ids, as a person reads and types them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime

from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem
from muniment.plugin.ports import MemoryStore

MIN_ID_CHARS = 4
MAX_CANDIDATES = 6
_RIVALS = 200  # of the newest items an id is made unique among; beyond them it is as long as chance wants
_LONG_ID_CHARS = 8
_GROUPS = (8, 12, 16, 20)  # hexadecimal digits before each dash of a UUID
_DIGITS = re.compile(r"[0-9a-f]{1,32}")


def parse_id_prefix(typed: str) -> str | None:
    """Return the beginning of an id in its usual form, or None for what cannot be one."""
    digits = typed.casefold().replace("-", "")
    if len(digits) < MIN_ID_CHARS or _DIGITS.fullmatch(digits) is None:
        return None
    parts = [digits[start:end] for start, end in zip((0, *_GROUPS), (*_GROUPS, 32), strict=True)]
    return "-".join(part for part in parts if part)


async def find_candidates(store: MemoryStore, owner: ItemOwner, prefix: str, at: datetime) -> Sequence[MemoryItem]:
    """Return the owner's items, of all projects and sessions, whose id begins so: no more than `MAX_CANDIDATES`."""
    query = ListQuery(owner=owner, at=at, everywhere=True, id_prefix=prefix, limit=MAX_CANDIDATES)
    return await store.list(query)


async def find_rivals(store: MemoryStore, owner: ItemOwner, at: datetime) -> Sequence[str]:
    """Return the ids among which a shown id is to be unique: of the owner's newest items, wherever they hold."""
    return [item.id for item in await store.list(ListQuery(owner=owner, at=at, everywhere=True, limit=_RIVALS))]


def shorten_ids(ids: Collection[str], rivals: Sequence[str]) -> dict[str, str]:
    """Return for each id its shortest beginning, of at least 4 characters, with which no rival begins.

    Where there are so many rivals that not all are known, it has 8 characters or more, which are unique by chance."""
    least = MIN_ID_CHARS if len(rivals) < _RIVALS else _LONG_ID_CHARS
    ordered = sorted({*ids, *rivals})
    places = {id_: place for place, id_ in enumerate(ordered)}
    shown: dict[str, str] = {}
    for id_ in ids:
        place = places[id_]
        beside = ordered[max(0, place - 1) : place] + ordered[place + 1 : place + 2]
        common = max((_count_common(id_, other) for other in beside), default=0)
        shown[id_] = id_[: max(least, common + 1)].removesuffix("-")
    return shown


def _count_common(first: str, second: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
