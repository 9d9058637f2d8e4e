"""What a dossier says of a record that holds no statement of its own, in sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from muniment.faces.dossier.blocks import Line
from muniment.faces.dossier.details import SHORT_ID, Wording

# The columns that say when a record is of, the first that it has.
_MOMENTS = ("at", "ts", "started_at", "created_at", "since", "day", "changed_at", "checked_at", "forgotten_at")
_KEY_SIGNS = re.compile(r"[_|]+")  # between the words of a slot's name
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordWording:
    """The sentences for the other records of one person. What only machines need of a row is left out."""

    wording: Wording

    def describe_record(self, table: str, row: Row) -> Line:
        """Return when a record of a table is of, and what it says."""
        moment = next((row[name] for name in _MOMENTS if row.get(name)), None)
        at = self.wording.format_moment(moment) if moment else self._say("no_time")
        describe: Callable[[Row], list[str]] = getattr(self, f"_describe_{table}")
        return Line((at, self._say("between").join(filter(None, describe(row)))))

    def _say(self, key: str, /, **values: Any) -> str:
        return self.wording.texts(f"dossier.record.{key}", **values)

    def _name(self, group: str, value: object) -> str:
        return self.wording.texts.name_value(f"dossier.{group}", str(value))

    def _count(self, value: float) -> str:
        return self.wording.texts.format_number(value)

    def _place(self, row: Row) -> str:
        name = row.get("session_id") or row.get("thread_id")
        return self._say("in_conversation", name=name) if name else ""

    def _describe_items(self, row: Row) -> list[str]:
        name = " / ".join([*row["namespace"], row["key"]])
        until = row["expires_at"] and self._say("items_until", at=self.wording.format_moment(row["expires_at"]))
        return [self._say("items", name=name, value=self.wording.format_value(row["value"])), until or ""]

    def _describe_projections(self, row: Row) -> list[str]:
        type_, status = self._name("slot", row["type"]), self._name("slot", row["status"])
        key = " ".join(filter(None, _KEY_SIGNS.split(row["key"])))
        return [self._say("projections", type=type_, key=key, title=row["title"], status=status)]

    def _describe_observations(self, row: Row) -> list[str]:
        # Whatever is not the rules is the version of the prompt of a model.
        by = self._name("by", "rules" if row["found_by"] == "rules" else "model")
        outcome = self._name("outcome", row["outcome"])
        return [self._place(row), self._say("observations", by=by, statement=row["statement"], outcome=outcome)]

    def _describe_relations(self, row: Row) -> list[str]:
        type_ = self._name("relation", row["relation_type"])
        strength = self.wording.texts.format_number(row["strength"], 2)
        one, other = _shorten(row["from_id"]), _shorten(row["to_id"])
        return [self._say("relations", one=one, other=other, type=type_, strength=strength)]

    def _describe_host_items(self, row: Row) -> list[str]:
        number = _shorten(row["item_id"])
        if row["forgotten_at"] or not row["memory_id"]:
            return [self._say("host_items_gone", number=number)]
        return [self._say("host_items", id=_shorten(row["memory_id"]), number=number)]

    def _describe_extractions(self, row: Row) -> list[str]:
        by, refused = self._name("by", row["source"]), row["refused"]
        found, written = self._count(row["found"]), self._count(row["written"])
        read = self._say("extractions", by=by, found=found, written=written)
        asked = row["model"] and self._say("asked_model", model=row["model"])
        return [read, asked or "", self._say("extractions_refused", why=", ".join(refused)) if refused else ""]

    def _describe_events(self, row: Row) -> list[str]:
        about = row["memory_id"] and self._say("about_statement", id=_shorten(row["memory_id"]))
        category = row["category"] and self.wording.name_category(row["category"])
        return [
            self._name("op", row["op"]),
            self._describe_status(row["op"], row["status"]),
            about or "",
            self._say("about_category", category=category) if category else "",
            self._place(row),
        ]

    def _describe_status(self, op: str, status: str) -> str:
        if status == "skipped" and (said := self._name("skipped", op)) != op:
            return said
        return self._name("status", status)

    def _describe_requests(self, row: Row) -> list[str]:
        return [self._say("requests", key=row["key"])]

    def _describe_thread_revision(self, row: Row) -> list[str]:
        return [self._say("thread_revision", name=row["thread_id"], rev=self._count(row["rev"]))]

    def _describe_consolidation_runs(self, row: Row) -> list[str]:
        counted = {name: self._count(row[name]) for name in ("checked", "same", "superseded")}
        compared = self._say(
            "consolidation_runs",
            status=self._name("run", row["status"]),
            distinct=self._count(row["distinct_pairs"]),
            **counted,
        )
        return [compared, self._say("asked_model", model=row["model"]) if row["model"] else ""]

    def _describe_pair_fingerprints(self, row: Row) -> list[str]:
        by, judgement = self._name("by", row["source"]), self._name("judgement", row["judgement"])
        one, other = _shorten(row["low_id"]), _shorten(row["high_id"])
        return [self._say("pair_fingerprints", one=one, other=other, by=by, judgement=judgement)]

    def _describe_bisect_replies(self, row: Row) -> list[str]:
        return [self._say("bisect_replies", reply=row["reply"])]

    def _describe_plugin_turns(self, row: Row) -> list[str]:
        written, shown = self._count(row["written"]), len(row["item_ids"])
        if shown:
            return [self._place(row), self._say("plugin_turns_shown", count=self._count(shown), written=written)]
        return [self._place(row), self._say("plugin_turns_none", written=written)]

    def _describe_plugin_switches(self, row: Row) -> list[str]:
        return [self._place(row), self._say(f"plugin_switches_{'on' if row['is_on'] else 'off'}")]

    def _describe_plugin_audit(self, row: Row) -> list[str]:
        return [self._place(row), self._say("plugin_audit", action=self._name("command", row["action"]))]

    def _describe_proxy_days(self, row: Row) -> list[str]:
        requests, memories = self._count(row["requests"]), self._count(row["memories"])
        return [self._say("proxy_days", requests=requests, memories=memories)]

    def _describe_shares(self, row: Row) -> list[str]:
        return [self._say("shares", reader=row["reader"] or self._say("everybody"), by=row["granted_by"])]

    def _describe_spaces(self, row: Row) -> list[str]:
        return [self._say("spaces", rev=self._count(row["rev"]))]

    def _describe_threads(self, row: Row) -> list[str]:
        messages = row["values"].get("messages") if isinstance(row["values"], dict) else None
        count = len(messages) if isinstance(messages, list) else 0
        return [self._say("threads", name=row["thread"], count=self._count(count))]


def _shorten(id_: object) -> str:
    return str(id_)[:SHORT_ID]
