"""What a process keeps of the sessions of its plugin between their turns. Losing it costs a search, never an item."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING

from muniment.plugin.domain.item import ItemOwner, MemoryHit, MemoryItem
from muniment.plugin.gates.topic import TopicWindow

if TYPE_CHECKING:
    from muniment.chain.values import Identity
    from muniment.memory.domain.turn import Turn
    from muniment.plugin.domain.policy import Policy

_MOST_SESSIONS = 1_000
_MOST_USERS = 10_000
_MOST_DRAFTS = 32  # turns of a session whose work behind the reply is not done
_MOST_WORK = 64  # turns of a person and of tools that may be one piece of work


@dataclass(slots=True, kw_only=True)
class TurnDraft:
    """What was decided and done before the prompt of a turn, until its report is written."""

    policy: Policy
    is_allowed: bool = True  # whether the turn may read and write at all
    recall: bool = False
    recall_reason: str = ""
    is_hit: bool | None = None
    item_ids: tuple[str, ...] = ()
    tokens: int = 0
    overruled: frozenset[str] = frozenset()  # items that the message contradicts
    remote_reads: int = 0
    milliseconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StableBlock:
    """What stands in the system message of a session, with the items that it shows."""

    text: str = ""
    items: tuple[MemoryItem, ...] = ()
    tokens: int = 0

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The ids of the items that it shows."""
        return tuple(item.id for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBlock:
    """What stands in the user's message of a turn, with the items that it shows."""

    text: str = ""
    item_ids: tuple[str, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShownFinds:
    """A block of what was found, and what it was made of."""

    hits: tuple[MemoryHit, ...]
    stable: StableBlock
    day: date
    block: FoundBlock


@dataclass(slots=True, kw_only=True)
class SessionState:
    """What is kept of one session."""

    is_on: bool | None = None  # None: not read yet
    stable: StableBlock | None = None  # None: not read yet
    window: TopicWindow = field(default_factory=TopicWindow)
    turns_in_window: int = 0
    hits: tuple[MemoryHit, ...] = ()
    found: ShownFinds | None = None  # in the last turn
    searched_at: datetime | None = None
    revision: int = -1  # of the space, at that search
    goal: str | None = None  # the work that was asked for last
    fixes: set[str] = field(default_factory=set)  # the keys of those that the work has shown already
    work: deque[Turn] = field(default_factory=lambda: deque(maxlen=_MOST_WORK))
    drafts: OrderedDict[str, TurnDraft] = field(default_factory=OrderedDict)

    def keep_draft(self, turn_id: str, draft: TurnDraft) -> None:
        """Keep what was decided before a turn until its end."""
        self.drafts[turn_id] = draft
        while len(self.drafts) > _MOST_DRAFTS:
            self.drafts.popitem(last=False)

    def drop_items(self, ids: frozenset[str]) -> None:
        """Show these items no more: the block of the system message is made anew where it has one of them."""
        self.hits = tuple(hit for hit in self.hits if hit.item.id not in ids)
        if self.stable and not ids.isdisjoint(self.stable.item_ids):
            self.stable = None


class Sessions:
    """The sessions that were active last, and how often the space of each user was written into."""

    def __init__(self) -> None:
        self._states: OrderedDict[tuple[str, str, str | None, str | None], SessionState] = OrderedDict()
        self._revisions: OrderedDict[tuple[str, str], int] = OrderedDict()

    def get_state(self, owner: ItemOwner) -> SessionState:
        """Return what is kept of the owner's session, anew where nothing is."""
        key = (owner.tenant, owner.user, owner.project, owner.session)
        state = self._states.setdefault(key, SessionState())
        self._states.move_to_end(key)
        while len(self._states) > _MOST_SESSIONS:
            self._states.popitem(last=False)
        return state

    def list_states(self, owner: ItemOwner) -> list[SessionState]:
        """Return what is kept of all sessions of the owner's user."""
        return [state for key, state in self._states.items() if key[:2] == (owner.tenant, owner.user)]

    def get_revision(self, owner: ItemOwner) -> int:
        """Return how often the space of the owner's user was written into by this process."""
        return self._revisions.get((owner.tenant, owner.user), 0)

    def note_write(self, owner: ItemOwner, gone: frozenset[str] = frozenset()) -> None:
        """Note that the space of the owner's user was written into. Items that are gone are shown in no session."""
        key = (owner.tenant, owner.user)
        self._revisions[key] = self._revisions.pop(key, 0) + 1
        while len(self._revisions) > _MOST_USERS:
            self._revisions.popitem(last=False)
        for state in self.list_states(owner) if gone else ():
            state.drop_items(gone)


def make_owner(identity: Identity) -> ItemOwner:
    """Return whose items a turn concerns, by what the host knows."""
    return ItemOwner(
        user=identity.user, tenant=identity.tenant, project=identity.project or None, session=identity.session
    )


def add_milliseconds(counted: dict[str, float], more: Mapping[str, float]) -> None:
    """Add times to those of the same name."""
    for name, value in more.items():
        counted[name] = counted.get(name, 0.0) + value
