"""One action on several memories: what it would do to each, and what it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from muniment.faces.console.visits import Visit
from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Conflict, NotFound

Verb = Literal["pin", "unpin", "forget", "restore", "erase"]
VERBS: tuple[Verb, ...] = ("pin", "unpin", "forget", "restore", "erase")
INVERSES: Mapping[str, Verb] = {"pin": "unpin", "unpin": "pin", "forget": "restore", "restore": "forget"}
_MOST = 100
_SHORT_ID = 8
_REV_DIGITS = 18  # of a revision, which is a bigint

# What would become of a memory, or became of it: `changes`, or why nothing does.
Fate = Literal["changes", "same", "forgotten", "kept", "changed", "gone", "refused"]
_CHANGES: Mapping[str, Callable[[Memory, Scope, MemoryId], Awaitable[Receipt]]] = {
    "pin": lambda memory, scope, id_: memory.pin(scope, id_),
    "unpin": lambda memory, scope, id_: memory.pin(scope, id_, pinned=False),
    "forget": lambda memory, scope, id_: memory.forget(scope, id_),
    "restore": lambda memory, scope, id_: memory.restore(scope, id_),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A memory of a batch, with what would become of it or became of it; without one where it is not there."""

    fate: Fate
    memory: StoredMemory | None = None
    reason: str = ""  # of the engine, where it refused

    @property
    def key(self) -> str:
        """The memory as it was seen, for a form."""
        return f"{self.memory.id.hex}.{self.memory.rev}" if self.memory else ""

    def build_command(self, verb: Verb, owner: str) -> str:
        """Return the command line that does the same; `owner` is a word of a command line."""
        id_ = str(self.memory.id)[:_SHORT_ID] if self.memory else ""
        return (
            f"muniment forget {id_} --hard --user {owner}"
            if verb == "erase"
            else f"muniment {verb} {id_} --user {owner}"
        )


def check_verb(given: str) -> Verb:
    """Return the action of a form. Raises BadInput for another word."""
    for verb in VERBS:
        if verb == given:
            return verb
    raise BadInput(f"action: is none of {', '.join(VERBS)}")


def parse_keys(given: Sequence[str]) -> dict[MemoryId, Revision | None]:
    """Return the memories that a form names, each with the revision that was seen, where the form has it. Raises
    BadInput for what is no id, and for too many."""
    if len(given) > _MOST:
        raise BadInput(f"id: {len(given):,} memories are chosen; at most {_MOST} are changed at once")
    found: dict[MemoryId, Revision | None] = {}
    for key in given:
        id_, _, rev = key.partition(".")
        is_number = rev.isascii() and rev.isdigit() and len(rev) <= _REV_DIGITS
        try:
            found[MemoryId(UUID(id_))] = Revision(int(rev if is_number else "no number")) if rev else None
        except ValueError:
            raise BadInput("id: is none of a memory") from None
    return found


async def preview_batch(visit: Visit, verb: Verb, keys: Mapping[MemoryId, Revision | None]) -> list[Item]:
    """Return what an action would do to memories. One of another user is as one that is not there."""
    memories = await visit.service.memory.admin.get_many(visit.caller.scope, keys)
    return [_preview(verb, memories.get(id_), visit) for id_ in keys]


async def apply_batch(visit: Visit, verb: Verb, keys: Mapping[MemoryId, Revision | None]) -> list[Item]:
    """Do an action to memories, each by itself, and return what became of each. One that has changed since it was seen
    stays as it is. Raises BadInput for an erasure, which has a way of its own; StoreError."""
    if verb not in _CHANGES:
        raise BadInput(f"action: is none of {', '.join(_CHANGES)}")
    items = []
    for item, seen in zip(await preview_batch(visit, verb, keys), keys.values(), strict=True):
        memory = item.memory
        if memory is not None and seen is not None and memory.rev != seen:
            items.append(Item(fate="changed", memory=memory))
        elif memory is None or item.fate != "changes":
            items.append(item)
        else:
            items.append(await _apply(visit, verb, memory))
    return items


async def _apply(visit: Visit, verb: Verb, memory: StoredMemory) -> Item:
    try:
        receipt = await _CHANGES[verb](visit.service.memory, visit.caller.scope, memory.id)
    except (BadInput, Conflict) as error:
        return Item(fate="refused", memory=memory, reason=str(error))
    except NotFound:
        return Item(fate="gone")
    after = [change.after for change in receipt.changes if change.after.id == memory.id]
    return Item(fate="changes" if after else "same", memory=after[-1] if after else memory)


def _preview(verb: Verb, memory: StoredMemory | None, visit: Visit) -> Item:
    if memory is None or memory.category not in visit.caller.allowed:
        return Item(fate="gone")
    is_forgotten = memory.state == "soft_deleted"
    fates: dict[Verb, Fate] = {
        "pin": "forgotten" if is_forgotten else "same" if memory.pinned else "changes",
        "unpin": "changes" if memory.pinned else "same",
        "forget": "same" if is_forgotten else "changes",
        "restore": "changes" if is_forgotten or memory.superseded_by is not None else "kept",
        "erase": "changes",
    }
    return Item(fate=fates[verb], memory=memory)
