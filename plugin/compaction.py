"""What leaves a thread: its messages as turns, and their finds as items, before they go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from muniment.chain.values import Message, TurnContext
from muniment.memory.domain.memory import Role
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.provenance.quoted import hash_shingles
from muniment.plugin.writing import ItemWriter, WriteRequest

if TYPE_CHECKING:
    from muniment.memory.config.plugin import GateSettings
    from muniment.plugin.domain.item import ItemOwner

RecordLeaving: TypeAlias = Callable[[TurnContext, Sequence[Message]], Awaitable[None]]
_PREVIOUS = 2  # messages before a turn that say what it answers


def make_turns(context: TurnContext) -> tuple[Turn, list[Turn]]:
    """Return the message of a turn as a turn of the rules, and those before it, oldest first. It knows by their hashes
    what memory has put before the model."""
    place = next((n for n in reversed(range(len(context.messages))) if context.messages[n].role == "user"), 0)
    recalled = hash_shingles(addition.text for addition in context.additions)
    before = [_make_turn(context, message, ()) for message in context.messages[max(0, place - _PREVIOUS) : place]]
    own = Message(role="user", text=context.user_text, id=context.turn_id)
    return _make_turn(context, own, recalled), [turn for turn in before if turn.role in ("user", "assistant")]


async def write_leaving(
    writer: ItemWriter, context: TurnContext, owner: ItemOwner, gates: GateSettings, messages: Sequence[Message]
) -> frozenset[str]:
    """Write what the messages say that leave a thread, and return the ids of the items that changed by it.

    What was written from them before is known, and what was forgotten stays forgotten. Raises what the store raises."""
    changed: set[str] = set()
    turns = make_leaving_turns(context, messages)
    for n, turn in enumerate(turns):
        if turn.role != "user":
            continue
        request = WriteRequest(owner=owner, at=turn.at, gates=gates, is_leaving=True)
        previous = [each for each in turns[max(0, n - _PREVIOUS) : n] if each.role in ("user", "assistant")]
        result = await writer.write_turn(request, turn, previous)
        changed |= result.changed
    return frozenset(changed)


def make_leaving_turns(context: TurnContext, messages: Sequence[Message]) -> list[Turn]:
    """Return messages of a thread as turns, in order. The same message is always the same turn."""
    return [_make_turn(context, message, ()) for message in messages]


def _make_turn(context: TurnContext, message: Message, recalled: tuple[int, ...]) -> Turn:
    role: Role = message.role
    return Turn.make(
        session=context.identity.session,
        key=message.id or context.turn_id,
        role=role,
        text=message.text,
        at=message.at or context.at,
        thread=context.identity.session,
        actor=context.identity.user if role == "user" else context.identity.agent,
        path=context.path,
        tags=context.tags,
        recalled=recalled,
    )
