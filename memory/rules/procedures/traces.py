"""Paths that succeeded, found in the turns of a thread: what was asked, which tools were used, and what came of each use.

Only what tools report makes a path. What an assistant says - a how-to, a final answer - is no evidence that it works."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.turn import Act, Candidate, Turn
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import vocabulary
from muniment.memory.rules.procedures import outcome, requests as procedure_words
from muniment.memory.rules.procedures.outcome import Verdict, command, judge
from muniment.memory.rules.procedures.procedure import CATEGORY, TAG, Procedure, render, tidy
from muniment.memory.rules.procedures.tool_calls import LOOKUPS, read
from muniment.memory.rules.provenance import quoted as suspect

_PLACES = vocabulary("host hostname server machine container cwd workdir working_dir working_directory dir directory")
# What is useless when not told word for word.
_EXACT = vocabulary(
    "query sql statement code expression script command cmd line url uri path file_path selector pattern filter args arguments argv"
)
_CHECKS = late(
    r"(?:check|verify|validate|lint|test|inspect|assert|confirm|health)(?=_|-|\.|$)|.*_(?:check|test|validate|status)$",
    re.IGNORECASE,
)
_WORD = late(r"[A-Z]?[a-z]{3,}|[A-Z]{2,}|[\u3400-\u9fff]+")
_IDLE = vocabulary(
    """
    get set run call make list read write file tool use api the data item new search find fetch query create update delete
    send check open load save start stop web add show look test
    """
)
_EXTENSION = late(r"(?<=\w)\.([a-z][a-z0-9]{1,4})(?![\w./(\[@:-])")
_OF_FILES = late(r"file|path|name|attach|doc|source|target|input|output|ur[li]|command|cmd|script|code", re.IGNORECASE)
_HOST = late(
    r"\b[a-z][\w+.-]*://[^\s/\"']*|\S+@[\w.-]+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|gov|edu|local|internal|example)\b"
)
_REASON_CODE = late(r"HTTP \d{3}|exit code \d+|\b[A-Z]\w*(?:Error|Exception|Timeout)\b")
_SECRET = late(r"\[redacted:\w+\]")
RUN = "Run: "
_VALUE, _BESIDE, _LONG = 60, 80, 120  # characters
_HIDDEN = "…"
_ASKED_FOR, _FOUND = 4, 3  # importance
_SURE, _LIKELY = 0.95, 0.85


@dataclass(slots=True)
class _Stretch:
    """The work on one request: from it to the next one."""

    goal: str | None = None
    said: list[TurnId] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    session: str | None = None
    wished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """How a goal was reached: the uses of tools with what came of them, and the turns that say so."""

    procedure: Procedure
    acts: tuple[tuple[Act, Verdict], ...]
    asked: str  # the person's own words for it
    said: tuple[TurnId, ...]
    wished: bool  # a person asked for it to be kept
    session: str | None = None  # in which it succeeded

    @property
    def at(self) -> datetime:
        """When it had succeeded."""
        return self.acts[-1][0].at

    @property
    def agent(self) -> str | None:
        """Who did it."""
        return self.acts[-1][0].agent

    @property
    def turns(self) -> tuple[TurnId, ...]:
        """The turns that it rests on."""
        return tuple(dict.fromkeys((*self.said, *(act.turn for act, _ in self.acts))))


def working(turn: Turn) -> bool:
    """Whether a turn tells of a use of a tool that did not fail, other than a look into memory: a path may end there."""
    act = read(turn)
    return act is not None and act.name not in LOOKUPS and judge(act) != "failed"


def paths(turns: Sequence[Turn], *, failures: int) -> tuple[Path, ...]:
    """The paths in the turns of a thread, oldest first: those that a person wants kept, and those that succeeded after at
    least so many failures of the same goal, by what the tools report."""
    found = (_path(one, failures) for one in _stretches(turns))
    return tuple(one for one in found if one is not None)


def candidate(path: Path, procedure: Procedure) -> Candidate:
    """A path as a statement to keep; it is as trusted as the tools that it rests on."""
    return Candidate(
        text=render(procedure),
        category=CATEGORY,
        kind="procedural",
        importance=_ASKED_FOR if path.wished else _FOUND,
        confidence=_SURE if path.wished else _LIKELY,
        trust="tool",
        tags=(TAG,),
        event_time=path.at,
        turns=path.turns,
        role="tool",
    )


def _stretches(turns: Sequence[Turn]) -> list[_Stretch]:
    done: list[_Stretch] = []
    now = _Stretch()
    for turn in turns:
        act = read(turn)
        if act is not None and act.name not in LOOKUPS:
            now.acts.append(act)
            now.session = turn.session
        if turn.role != "user":
            continue
        own = suspect.own(turn).text
        goal, wish = procedure_words.request(own), procedure_words.wish(own)
        if goal is None and wish is None and not now.acts and now.goal is None:
            goal = procedure_words.wanted(own)
        if goal and not (now.acts and procedure_words.goes_on(own, now.goal)):
            done.append(now)
            now = _Stretch(goal=goal)
        if goal:
            now.said.append(turn.id)
            now.words.append(own)
            now.goal = now.goal or goal
        if wish is not None:
            # Work that was asked for in one breath with the wish is yet to come; else the wish is of what was done.
            meant = now if goal or now.acts else next((one for one in reversed(done) if one.acts), now)
            meant.wished, meant.goal = True, wish.goal or meant.goal
            meant.said.append(turn.id)
    return [*done, now]


def _path(stretch: _Stretch, failures: int) -> Path | None:
    acts = [(act, judge(act)) for act in stretch.acts]
    # Whoever asks for a path to be kept may believe that it succeeded; the tools have the last word.
    if not acts or acts[-1][1] == "failed" or not (stretch.wished or _evident(acts, failures)):
        return None
    kept = _kept(acts)
    failed = [act for act, verdict in acts if verdict == "failed"]
    found = Procedure(
        goal=stretch.goal or _unasked(kept[-1][0]),
        steps=tuple(step(act) for act, _ in kept),
        avoid=_avoided(acts, [act for act, _ in kept]),
        again=_again([act for act, _ in kept], failed),
    )
    return Path(
        procedure=found,
        acts=tuple(acts),
        asked="\n".join(stretch.words),
        said=tuple(dict.fromkeys(stretch.said)),
        wished=stretch.wished,
        session=stretch.session,
    )


def _evident(acts: Sequence[tuple[Act, Verdict]], failures: int) -> bool:
    """Whether the last use was reported to succeed, after enough failures, of which one was overcome by something else than
    doing the same again."""
    failed = [n for n, (_, verdict) in enumerate(acts) if verdict == "failed"]
    if acts[-1][1] != "ok" or len(failed) < max(1, failures):
        return False
    return any(_overcome(acts, n) for n in failed)


def _overcome(acts: Sequence[tuple[Act, Verdict]], place: int) -> bool:
    bad = acts[place][0]
    for n in range(place + 1, len(acts)):
        good, verdict = acts[n]
        if verdict != "ok" or not _akin(bad, good):
            continue
        between = any(verdict != "failed" and _call(one) != _call(good) for one, verdict in acts[place + 1 : n])
        if between or _call(good) != _call(bad):
            return True
    return False


def _akin(a: Act, b: Act) -> bool:
    """Whether two uses serve one goal: the same tool, one of a similar name, or the same thing that is worked on."""
    return _tool(a) == _tool(b) or bool(_named(a) & _named(b)) or bool(_values(a) & _values(b))


def _tool(act: Act) -> str:
    """What was used: of a shell, the program that was run in it."""
    told = command(act)
    return f"{act.name} {next(iter(told.split()), '')}" if told else act.name


def _named(act: Act) -> frozenset[str]:
    return frozenset() if command(act) else frozenset(map(str.lower, _WORD.findall(act.name))) - _IDLE


def _values(act: Act) -> frozenset[str]:
    return frozenset(one for one in act.arguments.values() if isinstance(one, str) and len(one) > 2)


def _call(act: Act) -> tuple[str, str]:
    """What was done: of a shell the command, and where, not what an agent notes beside it."""
    told = command(act)
    return act.name, str([told, *_where(act)] if told else sorted(act.arguments.items(), key=lambda pair: pair[0]))


def _kept(acts: Sequence[tuple[Act, Verdict]]) -> list[tuple[Act, Verdict]]:
    """What led to the success, in order: no failure, nothing twice in a row, and nothing that had to be done over."""
    kept: list[tuple[Act, Verdict]] = []
    for n, (act, verdict) in enumerate(acts):
        if verdict == "failed" or _done_over(acts, n) is not None:
            continue
        if not (kept and _call(kept[-1][0]) == _call(act)):
            kept.append((act, verdict))
    return kept


def _done_over(acts: Sequence[tuple[Act, Verdict]], place: int) -> Act | None:
    """The failure of another tool upon which a use was made anew, of the same thing in another way; None of any other use."""
    act, broken = acts[place][0], None
    for later, verdict in acts[place + 1 :]:
        if verdict == "failed" and _tool(later) != _tool(act):
            broken = later
        elif verdict != "failed" and broken and _tool(later) == _tool(act) and _call(later) != _call(act):
            return broken if _values(later) & _values(act) else None
    return None


def step(act: Act) -> str:
    """A use of a tool as what to do."""
    if told := command(act):
        place = ", ".join(_where(act))
        return f"{RUN}{_shown(told, _LONG)}{f' ({place})' if place else ''}"
    with_ = ", ".join(_told(act))
    if _CHECKS.match(act.name):
        return f"Check with {act.name}{f' ({with_})' if with_ else ''}"
    return f"Call {act.name}{f' with {with_}' if with_ else ''}"


def _where(act: Act) -> Iterator[str]:
    return (f"{name}={_shown(value, _VALUE)}" for name, value in _texts(act) if name in _PLACES)


def _told(act: Act) -> Iterator[str]:
    for name, value in _texts(act):
        yield f"{tidy(name)}={_shown(value, _LONG if name in _EXACT else _VALUE)}"


def _texts(act: Act) -> Iterator[tuple[str, str]]:
    for name, value in act.arguments.items():
        if value is not None:
            yield name, str(value) if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)


def _shown(value: str, most: int) -> str:
    """A value as far as it may be told: no secret, no order, of a long one that has to be exact the beginning."""
    flat = _SECRET.sub(_HIDDEN, tidy(value))
    if not flat or suspect.instructs(flat):
        return _HIDDEN
    return flat if len(flat) <= most else _cut(flat, most) if most == _LONG else _HIDDEN


def _avoided(acts: Sequence[tuple[Act, Verdict]], kept: Sequence[Act]) -> tuple[str, ...]:
    """What failed and why, the latest first; what succeeded in the same words later was too early, or upon something else."""
    found: dict[str, str] = {}
    blamed: set[TurnId] = set()
    steps = {step(act) for act in kept}
    for n in reversed(range(len(acts))):
        act, verdict = acts[n]
        broken = _done_over(acts, n) if verdict != "failed" else None
        if broken is not None:
            found.setdefault(f"{_bare(act)}: {broken.name} fails", outcome.reason(broken))
            blamed.add(broken.turn)
    for act, verdict in reversed(acts):
        if verdict != "failed" or act.turn in blamed:
            continue
        place = next((n for n, one in enumerate(kept) if _call(one) == _call(act)), None)
        before = next((_brief(one, act) for one in reversed(kept[:place]) if one.at > act.at), None) if place else None
        # What is told in the words of a step cannot be told to be avoided.
        if before is not None or (place is None and step(act) not in steps):
            what = f"{_cut(_bare(act), _BESIDE)} before {_cut(before, _VALUE)}" if before else _bare(act)
            found.setdefault(what, outcome.reason(act))
    return tuple(f"{what} ({why})" for what, why in found.items())


def _brief(act: Act, other: Act) -> str:
    """A use by the name of its tool where that tells it from another use; of a shell, by its command."""
    told = command(act)
    return _shown(told, _LONG) if told else _bare(act) if act.name == other.name else act.name


def _cut(text: str, most: int) -> str:
    """The beginning of a text, in whole words where they are not too long."""
    head = text[:most].rpartition(" ")[0]
    return text if len(text) <= most else f"{head if 2 * len(head) > most else text[:most]} {_HIDDEN}"


def _bare(act: Act) -> str:
    return step(act).removeprefix("Call ").removeprefix(RUN).removeprefix("Check with ")


def _again(kept: Sequence[Act], failed: Sequence[Act]) -> str:
    """Where the path applies: the tools, the kinds of files, and how the failures showed."""
    names = list(dict.fromkeys(act.name for act in kept))[:4]
    told = [pair for act in (*kept, *failed) for pair in _texts(act)]
    values = [value.lower() for name, value in told if _OF_FILES.search(name) and len(value) <= _LONG]
    files = list(dict.fromkeys(f".{one}" for value in values for one in _EXTENSION.findall(_HOST.sub(" ", value))))[:3]
    signs = list(dict.fromkeys(sign for act in failed for sign in _REASON_CODE.findall(outcome.reason(act))))[:2]
    parts = [f"with {', '.join(names)}" + (f" on {', '.join(files)} files" if files else "")]
    return "; ".join([*parts, *([f"when {' or '.join(signs)} comes up"] if signs else [])])


def _unasked(act: Act) -> str:
    """The goal of work that nobody asked for in so many words."""
    return f"Succeed with {act.name}" + (f" ({told})" if (told := ", ".join(_told(act))) else "")
