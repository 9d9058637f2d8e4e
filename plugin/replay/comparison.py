"""A recording through the plugin under each of several policies, each over a new file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.chain.host import Host
from muniment.chain.values import ToolCall, ToolOutput, TurnContext, TurnOutput
from muniment.plugin.book.file_book import FileBook
from muniment.plugin.book.tally import tally_turns
from muniment.plugin.domain.book import PluginStats, TurnReport
from muniment.plugin.domain.item import ItemOwner, ListQuery
from muniment.plugin.domain.policy import resolve_gates
from muniment.plugin.opening import open_plugin
from muniment.plugin.stores.local.store import LocalStore, open_local_store

if TYPE_CHECKING:
    from muniment.memory.config.settings import Settings
    from muniment.memory.ports.embedders import Embedder
    from muniment.plugin.replay.recording import RecordedTurn

_DRAIN_SECONDS = 120.0
_HOOK_SECONDS = 60.0  # a slow machine is to decide as a fast one


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTurn:
    """What a policy made of a turn: the contents of the items before the model, and the report."""

    number: int
    contents: tuple[str, ...]
    report: TurnReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOutcome:
    """What a policy made of a recording."""

    policy: str
    turns: tuple[ReplayedTurn, ...]
    stats: PluginStats


class _ReplayBook(FileBook):
    """A book that keeps the reports at hand."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, days=36_500)
        self.reports: dict[str, TurnReport] = {}

    async def record_turn(self, report: TurnReport) -> None:
        """Take the report of a turn."""
        self.reports[report.turn_id] = report
        await super().record_turn(report)


async def compare_policies(
    settings: Settings, turns: Sequence[RecordedTurn], policies: Sequence[str], *, embedder: Embedder | None = None
) -> Sequence[PolicyOutcome]:
    """Return what each policy makes of a recording, over a local store of its own that is removed at the end.

    Raises BadConfig for a policy that the settings do not have."""
    for policy in policies:
        resolve_gates(policy, settings.plugin)
    return [await _replay(settings, turns, policy, embedder) for policy in policies]


async def _replay(
    settings: Settings, turns: Sequence[RecordedTurn], policy: str, embedder: Embedder | None
) -> PolicyOutcome:
    with tempfile.TemporaryDirectory(prefix="muniment-replay-") as folder:
        own = _change_settings(settings, policy, Path(folder), vectors=embedder is not None)
        store, book = open_local_store(own, embedder), _ReplayBook(Path(folder) / "book.sqlite")
        at = [datetime.now(UTC)]
        try:
            async with open_plugin(own, store=store, book=book, embedder=embedder) as plugin:
                host = Host([plugin], before_seconds=_HOOK_SECONDS, after_seconds=_HOOK_SECONDS, now=lambda: at[0])
                for turn in turns:
                    at[0] = turn.at
                    await _run_turn(host, turn)
                await host.aclose()
            replayed = [
                ReplayedTurn(number=turn.number, contents=await _read_contents(store, turn, report), report=report)
                for turn in turns
                if (report := book.reports.get(_name_turn(turn))) is not None
            ]
        finally:
            await book.close()
            await store.close()
    stats = replace(tally_turns(each.report for each in replayed), policies={})
    return PolicyOutcome(policy=policy, turns=tuple(replayed), stats=stats)


def _change_settings(settings: Settings, policy: str, folder: Path, *, vectors: bool) -> Settings:
    changed = {
        "enabled": True,
        "store": "local",
        "file": str(folder / "plugin.sqlite"),
        "vectors": vectors,
        "policy": policy,
        "other_policy": None,
        "shadow": False,
        "recall_seconds": _HOOK_SECONDS,
    }
    return settings.model_copy(update={"plugin": settings.plugin.model_copy(update=changed)})


async def _run_turn(host: Host, turn: RecordedTurn) -> None:
    context = TurnContext(
        turn_id=_name_turn(turn),
        identity=turn.identity,
        messages=(*turn.earlier, turn.asked),
        at=turn.at,
        is_machine=turn.asked.is_machine,
    )

    async def answer(prepared: TurnContext) -> TurnOutput:
        for number, recorded in enumerate(turn.followed):
            if recorded.message.role == "tool":
                call = ToolCall(id=f"{context.turn_id}-{number}", name=recorded.message.name or "tool")
                output = ToolOutput(call=call, text=recorded.message.text, at=recorded.at, is_error=recorded.is_error)
                await host.report_tool(prepared, output)
        said = [recorded.message for recorded in turn.followed]
        last = next((message.text for message in reversed(said) if message.role == "assistant"), "")
        return TurnOutput(text=last, at=turn.at, messages=tuple(said))

    await host.run_turn(context, answer)
    await host.drain(_DRAIN_SECONDS)


async def _read_contents(store: LocalStore, turn: RecordedTurn, report: TurnReport) -> tuple[str, ...]:
    owner = ItemOwner(user=turn.identity.user, tenant=turn.identity.tenant)
    contents: list[str] = []
    for id_ in report.item_ids:
        query = ListQuery(owner=owner, at=turn.at, everywhere=True, with_deleted=True, id_prefix=id_, limit=1)
        contents += [item.content for item in await store.list(query)]
    return tuple(contents)


def _name_turn(turn: RecordedTurn) -> str:
    return f"turn {turn.number}"
