"""Which remembered statements made a reply: the turn is made again with parts of what stood before the model."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid5

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.layers.bisection import (
    Bisection,
    BisectOutcome,
    BisectProgress,
    BisectRequest,
    Cause,
    ReplayAnswer,
    ShownStatement,
    WentAnotherWay,
)
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, Conflict
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.reading.explain import AbsenceExplainer
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.flows.reading.untracked import stop_tracking
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.layers.bisections import ReplayStore, TurnReplay
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.bisection.judgement import (
    JUDGEMENT_SCHEMA,
    JUDGEMENT_TOKENS,
    encode_question,
    parse_judgement,
)
from muniment.memory.rules.bisection.minimal_set import SearchResult, find_causes
from muniment.memory.rules.bisection.reply_pattern import parse_pattern
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.retrieval.render import format_bullet, format_line

_AGENT = "supervisor"  # who talks with the user, and by whose allowlist memory comes before a model
_MOST_CANDIDATES = 30  # that were not shown
_WIDE_BUDGET = 100_000  # tokens: so that a search for candidates is bound by their number alone
_MOST_SOURCES = 3  # turns that are shown of one memory
_MOST_CONSENTS = 1_000  # that are looked through for the fields of the profile
_MISSING: dict[str, BisectOutcome] = {"unaided": "known", "not reproduced": "none would do"}

OnReply = Callable[[int], None]
Judge = Callable[[str], Awaitable[bool]]


class _OutOfAnswers(Exception):
    """The search wants a reply that is not there yet."""


@dataclass(slots=True, kw_only=True)
class _Run:
    """One bisection under way: its candidates, the kept replies, and how many of them were used."""

    scope: Scope
    replay: TurnReplay
    request: BisectRequest
    id: UUID
    candidates: tuple[ShownStatement, ...]
    kept: dict[tuple[frozenset[int], int], ReplayAnswer]
    used: list[ReplayAnswer] = field(default_factory=list)
    reused: int = 0

    async def search(self, make: Callable[[frozenset[int], int], Awaitable[ReplayAnswer]]) -> SearchResult:
        """Return what the search finds, with the kept replies first and those of `make` where there is none."""
        search, attempts = find_causes(len(self.candidates), self.request.runs), Counter[frozenset[int]]()
        subset = next(search)
        while True:
            attempt = attempts[subset]
            attempts[subset] += 1
            answer = self.kept.get((subset, attempt))
            if answer is None:
                answer = await make(subset, attempt)
            else:
                self.reused += 1
            self.used.append(answer)
            try:
                subset = search.send(answer.holds)
            except StopIteration as end:
                result: SearchResult = end.value
                return result

    def find_reply(self, subset: frozenset[int], *, holds: bool) -> str | None:
        """Return the last reply with a subset that has the property, or does not have it; None where none was made."""
        fitting = [each for each in self.used if each.subset == subset and each.holds == holds]
        return fitting[-1].reply if fitting else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bisecting:
    """Finds what made a reply. A reply that was made is kept, so that a search that was cut short goes on where it
    was."""

    absence_explainer: AbsenceExplainer
    browser: MemoryBrowser
    clock: Clock
    ledger: TurnLedger
    recall: Recall
    redactor: Redactor
    replays: ReplayStore
    settings: Settings
    usage_meter: UsageMeter

    async def bisect_turn(
        self, scope: Scope, replay: TurnReplay, request: BisectRequest, on_reply: OnReply | None = None
    ) -> Bisection:
        """Return the minimal sets of statements that make the reply of a turn have what the request looks for.

        Raises BadInput for a pattern, ModelError and OverBudget where a reply cannot be made or judged: the next call
        goes on from there."""
        if (early := self._answer_early(replay, request)) is not None:
            return early
        run = await self._begin(scope, replay, request)
        judge = self._make_judge(scope, request)

        async def make(subset: frozenset[int], attempt: int) -> ReplayAnswer:
            try:
                text = self.redactor.redact_text(await self._make_reply(run, subset))
                answer = ReplayAnswer(subset=subset, attempt=attempt, holds=await judge(text), reply=text)
            except WentAnotherWay as end:
                text = self.redactor.redact_text(str(end))
                answer = ReplayAnswer(subset=subset, attempt=attempt, holds=False, reply=text, strayed=True)
            await self.replays.keep_answer(scope, run.id, answer, self.clock.now())
            if on_reply is not None:
                on_reply(len(run.used) + 1)
            return answer

        return await self._conclude(run, await run.search(make))

    async def read_progress(self, scope: Scope, replay: TurnReplay, request: BisectRequest) -> BisectProgress:
        """Return how far the search has come, by the kept replies alone: no model is asked. Raises BadInput."""
        if (early := self._answer_early(replay, request)) is not None:
            return BisectProgress(replies=0, result=early)
        run = await self._begin(scope, replay, request)

        async def stop(_: frozenset[int], __: int) -> ReplayAnswer:
            raise _OutOfAnswers

        try:
            found = await run.search(stop)
        except _OutOfAnswers:
            return BisectProgress(replies=len(run.kept))
        return BisectProgress(replies=len(run.used), result=await self._conclude(run, found))

    async def forget_replies(self, scope: Scope, replay: TurnReplay, request: BisectRequest) -> None:
        """Remove the kept replies of a search, so that the next call begins anew."""
        run = await self._begin(scope, replay, request)
        await self.replays.drop_answers(scope, run.id)

    def _answer_early(self, replay: TurnReplay, request: BisectRequest) -> Bisection | None:
        """Return what the recorded reply says of itself; None where replies have to be made. Raises BadInput."""
        if request.expect is None:
            return None
        pattern, reply = parse_pattern(request.expect), replay.turn.reply
        if reply is None or pattern.matches(reply) != request.missing:
            return None
        outcome: BisectOutcome = "known" if request.missing else "not said"
        return Bisection(outcome=outcome, turn=replay.turn, request=request, reply_without=reply)

    async def _begin(self, scope: Scope, replay: TurnReplay, request: BisectRequest) -> _Run:
        turn = replay.turn
        candidates = await self._find_candidates(scope, replay, request) if request.missing else turn.shown
        # What a reply depends on: with anything else in it, the kept replies would be those of another question.
        parts = [turn.thread, turn.position, turn.rev, turn.message, turn.digest, request.expect, request.judge]
        named = [[each.key, each.text] for each in (*turn.shown, *candidates)]
        digest = hashlib.sha256(json.dumps([*parts, request.missing, named]).encode()).hexdigest()
        id_ = uuid5(scope.space, digest)
        kept = {(each.subset, each.attempt): each for each in await self.replays.list_answers(scope, id_)}
        return _Run(scope=scope, replay=replay, request=request, id=id_, candidates=candidates, kept=kept)

    async def _find_candidates(
        self, scope: Scope, replay: TurnReplay, request: BisectRequest
    ) -> tuple[ShownStatement, ...]:
        """Return memories that were not shown, as of the revision of the turn: those that are near the message and near
        what the reply should have."""
        turn = replay.turn
        shown = {each.memory for each in turn.shown}
        wanted = request.judge or " ".join(part for one in _list_texts(request) for part in one)
        found = dict[str, ShownStatement]()
        most, recall = min(self.settings.limits.top_k, _MOST_CANDIDATES // 2), stop_tracking(self.recall)
        for text in (wanted, turn.message):
            if not text.strip():
                continue
            query = Query(text=text, top_k=most, threshold=0.0, budget_tokens=_WIDE_BUDGET, as_of=turn.rev)
            for hit in (await recall.query_memories(scope, _AGENT, query)).hits:
                if hit.memory.id not in shown:
                    key = str(hit.memory.id)
                    found[key] = ShownStatement(
                        key=key, text=format_bullet(hit), part="not shown", memory=hit.memory.id
                    )
        return tuple(found.values())

    async def _make_reply(self, run: _Run, subset: frozenset[int]) -> str:
        chosen = [run.candidates[number] for number in sorted(subset)]
        if run.request.missing:
            return await run.replay.make_reply({each.key for each in run.replay.turn.shown}, chosen)
        return await run.replay.make_reply({each.key for each in chosen})

    def _make_judge(self, scope: Scope, request: BisectRequest) -> Judge:
        if request.expect is not None:
            pattern = parse_pattern(request.expect)

            async def match(reply: str) -> bool:
                return pattern.matches(reply)

            return match
        prompt = load_prompt("judge", self.settings.model.prompt_folder)
        form = AnswerForm(name="judgement", schema=JUDGEMENT_SCHEMA, max_tokens=JUDGEMENT_TOKENS)

        async def ask(reply: str) -> bool:
            asked = encode_question(request.judge or "", reply)
            messages = [ChatMessage(role="system", content=prompt.text), ChatMessage(role="user", content=asked)]
            answer = await self.usage_meter.ask_model(scope, "bisect", messages, form=form)
            return parse_judgement(answer.message.content)

        return ask

    async def _conclude(self, run: _Run, found: SearchResult) -> Bisection:
        """Return the result with the memories of the found statements, their sources, and the replies."""
        everything = frozenset(range(len(run.candidates)))
        outcome: BisectOutcome = found.outcome
        if run.request.missing:
            outcome = _MISSING.get(found.outcome, found.outcome)
        result = Bisection(
            outcome=outcome,
            turn=run.replay.turn,
            request=run.request,
            candidates=run.candidates,
            reply_with=run.find_reply(everything, holds=True),
            reply_without=run.find_reply(frozenset(), holds=found.outcome == "unaided"),
            replies=len(run.used),
            reused=run.reused,
            strayed=sum(each.strayed for each in run.used),
        )
        if found.outcome == "not reproduced":
            return replace(result, reply_with=run.find_reply(everything, holds=False))
        if found.outcome != "found":
            return result
        sets = tuple([await self._describe(run, numbers) for numbers in found.sets])
        left = everything.difference(*found.sets)
        without = frozenset[int]() if run.request.missing else left
        return replace(
            result,
            sets=sets,
            reply_with=run.find_reply(frozenset(found.sets[0]), holds=True),
            reply_without=run.find_reply(without, holds=False),
        )

    async def _describe(self, run: _Run, numbers: Sequence[int]) -> tuple[Cause, ...]:
        """Return the statements with these numbers, and where each comes from."""
        statements = [run.candidates[number] for number in numbers]
        fields = await self._find_consents(run, [each.text for each in statements if each.memory is None])
        named = {each.key: fields[each.text].memory for each in statements if each.text in fields}
        named |= {each.key: each.memory for each in statements if each.memory is not None}
        memories = await self.browser.get_memories(run.scope, [*named.values()])
        causes = list[Cause]()
        for each in statements:
            memory = memories.get(named[each.key]) if each.key in named else None
            turns = memory.turns if memory else ()
            if each.text in fields:
                turns = fields[each.text].turns or turns
            sources = await self._read_sources(run.scope, turns)
            reason = await self._explain(run, memory) if memory and run.request.missing else ""
            causes.append(Cause(statement=each, memory=memory, sources=sources, reason=reason))
        return tuple(causes)

    async def _find_consents(self, run: _Run, lines: Sequence[str]) -> dict[str, Consent]:
        """Return the consents by which fields of the profile had their values at the time of the turn, by the lines
        that stood before the model: a field has no memory of its own."""
        if not lines:
            return {}
        given = await self.ledger.list_consents(run.scope, (), _MOST_CONSENTS)
        found = dict[str, Consent]()
        for each in given:  # the newest one first
            line = f"{each.field}: {format_line(each.value)}"
            if line in lines and each.decided_at is not None and each.decided_at <= run.replay.turn.at:
                found.setdefault(line, each)
        return found

    async def _read_sources(self, scope: Scope, turns: Sequence[TurnId]) -> tuple[Turn, ...]:
        """Return those of the turns that are still kept, the first ones first."""
        passages = [await self.ledger.get_passage(scope, turn, before=0, after=0) for turn in turns[:_MOST_SOURCES]]
        return tuple(each.turn for each in passages if each is not None)

    async def _explain(self, run: _Run, memory: StoredMemory) -> str:
        """Return why a memory was not found for the message, as of the revision of the turn."""
        turn, bullets = run.replay.turn, self.settings.recall.context_bullets
        query = Query(text=turn.message, top_k=bullets, as_of=turn.rev)
        try:
            explained = await self.absence_explainer.explain_absence(run.scope, _AGENT, memory.id, query)
        except (BadInput, Conflict):  # a message without words, or a memory that is written just now
            return ""
        return explained.sentence


def _list_texts(request: BisectRequest) -> Sequence[Sequence[str]]:
    """Return the texts of the pattern of a request."""
    return parse_pattern(request.expect).alternatives if request.expect else ()
