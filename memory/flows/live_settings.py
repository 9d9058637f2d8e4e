"""The settings of a process, which follow the overrides in the database while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from muniment.memory.codec import check_range
from muniment.memory.config.changes import (
    OverrideSet,
    SettingChange,
    SettingState,
    SettingsView,
    Stage,
)
from muniment.memory.config.overrides import check_value, find_setting, lay_over, lay_over_valid, parse_value
from muniment.memory.config.settings import Settings
from muniment.memory.config.stages import SettingKey, get_value, list_settings, load_default
from muniment.memory.errors import BadInput, Conflict, StoreError
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.operation.settings import SettingStore

_log = logging.getLogger(__name__)
_CANCEL_AGAIN_SECONDS = 0.1
FOLLOW_SECONDS = 10.0  # how late a process follows a change; a look is one statement on one row
_MAX_ROWS = 2**31 - 1
_ATTEMPTS = 20  # to change settings that others change at the same moment
MAX_CHANGES = 100  # at once
_NO_CHANGE = "settings: name a key to change or to reset"


class LiveSettings:
    """The settings in force in this process: those that it was started with, and over them what an operator has
    written into the database.

    `live` is the object that the whole process holds. While the database is away it stays as it is."""

    def __init__(self, store: SettingStore, clock: Clock, live: Settings) -> None:
        self._store, self._clock = store, clock
        self._base, self._live = live.model_copy(), live
        self._known: OverrideSet | None = None
        self._ignored: Mapping[str, str] = {}
        self._on_change: list[Callable[[], None]] = []
        self._following: asyncio.Task[None] | None = None

    def call_after(self, on_change: Callable[[], None]) -> None:
        """Call this after each change of the settings of this process."""
        self._on_change.append(on_change)

    async def start(self) -> None:
        """Look at the overrides, and follow them from now on, on the running loop. Does not raise for a database that
        is away."""
        await self._look_once()
        loop = asyncio.get_running_loop()
        if self._following is None or self._following.done() or self._following.get_loop() is not loop:
            self._following = loop.create_task(self._follow())

    async def stop(self) -> None:
        """Follow no more."""
        following, self._following = self._following, None
        if following is not None and following.get_loop() is asyncio.get_running_loop():
            with suppress(asyncio.CancelledError):
                while not following.done():
                    following.cancel()  # the driver may forget a cancellation that arrives with a result
                    await asyncio.wait([following], timeout=_CANCEL_AGAIN_SECONDS)

    async def change_settings(
        self,
        values: Mapping[str, Any],
        resets: Sequence[str],
        *,
        by: str,
        expected_rev: int | None = None,
    ) -> Sequence[SettingChange]:
        """Write overrides for these keys, remove those of `resets`, all at once, and follow them here.

        With `expected_rev` the settings have to be at this revision, else the last writer wins. Raises BadInput with
        the key and what is allowed, Conflict, StoreError."""
        if not values and not resets:
            raise BadInput(_NO_CHANGE)
        if len(values) + len(resets) > MAX_CHANGES:
            raise BadInput(f"settings: {len(values) + len(resets)} keys given, at most {MAX_CHANGES} allowed")
        for attempt in range(1, _ATTEMPTS + 1):
            found = await self._store.read_overrides()
            self._take(found)
            if expected_rev is not None and expected_rev != found.rev:
                raise Conflict(
                    f"the settings are at revision {found.rev}, and no more at {expected_rev}: look at them again, and "
                    "repeat what you still want",
                    rev=found.rev,
                )
            changes = self._plan(found, values, resets, by)
            try:
                await self._store.apply_changes(found.rev, changes)
            except Conflict:
                if expected_rev is not None or attempt == _ATTEMPTS:
                    raise
                continue
            self._take(await self._store.read_overrides())
            return changes
        raise AssertionError("the last attempt returns or raises")

    async def read_view(self, stage: Stage | None = None) -> SettingsView:
        """Return the settings in force of a stage, or of all. Raises StoreError."""
        found = await self._store.read_overrides()
        self._take(found)
        overrides = {each.key: each for each in found.overrides if each.key not in self._ignored}
        default = load_default()
        states = []
        for setting in self._list(stage):
            override = overrides.get(setting.key)
            value, usual = get_value(self._live, setting.path), get_default(default, setting)
            states.append(
                SettingState(
                    key=setting.key,
                    stage=setting.stage,
                    value=value,
                    default=usual,
                    source="override" if override else "default" if value == usual else "file",
                    allowed=setting.allowed,
                    about=setting.about,
                    by=override.by if override else None,
                    at=override.at if override else None,
                )
            )
        return SettingsView(rev=found.rev, settings=tuple(states), ignored=dict(self._ignored))

    async def read_history(self, stage: Stage | None, limit: int) -> Sequence[SettingChange]:
        """Return the latest changes of the settings of a stage, or of all, the newest first. Raises StoreError."""
        check_range("limit", limit, 1, _MAX_ROWS)
        return await self._store.read_history([each.key for each in self._list(stage)], limit)

    def parse_value(self, key: str, text: str) -> Any:
        """Return the value of a key that a person has typed. Raises BadInput for a key of no stage."""
        return parse_value(find_setting(list_settings(self._base), key), text)

    def list_keys(self, stage: Stage | None = None) -> Sequence[SettingKey]:
        """Return the settings of a stage, or of all, with what each allows."""
        return self._list(stage)

    def _list(self, stage: Stage | None) -> list[SettingKey]:
        return [each for each in list_settings(self._base).values() if stage in (None, each.stage)]

    def _plan(
        self, found: OverrideSet, values: Mapping[str, Any], resets: Sequence[str], by: str
    ) -> list[SettingChange]:
        known = list_settings(self._base)
        if both := sorted(values.keys() & set(resets)):
            raise BadInput(f"{both[0]}: is to be changed and reset at once", key=both[0])
        keys = {key: find_setting(known, key) for key in [*values, *dict.fromkeys(resets)]}
        checked = {key: check_value(keys[key], value) for key, value in values.items()}
        usable = {each.key: each.value for each in found.overrides if each.key not in self._ignored}
        settings = lay_over(self._base, {key: value for key, value in usable.items() if key not in resets} | checked)
        now = self._clock.now()
        return [
            SettingChange(
                rev=found.rev + 1,
                key=key,
                former=get_value(self._live, setting.path),
                value=get_value(settings, setting.path),
                is_reset=key not in values,
                by=by,
                at=now,
            )
            for key, setting in keys.items()
        ]

    def _take(self, found: OverrideSet) -> None:
        """Put these overrides in force in this process, unless they are."""
        if self._known is not None and found.rev == self._known.rev:
            return
        settings, ignored = lay_over_valid(self._base, found.values)
        for key, why in ignored.items():
            _log.warning("this process leaves out an override of the settings: %s (%s)", key, why)
        self._known, self._ignored = found, ignored
        is_same = settings == self._live
        if not is_same:
            self._live.take_sections(settings)
            for on_change in self._on_change:
                on_change()

    async def _look_once(self) -> None:
        try:
            found = await self._store.look_up(self._known.rev if self._known else None)
        except StoreError as error:
            _log.info("the settings stay as they are: %s", type(error).__name__)
            return
        if found is not None:
            self._take(found)

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            await self._look_once()


def get_default(default: Settings, setting: SettingKey) -> Any:
    """Return the value of a setting that no file names; of a model that the default file does not have, None."""
    try:
        return get_value(default, setting.path)
    except AttributeError:
        return None
