"""A consolidation as text, as a row of a table, and as JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from shlex import quote
from typing import Any

from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Finding, PairClass, Run
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import ModelError

_OPEN_STATUSES = ("running", "interrupted")
_MICROS = 1_000_000
_RUN_FIELDS = (
    "status", "seen", "checked", "same", "superseded", "distinct", "outdated", "unanswered", "shelved",
    "duplicates_before", "duplicates_after", "classes", "requests", "input_tokens", "output_tokens", "model", "prompt",
    "batch", "reason",
)  # fmt: skip
_VERDICT_LABELS = {
    None: "no answer",
    "same": "same",
    "supersedes": "later supersedes earlier",
    "different": "different",
}


_CLASS_LABELS: dict[PairClass, str] = {
    "duplicate": "duplicate",
    "refinement": "refinement",
    "changed_value": "changed value",
    "contradiction": "contradiction",
    "other_time": "other time",
    "other_owner": "other owner",
    "unrelated": "unrelated",
}


def print_run(run: Run, currency: str) -> None:
    """Print a run that has just ended."""
    screen.print_line(format_counts(run))
    if run.status == "waiting":
        most = f" They cost at most {run.micros / _MICROS:.4f} {currency}." if run.micros else ""
        screen.print_line(
            f"{format_waiting(run)} of {run.model}: a worker collects the answers when they are there (muniment work)."
            f"{most}"
        )
    elif run.requests:
        screen.print_line(format_cost(run, currency))
    left = _count_open_pairs(run)
    if left and run.status == "done":
        screen.print_line(
            f"{count_pairs(left)} {'is' if left == 1 else 'are'} left for another day (consolidation.per_day), "
            "or for --limit N."
        )
    if run.dry:
        screen.print_line("Nothing was changed (--dry-run).")
    elif (run.same or run.superseded) and run.status != "waiting":
        screen.print_line(
            f"To take it back: muniment consolidate --user {quote(run.scope.owner)} --undo {screen.shorten_id(run.id)}"
        )
    if run.status in ("failed", "over_budget"):
        screen.print_error(explain_failure(run))


def format_cost(run: Run, currency: str) -> str:
    """The requests, tokens and money of a run; of a run that waits, what is reserved."""
    cost = f", {run.micros / _MICROS:.4f} {currency}" if run.micros else ""
    requests = "1 request" if run.requests == 1 else f"{run.requests:,} requests"
    return f"{requests} to {run.model}: {run.input_tokens:,} + {run.output_tokens:,} tokens{cost}."


def format_waiting(run: Run) -> str:
    """How many pairs are with the batch endpoint."""
    return f"{count_pairs(len(run.asked))} {'is' if len(run.asked) == 1 else 'are'} with the batch endpoint"


def format_runs_command(scope: Scope) -> str:
    """The command that shows the runs of this user."""
    return f"muniment consolidate --user {quote(scope.owner)} --runs"


def count_pairs(count: int) -> str:
    """A number of pairs: "1 pair", "2,000 pairs"."""
    return "1 pair" if count == 1 else f"{count:,} pairs"


def explain_failure(run: Run) -> str:
    """Why a run ended early, and how to go on."""
    if run.status == "over_budget":
        return "the tenant's budget of the day is used up; the pairs that are left are looked at another day"
    return (
        f"the model failed ({run.reason}); what was found before that is kept, and the rest is looked at another time; "
        f"{screen.ERROR_HINTS[ModelError]}"
    )


def format_counts(run: Run) -> str:
    """The pairs that were found and checked, and the outcomes, as a sentence."""
    if not run.seen:
        return "No pair of memories is to be looked at."
    parts = [f"{run.same:,} merged", f"{run.superseded:,} superseded", f"{run.distinct:,} different"]
    parts += [f"{run.outdated:,} changed meanwhile"] if run.outdated else []
    shelved = f" ({run.shelved:,} too often: left alone for a while)" if run.shelved else ""
    parts += [f"{run.unanswered:,} without an answer{shelved}"] if run.unanswered else []
    after = (
        ""
        if run.duplicates_after is None
        else f" Duplicates by the rules: {run.duplicates_before} before, {run.duplicates_after} after."
    )
    kinds = ", ".join(
        f"{run.classes[name]:,} {label}" for name, label in _CLASS_LABELS.items() if run.classes.get(name)
    )
    classes = f" By class: {kinds}." if kinds else ""
    return f"{count_pairs(run.seen)} found, {run.checked:,} checked: {', '.join(parts)}.{classes}{after}"


def run_to_json(run: Run) -> dict[str, Any]:
    """A run as JSON, with money in the currency."""
    values = {key: getattr(run, key) for key in _RUN_FIELDS}
    times = {
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "leased_until": run.leased_until,
        "from_rev": run.from_rev,
        "to_rev": run.to_rev,
    }
    head = {"user": run.scope.owner, "tenant": run.scope.tenant, "run": None if run.dry else run.id, "dry_run": run.dry}
    return dict(codec.encode_value(head | values | times)) | {"asked": len(run.asked), "money": run.micros / _MICROS}


def format_run_row(run: Run, settings: Settings) -> list[Any]:
    """A run as a row of a table, with how far it came where it was cut off."""
    parts = [format_counts(run)] if run.seen or run.status == "done" else []
    parts += [f"{format_waiting(run)}."] if run.status == "waiting" else []
    parts += [format_cost(run, settings.spend.currency)] if run.requests else []
    parts += (
        [_format_end(run, timedelta(minutes=settings.consolidation.lease_minutes))]
        if run.status in _OPEN_STATUSES
        else []
    )
    parts += [f"Reason: {run.reason}."] if run.reason else []
    return [screen.shorten_id(run.id), format_time(run.started_at), run.status, " ".join(parts)]


def _format_end(run: Run, lease: timedelta) -> str:
    """How far a run without an end is. Each step of a run renews its lease."""
    until = run.leased_until or run.started_at
    last_step_at = max(run.started_at, until - lease)
    if run.status == "running":
        return (
            f"Last heard of at {format_time(last_step_at)} UTC; unless it is again by {format_time(until)}, "
            "the next run takes its place."
        )
    ended = run.ended_at or until
    when = (
        f"Cut off at {format_time(ended)} UTC"
        if ended <= until
        else f"Last heard of at {format_time(last_step_at)}, given up at {format_time(ended)} UTC"
    )
    left = f"with {count_pairs(open_)} not decided" if (open_ := _count_open_pairs(run)) else "after its last pair"
    progress = left if run.seen else "before it had looked for pairs"
    return f"{when}, {progress}. What was decided stays; the next run looks at the rest."


def _count_open_pairs(run: Run) -> int:
    return max(0, run.seen - run.checked - run.outdated - run.unanswered)


def format_time(at: datetime) -> str:
    """A time in UTC, to the minute."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def format_finding_row(finding: Finding) -> list[Any]:
    """A finding as a row: verdict, source, cosine, both texts."""
    pair = finding.pair
    label = _CLASS_LABELS[finding.pair_class] if finding.pair_class else ""
    verdict = _VERDICT_LABELS[finding.judgement]
    return [verdict, label, finding.source, f"{pair.sim:.2f}", pair.older.text, pair.newer.text]


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """A finding as JSON."""
    both = {
        when: {"id": str(memory.id), "text": memory.text}
        for when, memory in (("earlier", finding.pair.older), ("later", finding.pair.newer))
    }
    return {
        "verdict": finding.judgement,
        "class": finding.pair_class,
        "by": finding.source,
        "sim": round(finding.pair.sim, 4),
        **both,
    }
