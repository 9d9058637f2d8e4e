"""How-to memory: what was done in a thread until it succeeded, kept when a person asks or when failures came before."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from uuid import uuid4

from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.memory import STATES, Memory, Neighbour
from muniment.memory.domain.plan import Change, Receipt, WritePlan
from muniment.memory.domain.query import Listing
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import Probe
from muniment.memory.errors import ModelError
from muniment.memory.flows import metering as spend
from muniment.memory.flows.house import House, safe_text, unwanted
from muniment.memory.flows.writing.quotas import Write, capped
from muniment.memory.flows.writing.transaction import Aside, Vectors, committed
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import prompt
from muniment.memory.rules.extraction.validate import validate
from muniment.memory.rules.language.tokens import legible
from muniment.memory.rules.merging.merge import Merged, fresh
from muniment.memory.rules.procedures import trace_answer as path_answer
from muniment.memory.rules.procedures.goals import apart, exactly, goals, reaches, renewed, reworded, same_steps
from muniment.memory.rules.procedures.procedure import Procedure, fit, parse, render, united
from muniment.memory.rules.procedures.traces import Path, candidate, paths

_log = logging.getLogger(__name__)
_TURNS = 300  # of a thread, that one look reads
_KNOWN = 500  # procedures that it is compared with
_RESTS_ON = 200  # turns of a procedure, the latest
_FORM = AnswerForm(name="procedure", schema=path_answer.PROCEDURE, max_tokens=700)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A path, and how it is to be told."""

    path: Path
    told: Procedure
    vector: Vector

    @property
    def probe(self) -> Probe:
        """What its neighbours are looked for by."""
        return Probe(vector=self.vector, kind="procedural")


async def learn(house: House, scope: Scope) -> Receipt:
    """See `Memory.learn_path`."""
    if scope.thread is None:
        return Receipt(rev=Revision(0), skipped="no thread")
    if refusal := unwanted(house, scope):
        return Receipt(rev=Revision(0), skipped=refusal)
    turns = [one for one in await house.store.worked(scope, limit=_TURNS) if unwanted(house, scope, one) is None]
    found = paths(turns, failures=house.settings.procedures.failures)
    if not found:
        return Receipt(rev=Revision(0), skipped="no path that succeeded")
    known = await _known(house, scope)
    new = [one for one in found if not any(_covers(memory, one) for memory in known)]
    told = [(one, await _told(house, scope, one)) for one in new]
    fitting = [(one, short) for one, full in told if (short := _fitted(house, full)) is not None]
    if not fitting:
        refused = ("longer than procedures.chars",) * len(told)
        return Receipt(rev=Revision(0), skipped=None if refused else "known", refused=refused)
    vectors = await house.embedder.documents([render(short) for _, short in fitting])
    some = [_Found(path=one, told=short, vector=vector) for (one, short), vector in zip(fitting, vectors, strict=True)]
    return await committed(house, scope, partial(_meet, house, scope, some))


async def perform(house: House, scope: Scope, key: str) -> Receipt:
    """The job `learn_path`; its key says why, and the thread."""
    return await learn(house, replace(scope, thread=key.partition(" ")[2]))


def _covers(memory: Memory, path: Path) -> bool:
    """Whether a memory tells of this path already, or was forgotten after it: that is not learned from the same work again."""
    if not set(memory.turns) & {act.turn for act, _ in path.acts}:
        return False
    more = path.wished and memory.importance < candidate(path, path.procedure).importance
    done = memory.event_time is not None and memory.event_time >= path.at
    return memory.state != "active" or (done and not more)


async def _known(house: House, scope: Scope) -> Sequence[Memory]:
    wanted = Listing(kinds=("procedural",), states=STATES, limit=_KNOWN)
    return (await house.store.listing(house.owner(scope), wanted)).memories


async def _told(house: House, scope: Scope, path: Path) -> Procedure:
    """The path as a model tells it where there is one and its answer holds, else as the rules do."""
    if house.model is None:
        return path.procedure
    told = prompt("path")
    messages = [
        ChatMessage(role="system", content=told.text),
        ChatMessage(role="user", content=path_answer.shown(path)),
    ]
    try:
        answer = await spend.ask(house, scope, "path", messages, form=_FORM)
        return path_answer.read(answer.message.content, path)
    except ModelError as error:
        # What succeeded is known without a model; it only says it better.
        _log.info("a path is told by the rules: %s", type(error).__name__)
        return path.procedure


def _fitted(house: House, told: Procedure) -> Procedure | None:
    """The procedure as it may be stored: cleaned, secrets taken out, within the limits."""
    safe = Procedure(
        goal=safe_text(house, told.goal),
        steps=tuple(safe_text(house, one) for one in told.steps),
        avoid=tuple(safe_text(house, one) for one in told.avoid),
        again=safe_text(house, told.again),
    )
    rules = house.settings.procedures
    return fit(safe, chars=rules.chars, steps=rules.steps)


async def _meet(
    house: House, scope: Scope, found: Sequence[_Found], read: Vectors
) -> tuple[WritePlan, Aside] | Receipt:
    """The plan and what is refused of it, or the receipt where there is nothing to write."""
    # The revision first: what another writer adds between the looks makes the plan outdated.
    rev, near = await house.store.near(scope, [one.probe for one in found], house.settings.write.neighbours)
    # While a model told it a path may have been erased; one that is erased from here on is refused by the commit.
    there = await house.store.present(scope, [turn for one in found for turn in one.path.turns])
    left = [(one, close) for one, close in zip(found, near, strict=True) if there.issuperset(one.path.turns)]
    if not left:
        return Receipt(rev=rev, skipped="erased meanwhile")
    plan, refused = await _plan(house, scope, rev, left, read)
    if plan.changes:
        return plan, Aside(refused=refused)
    return Receipt(rev=rev, refused=refused, skipped=None if refused else "known")


async def _plan(
    house: House, scope: Scope, rev: Revision, found: Sequence[tuple[_Found, Sequence[Neighbour]]], read: Vectors
) -> tuple[WritePlan, tuple[str, ...]]:
    now = house.clock.now()
    known = {one.id: one for one in await _known(house, scope)}
    changes: dict[MemoryId, Change] = {}
    write = Write(scope=scope, node="worker", rev=rev, at=now)
    for one, close in found:
        if any(_covers(memory, one.path) for memory in known.values()):
            continue
        change = _change(house, write, one, [*known.values()], close, read)
        if change is not None:
            earlier = changes.get(change.after.id)
            changes[change.after.id] = (
                replace(change, action=earlier.action, before=earlier.before) if earlier else change
            )
            known[change.after.id] = change.after
    merged = await capped(house, write, Merged(changes=tuple(changes.values()), relations=()))
    rests_on = tuple(turn for one, _ in found for turn in one.path.turns)
    plan = WritePlan(scope=scope, expects=rev, node="worker", at=now, changes=merged.changes, rests_on=rests_on)
    return plan, merged.refused


def _change(
    house: House, write: Write, one: _Found, known: Sequence[Memory], near: Sequence[Neighbour], read: Vectors
) -> Change | None:
    """The new procedure, or the known one of the same goal with the newer path and the failures of both."""
    said = candidate(one.path, one.told)
    kept, _ = validate(said, categories=frozenset(house.categories), max_chars=house.settings.procedures.chars)
    if kept is None:
        return None
    old = _same(house, one, known, near) or _reworded(house, one, known, read)
    if old is None:
        # A how-to outlives the run that found it: what belongs to one is forgotten with it.
        where = replace(write.scope, agent=one.path.agent, session=one.path.session, run=None)
        return Change(
            action="ADD", after=fresh(kept, MemoryId(uuid4()), where, write.at), vector=one.vector, band="new"
        )
    before = parse(old.text)
    if before is None or (old.event_time is not None and old.event_time > one.path.at):
        return None  # edited by hand, or a later success is known
    # Where no request is in sight, the beginning of the work may be out of sight, too.
    told = replace(one.told, goal=renewed(one.told.goal, before.goal) if one.path.asked else before.goal)
    both = _fitted(house, united(told, before)) or told
    text = render(both)
    after = replace(
        old,
        text=text,
        importance=max(old.importance, kept.importance),
        confidence=max(old.confidence, kept.confidence),
        event_time=one.path.at,
        turns=tuple(dict.fromkeys(old.turns + kept.turns))[-_RESTS_ON:],
        tags=tuple(dict.fromkeys(old.tags + kept.tags)),
        updated_at=max(write.at, old.updated_at),
    )
    same = both.steps == before.steps
    [vector] = read.of([text])
    return Change(
        action="MERGE" if same else "UPDATE",
        after=after,
        before=old,
        vector=vector,
        meta={"why": "same", "notes": 2} if same else {"why": "supersedes"},
    )


def _same(house: House, one: _Found, known: Sequence[Memory], near: Sequence[Neighbour]) -> Memory | None:
    """The active procedure of the same work or the same goal: by the turns it rests on, by its words, or by its vector where
    one goal only says more than the other.

    A vector alone does not tell a deployment to staging from one to production."""
    worked = {act.turn for act, _ in one.path.acts}
    active = [memory for memory in known if memory.state == "active"]
    said = [(memory, found) for memory in active if (found := parse(memory.text)) is not None]
    sure = {item.memory.id for item in near if item.sim >= house.profile.auto}
    reached = [(memory, found) for memory, found in said if reaches(one.told, found)]
    looks = (
        (memory for memory, _ in said if worked & set(memory.turns)),
        (memory for memory, found in reached if exactly(one.told.goal, found.goal)),
        (memory for memory, _ in reached),
        (memory for memory, found in said if memory.id in sure and reaches(one.told, found, near=True)),
    )
    return next(chain.from_iterable(looks), None)


def _reworded(house: House, one: _Found, known: Sequence[Memory], read: Vectors) -> Memory | None:
    """The active procedure of the same steps whose goal says the same in another wording."""
    active = [(memory, found) for memory in known if memory.state == "active" and (found := parse(memory.text))]
    for memory, found in active if one.path.asked else ():
        wordings = [wording for wording in goals(found.goal) if reworded(wording, one.told.goal)]
        if any(apart(wording, one.told.goal) for wording in goals(found.goal)):
            continue
        if wordings and same_steps(found, one.told) and _close(house, one.told.goal, wordings, read):
            return memory
    return None


def _close(house: House, goal: str, wordings: Sequence[str], read: Vectors) -> bool:
    """Whether a goal is near one of its wordings, where the embedder knows the script."""
    if not legible(house.profile.scripts, goal, *wordings):
        return True
    asked, *vectors = read.of([goal, *wordings])
    return max(float(asked @ vector) for vector in vectors) >= house.profile.check
