"""Paths that succeeded, from the turns of a thread: the request, the tool calls, and the outcome of each call.

Only what tools report is evidence. What an assistant says, such as a how-to or a final answer, is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.turn import Candidate, RecordedToolUse, Turn
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.procedures import outcome, requests
from muniment.memory.rules.procedures.outcome import Verdict, extract_command, judge_outcome
from muniment.memory.rules.procedures.procedure import CATEGORY, TAG, Procedure, flatten_text, render_procedure
from muniment.memory.rules.procedures.tool_calls import MEMORY_TOOLS, parse_tool_turn
from muniment.memory.rules.provenance import quoted

_WORDS = load_lexicon("procedures.en")
_PLACES, _EXACT, _IDLE = map(_WORDS.get_words, ("places", "exact", "idle_names"))
_CHECKS = lazy_compile(
    r"(?:check|verify|validate|lint|test|inspect|assert|confirm|health)(?=_|-|\.|$)|.*_(?:check|test|validate|status)$",
    re.IGNORECASE,
)
_WORD = lazy_compile(r"[A-Z]?[a-z]{3,}|[A-Z]{2,}|[\u3400-\u9fff]+")
_EXTENSION = lazy_compile(r"(?<=\w)\.([a-z][a-z0-9]{1,4})(?![\w./(\[@:-])")
_OF_FILES = lazy_compile(
    r"file|path|name|attach|doc|source|target|input|output|ur[li]|command|cmd|script|code", re.IGNORECASE
)
_HOST = lazy_compile(
    r"\b[a-z][\w+.-]*://[^\s/\"']*|\S+@[\w.-]+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|gov|edu|local|internal"
    r"|example)\b"
)
_REASON_CODE = lazy_compile(r"HTTP \d{3}|exit code \d+|\b[A-Z]\w*(?:Error|Exception|Timeout)\b")
_SECRET = lazy_compile(r"\[redacted:\w+\]")
RUN_PREFIX, _HIDDEN = "Run: ", "…"
_VALUE, _BESIDE, _LONG = 60, 80, 120  # characters
_REQUESTED_IMPORTANCE, _OBSERVED_IMPORTANCE = 4, 3  # importance
_REQUESTED_CONFIDENCE, _OBSERVED_CONFIDENCE = 0.95, 0.85


@dataclass(slots=True)
class _WorkSegment:
    """The work on one request, up to the next request."""

    goal: str | None = None
    request_turns: list[TurnId] = field(default_factory=list)
    request_texts: list[str] = field(default_factory=list)
    uses: list[RecordedToolUse] = field(default_factory=list)
    session: str | None = None
    is_requested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionPath:
    """How a goal was reached: the tool calls with their outcomes, and the turns that prove them."""

    procedure: Procedure
    uses: tuple[tuple[RecordedToolUse, Verdict], ...]
    request: str  # in the person's own words
    request_turns: tuple[TurnId, ...]
    is_requested: bool  # a person asked to keep it
    session: str | None = None  # of the success

    @property
    def at(self) -> datetime:
        """The time of the success."""
        return self.uses[-1][0].at

    @property
    def agent(self) -> str | None:
        """The agent that succeeded."""
        return self.uses[-1][0].agent

    @property
    def turns(self) -> tuple[TurnId, ...]:
        """The ids of the turns that prove it, without duplicates."""
        return tuple(dict.fromkeys((*self.request_turns, *(use.turn for use, _ in self.uses))))


def find_paths(turns: Sequence[Turn], *, failures: int) -> tuple[SolutionPath, ...]:
    """The paths in the turns of a thread, oldest first.

    A path is one that a person asked to keep, or one that succeeded after at least `failures` failures of its goal."""
    paths = (_build_path(path, failures) for path in _segment_turns(turns))
    return tuple(path for path in paths if path is not None)


def make_candidate(path: SolutionPath, procedure: Procedure) -> Candidate:
    """The procedure of a path as a candidate, with the trust of a tool."""
    return Candidate(
        text=render_procedure(procedure),
        category=CATEGORY,
        kind="procedural",
        importance=_REQUESTED_IMPORTANCE if path.is_requested else _OBSERVED_IMPORTANCE,
        confidence=_REQUESTED_CONFIDENCE if path.is_requested else _OBSERVED_CONFIDENCE,
        trust="tool",
        tags=(TAG,),
        event_time=path.at,
        turns=path.turns,
        role="tool",
    )


def _segment_turns(turns: Sequence[Turn]) -> list[_WorkSegment]:
    segments: list[_WorkSegment] = []
    current = _WorkSegment()
    for turn in turns:
        use = parse_tool_turn(turn)
        if use is not None and use.name not in MEMORY_TOOLS:
            current.uses.append(use)
            current.session = turn.session
        if turn.role != "user":
            continue
        own = quoted.strip_quoted(turn).text
        goal, keep_request = requests.parse_work_request(own), requests.parse_keep_request(own)
        if goal is None and keep_request is None and not current.uses and current.goal is None:
            goal = requests.parse_indirect_request(own)
        if goal and not (current.uses and requests.is_continuation(own, current.goal)):
            segments.append(current)
            current = _WorkSegment(goal=goal)
        if goal:
            current.request_turns.append(turn.id)
            current.request_texts.append(own)
            current.goal = current.goal or goal
        if keep_request is not None:
            # Work requested in the same turn is still to come; otherwise the request is about the work before it.
            target = (
                current
                if goal or current.uses
                else next((segment for segment in reversed(segments) if segment.uses), current)
            )
            target.is_requested, target.goal = True, keep_request.goal or target.goal
            target.request_turns.append(turn.id)
    return [*segments, current]


def _build_path(segment: _WorkSegment, failures: int) -> SolutionPath | None:
    uses = [(use, judge_outcome(use)) for use in segment.uses]
    # A person may believe that a path succeeded; the tools decide.
    if not uses or uses[-1][1] == "failed" or not (segment.is_requested or _has_evidence(uses, failures)):
        return None
    steps = _select_steps(uses)
    failed = [use for use, verdict in uses if verdict == "failed"]
    procedure = Procedure(
        goal=segment.goal or _derive_goal(steps[-1][0]),
        steps=tuple(render_step(use) for use, _ in steps),
        avoid=_collect_failures(uses, [use for use, _ in steps]),
        conditions=_describe_conditions([use for use, _ in steps], failed),
    )
    return SolutionPath(
        procedure=procedure,
        uses=tuple(uses),
        request="\n".join(segment.request_texts),
        request_turns=tuple(dict.fromkeys(segment.request_turns)),
        is_requested=segment.is_requested,
        session=segment.session,
    )


def _has_evidence(uses: Sequence[tuple[RecordedToolUse, Verdict]], failures: int) -> bool:
    """Whether the last call succeeded after enough failures, and one failure was overcome by a different call."""
    failed = [n for n, (_, verdict) in enumerate(uses) if verdict == "failed"]
    if uses[-1][1] != "ok" or len(failed) < max(1, failures):
        return False
    return any(_is_overcome(uses, n) for n in failed)


def _is_overcome(uses: Sequence[tuple[RecordedToolUse, Verdict]], place: int) -> bool:
    bad = uses[place][0]
    for n in range(place + 1, len(uses)):
        good, verdict = uses[n]
        if verdict != "ok" or not _is_related(bad, good):
            continue
        between = any(
            verdict != "failed" and _normalize_call(use) != _normalize_call(good)
            for use, verdict in uses[place + 1 : n]
        )
        if between or _normalize_call(good) != _normalize_call(bad):
            return True
    return False


def _is_related(a: RecordedToolUse, b: RecordedToolUse) -> bool:
    """Whether two calls serve one goal: the same tool, a tool of a similar name, or the same argument."""
    return (
        _identify_tool(a) == _identify_tool(b)
        or bool(_split_name(a) & _split_name(b))
        or bool(_collect_values(a) & _collect_values(b))
    )


def _identify_tool(use: RecordedToolUse) -> str:
    """The name of the tool; of a shell also the program that it runs."""
    command = extract_command(use)
    return f"{use.name} {next(iter(command.split()), '')}" if command else use.name


def _split_name(use: RecordedToolUse) -> frozenset[str]:
    return frozenset() if extract_command(use) else frozenset(map(str.lower, _WORD.findall(use.name))) - _IDLE


def _collect_values(use: RecordedToolUse) -> frozenset[str]:
    return frozenset(value for value in use.arguments.values() if isinstance(value, str) and len(value) > 2)


def _normalize_call(use: RecordedToolUse) -> tuple[str, str]:
    """The tool and its arguments; of a shell the command and its place, without what an agent notes beside it."""
    command = extract_command(use)
    return use.name, str(
        [command, *_render_places(use)] if command else sorted(use.arguments.items(), key=lambda pair: pair[0])
    )


def _select_steps(uses: Sequence[tuple[RecordedToolUse, Verdict]]) -> list[tuple[RecordedToolUse, Verdict]]:
    """The calls that led to the success, in order, without failures, repetitions and calls that were redone."""
    steps: list[tuple[RecordedToolUse, Verdict]] = []
    for n, (use, verdict) in enumerate(uses):
        if verdict == "failed" or _find_broken_tool(uses, n) is not None:
            continue
        if not (steps and _normalize_call(steps[-1][0]) == _normalize_call(use)):
            steps.append((use, verdict))
    return steps


def _find_broken_tool(uses: Sequence[tuple[RecordedToolUse, Verdict]], place: int) -> RecordedToolUse | None:
    """The failure of another tool after which a call was made anew with other arguments, or None."""
    use, broken = uses[place][0], None
    for later, verdict in uses[place + 1 :]:
        if verdict == "failed" and _identify_tool(later) != _identify_tool(use):
            broken = later
        elif (
            verdict != "failed"
            and broken
            and _identify_tool(later) == _identify_tool(use)
            and _normalize_call(later) != _normalize_call(use)
        ):
            return broken if _collect_values(later) & _collect_values(use) else None
    return None


def render_step(use: RecordedToolUse) -> str:
    """A tool call as one step of a procedure."""
    if command := extract_command(use):
        place = ", ".join(_render_places(use))
        return f"{RUN_PREFIX}{_render_value(command, _LONG)}{f' ({place})' if place else ''}"
    arguments = ", ".join(_render_arguments(use))
    if _CHECKS.match(use.name):
        return f"Check with {use.name}{f' ({arguments})' if arguments else ''}"
    return f"Call {use.name}{f' with {arguments}' if arguments else ''}"


def _render_places(use: RecordedToolUse) -> Iterator[str]:
    return (f"{name}={_render_value(value, _VALUE)}" for name, value in _iterate_arguments(use) if name in _PLACES)


def _render_arguments(use: RecordedToolUse) -> Iterator[str]:
    for name, value in _iterate_arguments(use):
        yield f"{flatten_text(name)}={_render_value(value, _LONG if name in _EXACT else _VALUE)}"


def _iterate_arguments(use: RecordedToolUse) -> Iterator[tuple[str, str]]:
    for name, value in use.arguments.items():
        if value is not None:
            yield name, str(value) if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)


def _render_value(value: str, max_chars: int) -> str:
    """A value without secrets and instructions. A long one is hidden, or cut if `max_chars` is that of exact values."""
    flat = _SECRET.sub(_HIDDEN, flatten_text(value))
    if not flat or quoted.has_instructions(flat):
        return _HIDDEN
    return flat if len(flat) <= max_chars else _cut_words(flat, max_chars) if max_chars == _LONG else _HIDDEN


def _collect_failures(
    uses: Sequence[tuple[RecordedToolUse, Verdict]], successes: Sequence[RecordedToolUse]
) -> tuple[str, ...]:
    """The failures and their reasons, the latest first. A call that succeeded later was made too early."""
    reasons: dict[str, str] = {}
    blamed_turns: set[TurnId] = set()
    steps = {render_step(use) for use in successes}
    for n in reversed(range(len(uses))):
        use, verdict = uses[n]
        broken = _find_broken_tool(uses, n) if verdict != "failed" else None
        if broken is not None:
            reasons.setdefault(f"{_strip_prefix(use)}: {broken.name} fails", outcome.explain_failure(broken))
            blamed_turns.add(broken.turn)
    for use, verdict in reversed(uses):
        if verdict != "failed" or use.turn in blamed_turns:
            continue
        place = next(
            (n for n, success in enumerate(successes) if _normalize_call(success) == _normalize_call(use)), None
        )
        before = (
            next(
                (_summarize_call(success, use) for success in reversed(successes[:place]) if success.at > use.at), None
            )
            if place
            else None
        )
        # A line that equals a step cannot be one to avoid.
        if before is not None or (place is None and render_step(use) not in steps):
            what = (
                f"{_cut_words(_strip_prefix(use), _BESIDE)} before {_cut_words(before, _VALUE)}"
                if before
                else _strip_prefix(use)
            )
            reasons.setdefault(what, outcome.explain_failure(use))
    return tuple(f"{what} ({why})" for what, why in reasons.items())


def _summarize_call(use: RecordedToolUse, other: RecordedToolUse) -> str:
    """A call by the name of its tool where that differs from the other call; of a shell by its command."""
    command = extract_command(use)
    return _render_value(command, _LONG) if command else _strip_prefix(use) if use.name == other.name else use.name


def _cut_words(text: str, max_chars: int) -> str:
    """The first `max_chars` characters of a text, in whole words where they are not too long."""
    head = text[:max_chars].rpartition(" ")[0]
    return text if len(text) <= max_chars else f"{head if 2 * len(head) > max_chars else text[:max_chars]} {_HIDDEN}"


def _strip_prefix(use: RecordedToolUse) -> str:
    return render_step(use).removeprefix("Call ").removeprefix(RUN_PREFIX).removeprefix("Check with ")


def _describe_conditions(successes: Sequence[RecordedToolUse], failures: Sequence[RecordedToolUse]) -> str:
    """Where a path applies: the tools, the kinds of files, and the signs of the failures."""
    names = list(dict.fromkeys(use.name for use in successes))[:4]
    arguments = [pair for use in (*successes, *failures) for pair in _iterate_arguments(use)]
    values = [value.lower() for name, value in arguments if _OF_FILES.search(name) and len(value) <= _LONG]
    files = list(
        dict.fromkeys(f".{extension}" for value in values for extension in _EXTENSION.findall(_HOST.sub(" ", value)))
    )[:3]
    signs = list(
        dict.fromkeys(sign for use in failures for sign in _REASON_CODE.findall(outcome.explain_failure(use)))
    )[:2]
    parts = [f"with {', '.join(names)}" + (f" on {', '.join(files)} files" if files else "")]
    return "; ".join([*parts, *([f"when {' or '.join(signs)} comes up"] if signs else [])])


def _derive_goal(use: RecordedToolUse) -> str:
    """The goal of work that no request names."""
    return f"Succeed with {use.name}" + (f" ({arguments})" if (arguments := ", ".join(_render_arguments(use))) else "")
