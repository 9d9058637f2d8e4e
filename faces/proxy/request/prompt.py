"""What memory puts into a request, and where it stands."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muniment.faces.proxy.request.body import RawItem, make_item
from muniment.faces.proxy.request.messages import find_last_user, find_system
from muniment.memory.domain.query import Brief
from muniment.memory.errors import TemplateError
from muniment.memory.payload import fence_text

PLACEHOLDER = "{memories}"
_MAX_KEPT = 2_000
_KEPT_SECONDS = 900.0  # a loop of tools takes minutes


@dataclass(frozen=True, slots=True)
class Template:
    """The text around the memories, from the operator's file. There is no other one."""

    text: str

    @classmethod
    def load(cls, path: Path) -> Template:
        """Return the template of a file. Raises TemplateError for one that is missing, no UTF-8, or has no place for
        the memories."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise TemplateError(f"the template {path} is missing") from None
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(f"the template {path} cannot be read ({type(error).__name__})") from None
        if PLACEHOLDER not in text:
            raise TemplateError(f"the template {path} has no {PLACEHOLDER}, where the memories go")
        return cls(text.strip())

    def render_memories(self, lines: Sequence[str]) -> str:
        """Return the template with these memories, fenced as reference data; empty without any."""
        return self.text.replace(PLACEHOLDER, fence_text("\n".join(lines))) if lines else ""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What memory has found for a request, as lines: what seldom changes, and what is about this message."""

    stable: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    rev: int | None = None  # None: memory was not asked

    @classmethod
    def from_brief(cls, brief: Brief) -> Recollection:
        """Return the memories of a brief as lines."""
        bullets = (f"- {' '.join(bullet.split())}" for bullet in brief.bullets)
        return cls(tuple(brief.stable.splitlines()), tuple(bullets), int(brief.rev))

    @property
    def lines(self) -> tuple[str, ...]:
        """All memories, one a line."""
        return self.stable + self.moving


def insert_into_system(items: Sequence[RawItem], text: str) -> list[RawItem]:
    """Return the messages with a text behind the system prompt, or as the system prompt where there is none."""
    if not text:
        return [*items]
    place = find_system([item.value for item in items])
    if place is None:
        return [make_item({"role": "system", "content": text}), *items]
    return [*items[:place], items[place].append_text(text), *items[place + 1 :]]


def insert_into_user(items: Sequence[RawItem], text: str, part_type: str = "text") -> list[RawItem]:
    """Return the messages with a text at the end of the last one of the user."""
    place = find_last_user([item.value for item in items])
    if not text or place is None:
        return [*items]
    return [*items[:place], items[place].append_text(text, part_type), *items[place + 1 :]]


class RecalledTurns:
    """What was recalled for a message of a user, so that each step of a loop of tools has the same text.

    A key has the token in it, so no token gets what is another's."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, tuple[float, Recollection]] = OrderedDict()

    def keep_turn(self, key: bytes, now: float, found: Recollection) -> None:
        """Keep what was recalled at a monotonic time."""
        self._kept.pop(key, None)
        self._kept[key] = now, found
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)

    def find_turn(self, key: bytes, now: float) -> Recollection | None:
        """Return what was recalled for it a short while ago."""
        then, found = self._kept.get(key, (now, None))
        return found if now - then < _KEPT_SECONDS else None
