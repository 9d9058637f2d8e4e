"""Assertions on what an agent finds, and on what that cost."""

from __future__ import annotations

from dataclasses import replace

from muniment.faces.check.bench import Bench, CaseMeter
from muniment.faces.check.file_format import Finds, Limits
from muniment.faces.check.kept import KeptState, describe_memory
from muniment.faces.check.words import FoundWords
from muniment.memory.domain.query import LISTINGS, Answer, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Denied
from muniment.memory.payload import parse_agent_query

_SHOWN = 5  # hits that a failure shows


class Question:
    """A question of a case: who asks, where, and what. Raises BadInput for what `muniment query` refuses."""

    def __init__(self, bench: Bench, scope: Scope, expectation: Finds, agent: str, as_of: object = None) -> None:
        settings = bench.memory.engine.settings
        self.agent = expectation.agent or agent
        if self.agent not in settings.allowlists:
            raise BadInput(f"agent: unknown {self.agent!r}; allowed: {', '.join(sorted(settings.allowlists))}")
        asked = {
            "query": expectation.query,
            "categories": [*expectation.categories],
            "filters": expectation.filters,
            "top_k": expectation.top_k,
            "threshold": expectation.threshold,
            "budget_tokens": expectation.budget_tokens,
            "profile": expectation.profile,
            "as_of": expectation.as_of if expectation.as_of is not None else as_of,
        }
        self.query: Query = parse_agent_query(settings, self.agent, asked)
        self.scope = replace(
            scope, project=expectation.project or scope.project, session=expectation.session or scope.session
        )
        self._memory = bench.memory
        # A space that is not the case's own is only read: its searches are not recorded.
        self._ask = bench.memory.query if as_of is None else bench.memory.replays.query

    async def ask_agent(self, repeat: int, meter: CaseMeter) -> Answer:
        """Return the answer to the last of so many calls. Raises Denied, BadInput, StoreError."""
        for _ in range(repeat):
            answer = await meter.time_call("query", self._ask(self.scope, self.agent, self.query))
        return answer

    async def explain_absence(self, kept: KeptState, words: FoundWords) -> str:
        """Return why a memory that is kept is not in the answer; nothing where there is none, or nothing to explain."""
        known = next((memory for memory in await kept.read_active() if words.matches_memory(memory)), None)
        if known is None:
            return "no active memory has it"
        if self.query.text.strip() in LISTINGS:
            return f"kept, and not in the answer: {describe_memory(known)}"
        explanation = await self._memory.why_not(self.scope, self.agent, known.id, self.query)
        return f"kept: {describe_memory(known)}: {explanation.sentence}"


async def check_found(question: Question, expectation: Finds, kept: KeptState, meter: CaseMeter) -> str:
    """Return what an agent finds instead of what is expected; nothing where that holds. Raises BadInput, StoreError."""
    try:
        answer = await question.ask_agent(expectation.repeat, meter)
    except Denied as error:
        return "" if expectation.denied else f"refused: {error}"
    if expectation.denied:
        return f"not refused; {_describe_answer(answer)}"
    problems = [*_check_silence(answer, expectation), *_check_presence(answer, expectation)]
    for words in expectation.has or ():
        if not any(words.matches_memory(hit.memory) for hit in answer.hits):
            reason = await question.explain_absence(kept, words)
            problems.append(f"lacks {words.describe()}: {reason}")
    if not problems:
        return ""
    return f"{'; '.join(problems)}; {_describe_answer(answer)}"


def check_limits(limits: Limits, bench: Bench, meter: CaseMeter) -> str:
    """Return which limits the case so far is beyond, with what was used; nothing where it keeps to all of them."""
    used = [now - before for now, before in zip(bench.read_usage(), meter.before, strict=True)]
    values = {
        "calls": used[0],
        "tokens": used[1],
        "cost": used[2],
        "learn_p95_ms": meter.find_p95("learn"),
        "query_p95_ms": meter.find_p95("query"),
    }
    problems = []
    for name, value in values.items():
        limit = getattr(limits, name)
        if limit is None:
            continue
        if value is None:
            problems.append(f"{name}: there was no call to measure")
        elif value > limit:
            problems.append(f"{name}: {value:.6g}, at most {limit:.6g} allowed")
    return "; ".join(problems)


def _check_silence(answer: Answer, expectation: Finds) -> list[str]:
    problems = []
    if expectation.silent and answer.hits:
        problems.append("not silent")
    if expectation.silent is False and not answer.hits:
        problems.append("silent")
    if expectation.within_tokens is not None and answer.tokens > expectation.within_tokens:
        problems.append(f"{answer.tokens} tokens, at most {expectation.within_tokens} allowed")
    return problems


def _check_presence(answer: Answer, expectation: Finds) -> list[str]:
    """What is in an answer and should not be, and what is in it too late."""
    problems = []
    for unwanted in expectation.lacks or ():
        for place, hit in enumerate(answer.hits, 1):
            if unwanted.matches_memory(hit.memory):
                problems.append(f"has {unwanted.describe()} at position {place}")
    for words in expectation.has or ():
        places = [place for place, hit in enumerate(answer.hits, 1) if words.matches_memory(hit.memory)]
        if places and words.position is not None and places[0] > words.position:
            problems.append(f"{words.describe()} is at position {places[0]}, at most {words.position} allowed")
    return problems


def _describe_answer(answer: Answer) -> str:
    if not answer.hits:
        return "the answer is empty"
    shown = [f"{place}. {describe_memory(hit.memory)}" for place, hit in enumerate(answer.hits[:_SHOWN], 1)]
    more = f" and {len(answer.hits) - _SHOWN} more" if len(answer.hits) > _SHOWN else ""
    return f"found: {'; '.join(shown)}{more}"
