"""What a dossier says of one row, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from muniment.faces.dossier.blocks import Entry, Line
from muniment.faces.wording.texts import Texts

_MAX_QUOTE = 400  # characters of a quotation below a statement; what was said stands whole in its own section
_MAX_QUOTES = 3  # below a statement, the latest
SHORT_ID = 8  # characters of an id by which it is called
_MAX_TOKENS = 6  # that a category or a statement names


@dataclass(frozen=True, slots=True)
class Wording:
    """The words for the rows of one person."""

    texts: Texts
    person: Mapping[str, Any]

    def format_moment(self, value: str | None) -> str:
        """Return a moment of a row in words; what is no moment stays as it is."""
        if value is None:
            return self.texts("dossier.unknown")
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return value
        return self.texts.format_time(at) if at.tzinfo else self.texts.format_day(at.date())

    def format_value(self, value: Any) -> str:
        """Return a value that a program has put there in words: its fields one after another, each with its name."""
        if isinstance(value, Mapping):
            return "; ".join(f"{name}: {self.format_value(each)}" for name, each in value.items())
        if isinstance(value, list):
            return ", ".join(self.format_value(each) for each in value)
        if isinstance(value, bool):
            return self.texts(f"dossier.record.{'yes' if value else 'no'}")
        return self.texts("dossier.record.no_time") if value is None else str(value)

    def name_category(self, category: str) -> str:
        """Return the name of a category: that of the product, or else the label that the settings give it."""
        name = self.texts.name_value("base.category", category)
        name = name if name != category else str(self.person["labels"].get(category, category))
        return name[:1].upper() + name[1:]

    def describe_readers(self, category: str) -> str:
        """Say which agents may read a category, and which tokens open it."""
        agents, opened_by = self.person["readers"].get(category), self._list_tokens(category)
        read = self.texts("dossier.memory.readers", agents=", ".join(agents)) if agents else self._say("no_readers")
        tokens = self._name_tokens(opened_by)
        opened = self.texts("dossier.memory.opened_by", tokens=tokens) if opened_by else self._say("no_tokens")
        return self.texts("dossier.record.between").join((read, opened))

    def _list_tokens(self, category: str) -> list[str]:
        """Return all tokens that open a category, whenever they did."""
        return list(self.person["opened_by"].get(category, ()))

    def _name_tokens(self, ids: Sequence[str]) -> str:
        named = ", ".join(id_[:SHORT_ID] for id_ in ids[:_MAX_TOKENS])
        more = len(ids) - _MAX_TOKENS
        return self.texts("dossier.memory.more_tokens", tokens=named, n=more) if more > 0 else named

    def describe_memory(self, row: Mapping[str, Any]) -> Entry:
        """Return a statement with all that is known about it."""
        details = [(self._say(name), value) for name, value in self._list_details(row) if value]
        # Where a statement is to the word what was said, it is not written twice.
        quotes = [self._quote(each) for each in row["said"][-_MAX_QUOTES:] if each["text"] != row["text"]]
        return Entry(row["text"], tuple(details), tuple(quotes))

    def _list_details(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
        since, updated = self.format_moment(row["created_at"]), self.format_moment(row["updated_at"])
        yield "since", since
        if updated != since:
            # What was said or written before it came here is of an earlier time than its row.
            is_later = datetime.fromisoformat(row["updated_at"]) > datetime.fromisoformat(row["created_at"])
            yield "changed" if is_later else "stood", updated
        if row["event_time"]:
            yield "happened", self.format_moment(row["event_time"])
        origin = self.texts.name_value("dossier.trust", row["trust"])
        places = [self._place_turn(each) for each in row["said"][-_MAX_QUOTES:] if each["text"] == row["text"]]
        yield "from", " · ".join([origin, *(places if row["said"] else [self._say("stated")])])
        for name, column in (("source", "source"), ("actor", "actor_id"), ("agent", "agent_id")):
            yield name, row[column]
        yield "told", self._describe_told(row["told"])
        if row["tokens"] != self._list_tokens(row["category"]):  # some had ended before it came
            yield "opened", self._name_tokens(row["tokens"]) or self._say("no_tokens")
        if row["access_count"]:
            yield "found", self.texts.format_count("dossier.searches", row["access_count"])
        for before, after in pairwise([*row["former"], row]):
            if before["text"] != after["text"]:
                at = self.format_moment(after["updated_at"])
                yield "before", self.texts("dossier.memory.until", text=before["text"], at=at)
        yield from self._list_rest(row)

    def _list_rest(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
        if row["pinned"]:
            yield "pinned", self._say("pinned_about")
        yield "aliases", ", ".join(row["aliases"])
        yield "tags", ", ".join(row["tags"])
        yield "around", row["context"]
        if row["reach"] != "user":
            yield "place", row["project_id"] if row["reach"] == "project" else row["session_id"]
        if row["expires_at"]:
            yield "expires", self.format_moment(row["expires_at"])
        if row["state"] == "soft_deleted":
            gone = [each["at"] for each in row["changes"] if each["action"] in ("DELETE", "TTL", "MERGE")]
            yield "forgotten", self.format_moment(gone[-1] if gone else row["updated_at"])
            yield "purged", self.format_moment(row["purge_at"])
        yield "id", row["memory_id"][:SHORT_ID]

    def _describe_told(self, told: Mapping[str, Any]) -> str:
        if not told["count"]:
            return self._say("never_told")
        first, last = self.format_moment(told["first"]), self.format_moment(told["last"])
        return self.texts.format_count("dossier.times", told["count"], first=first, last=last)

    def _quote(self, turn: Mapping[str, Any]) -> tuple[str, str]:
        text = turn["text"]
        if len(text) > _MAX_QUOTE:
            text = self.texts("dossier.quote_more", text=text[:_MAX_QUOTE].rstrip())
        return text, self._place_turn(turn)

    def _place_turn(self, turn: Mapping[str, Any]) -> str:
        """Say who said a turn, when, and in which conversation."""
        who, at = self._name_speaker(turn), self.format_moment(turn["at"])
        if turn["thread"]:
            return self.texts("dossier.memory.quoted_in", who=who, at=at, thread=turn["thread"])
        return self.texts("dossier.memory.quoted", who=who, at=at)

    def _name_speaker(self, turn: Mapping[str, Any]) -> str:
        role = self.texts.name_value("dossier.role", turn["role"])
        return f"{role} ({turn['actor']})" if turn["actor"] else role

    def describe_consent_requests(self, row: Mapping[str, Any]) -> Line:
        """Return a request for consent with what became of it."""
        field = self.texts.name_value("dossier.field", row["field"])
        key, old = ("change_from", {"old": row["old"]}) if row["old"] else ("change", {})
        what = self.texts(f"dossier.consent.{key}", field=field, value=row["value"], **old)
        values = {"until": self.format_moment(row["expires_at"])} if row["decision"] == "pending" else {}
        if row["decision"] in ("approved", "rejected"):
            values = {
                "at": self.format_moment(row["decided_at"]),
                "by": row["decided_by"] or self.texts("dossier.unknown"),
            }
        decision = self.texts(f"dossier.consent.{row['decision']}", **values)
        return Line((self.format_moment(row["asked_at"]), decision, what))

    def describe_erasures(self, row: Mapping[str, Any]) -> Line:
        """Return a receipt of an erasure: what it was of, and the numbers of removed rows."""
        counts = [
            f"{self._name_removed(name)}: {self.texts.format_number(count)}" for name, count in row["counts"].items()
        ]
        what = self.texts.name_value("dossier.receipt", row["what"])
        return Line((self.format_moment(row["at"]), what, " · ".join(counts)))

    def _name_removed(self, kind: str) -> str:
        name = self.texts.name_value("dossier.removed", kind)
        return name if name != kind else self.texts.name_value("dossier.table", kind)

    def describe_sessions(self, row: Mapping[str, Any]) -> Line:
        """Return a conversation with its turns, its end and what describes it."""
        about = [self.texts("dossier.session.turns", n=self.texts.format_number(row["turns"]))]
        if row["ended_at"]:
            why = self.texts.name_value("dossier.ending", row["ended_why"] or self.texts("dossier.unknown"))
            about.append(self.texts("dossier.session.ended", at=self.format_moment(row["ended_at"]), why=why))
        if row["retention_days"]:
            about.append(self.texts("dossier.session.keeps", time=self._count_days(row["retention_days"])))
        known = {name: row[name] for name in ("app_id", "project_id", "agent_id", "metadata") if row[name]}
        about += self._list_beside(known)
        return Line((self.format_moment(row["started_at"]), row["session_id"], " · ".join(about)))

    def describe_turns(self, row: Mapping[str, Any]) -> Line:
        """Return what was said once, word for word, with what a program has put beside it."""
        more = {name: row[name] for name in ("path", "payload", "tags") if row[name]}
        said = "\n".join([row["text"], *self._list_beside(more)])
        return Line((self.format_moment(row["at"]), self._name_speaker(row), said))

    def _list_beside(self, fields: Mapping[str, Any]) -> list[str]:
        named = ((self.texts(f"dossier.beside.{name}"), value) for name, value in fields.items())
        return [f"{name}: {self.format_value(value)}" for name, value in named]

    def describe_journal(self, row: Mapping[str, Any]) -> Line:
        """Return one change of one statement."""
        action = "erased" if row["action"] == "DELETE" and "hard" in row["meta"] else row["action"]
        about = self.texts("dossier.change.memory", id=row["memory_id"][:SHORT_ID])
        by = row["actor"] or self.texts.name_value("dossier.node", row["node"])
        return Line(
            (
                self.format_moment(row["ts"]),
                self.texts(f"dossier.change.{action}"),
                f"{about} · {self.texts('dossier.change.by', who=by)}" if by else about,
            )
        )

    def describe_retention(self) -> Iterator[Line]:
        """Say how long each kind of thing is kept, by the settings."""
        kept, say = self.person["retention"], self._keep
        for category, days in sorted(kept["categories"].items()):
            yield Line((say("category", category=self.name_category(category)), self._count_days(days)))
        for scope, days in sorted(kept["scopes"].items()):
            if days is not None:
                yield Line((say("scope", scope=scope), self._count_days(days)))
        fading = say(
            "memories_days", time=self._count_days(kept["untouched_days"]), importance=kept["importance_below"]
        )
        yield Line((say("memories"), fading))
        yield Line((say("others"), say("until_erased")))
        days_of = {
            "forgotten": "soft_delete_days", "said": "said_days", "events": "events_days", "consent": "consent_days",
            "threads": "checkpoint_days", "comparisons": "comparison_days", "requests": "request_days",
        }  # fmt: skip
        for what, name in days_of.items():
            yield Line((say(what), self._count_days(kept[name])))

    def _count_days(self, days: float | None) -> str:
        return self._keep("for_ever") if days is None else self._keep("day" if days == 1 else "days", n=f"{days:g}")

    def _keep(self, key: str, **values: Any) -> str:
        return self.texts(f"dossier.keep.{key}", **values)

    def _say(self, key: str) -> str:
        return self.texts(f"dossier.memory.{key}")
