"""The book of a host beside the engine: in its Postgres, in the space of each user."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import TYPE_CHECKING

from muniment.memory.domain.plugin.account import PluginChange, PluginTally, PluginTurn
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.plugin.book.buffer import TurnBuffer
from muniment.plugin.book.tally import name_policy
from muniment.plugin.domain.book import AuditLine, PluginStats, TurnReport
from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.ports import PluginBook
from muniment.plugin.problems import Problem

if TYPE_CHECKING:
    from muniment.memory.bootstrap.plugin_accounts import PluginAccounts

_OF_OWNER = ("session_id", "project_id")
_TURN_FIELDS = tuple(field.name for field in fields(PluginTurn) if field.name not in _OF_OWNER)
_COUNTS = tuple(field.name for field in fields(PluginTally) if field.name not in ("policy", "is_shadow"))


class EngineBook(PluginBook):
    """The `PluginBook` port over the accounts of a database. Reports of turns wait a moment in a buffer; a switch and
    an audit line are written when their call returns."""

    def __init__(self, accounts: PluginAccounts) -> None:
        self._accounts = accounts
        self._buffer = TurnBuffer(self._write_turns)

    def list_problems(self) -> tuple[Problem, ...]:
        """Return why reports of turns wait; nothing where they can be written."""
        return self._buffer.list_problems()

    async def read_switch(self, owner: ItemOwner) -> bool:
        """Return whether the plugin is on in the owner's session; without a session it is. Raises StoreError."""
        return owner.session is None or await self._accounts.read_switch(_make_scope(owner), owner.session)

    async def write_switch(self, owner: ItemOwner, *, is_on: bool) -> None:
        """Switch the plugin on or off in the owner's session, at once. Raises BadInput without one, StoreError."""
        if owner.session is None:
            raise BadInput("session: is missing; the plugin is switched in one session")
        await self._accounts.write_switch(_make_scope(owner), owner.session, is_on=is_on)

    async def count_writes(self, owner: ItemOwner, since: datetime) -> int:
        """Return how many items were written for the user since then. Raises StoreError."""
        await self._buffer.flush()
        return await self._accounts.count_written(_make_scope(owner), since)

    async def record_turn(self, report: TurnReport) -> None:
        """Take the report of a turn; a later one of the turn takes its place. It is written a moment later."""
        self._buffer.add(report)

    async def read_last_turn(self, owner: ItemOwner) -> TurnReport | None:
        """Return the report of the last turn of the owner's session. Raises StoreError."""
        await self._buffer.flush()
        turn = await self._accounts.read_last_turn(_make_scope(owner), owner.session or "")
        if turn is None:
            return None
        return TurnReport(
            owner=replace(owner, project=turn.project_id), **{name: getattr(turn, name) for name in _TURN_FIELDS}
        )

    async def record_audit(self, line: AuditLine) -> None:
        """Write what a person has changed, at once. Raises StoreError."""
        owner = line.owner
        change = PluginChange(
            session_id=owner.session or "",
            project_id=owner.project,
            at=line.at,
            action=line.action,
            item_id=line.item_id,
        )
        await self._accounts.record_change(_make_scope(owner), change)

    async def read_stats(self, tenant: str, user: str | None, since: datetime) -> PluginStats:
        """Return what was counted since then, of one user or of all of a tenant. Raises StoreError."""
        await self._buffer.flush()
        scope = Scope(tenant=tenant, owner=user or "")
        return parse_tallies(await self._accounts.read_tallies(scope, since, whole_tenant=user is None))

    async def close(self) -> None:
        """Write what waits. The accounts stay open."""
        await self._buffer.close()

    async def _write_turns(self, reports: Sequence[TurnReport]) -> None:
        by_scope: dict[Scope, list[PluginTurn]] = defaultdict(list)
        for report in reports:
            owner = report.owner
            turn = PluginTurn(
                session_id=owner.session or "",
                project_id=owner.project,
                **{name: getattr(report, name) for name in _TURN_FIELDS},
            )
            by_scope[_make_scope(owner)].append(turn)
        for scope, turns in by_scope.items():
            await self._accounts.record_turns(scope, turns)


def parse_tallies(tallies: Sequence[PluginTally]) -> PluginStats:
    """Return what was counted in a database, in all and by policy."""
    total, policies = PluginStats(), dict[str, PluginStats]()
    for tally in tallies:
        stats = PluginStats(**{name: getattr(tally, name) for name in _COUNTS})
        if tally.policy is None:
            total = stats
        else:
            policies[name_policy(tally.policy, is_shadow=tally.is_shadow)] = stats
    return replace(total, policies=policies)


def _make_scope(owner: ItemOwner) -> Scope:
    return Scope(tenant=owner.tenant, owner=owner.user)
