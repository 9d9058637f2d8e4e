"""What tools gave, and the fixes that they verify: something failed, something was done, and then it succeeded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.memory.domain.memory import Fact
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.memory.rules.procedures import outcome, traces
from muniment.memory.rules.procedures.tool_calls import make_tool_turn
from muniment.plugin.reading.finds import Find

if TYPE_CHECKING:
    from muniment.chain.values import ToolOutput, TurnContext
    from muniment.memory.domain.turn import RecordedToolUse

_FAILURES = 1  # before a success that make it a fix
_MAX_STEPS = 4
_MAX_CHARS = 280


def make_work_turn(context: TurnContext, output: ToolOutput, redact: Callable[[str], str]) -> Turn:
    """Return a use of a tool as a turn, redacted and shortened."""
    call = ToolUse(
        key=f"{context.turn_id} {output.call.id}",
        name=output.call.name,
        arguments=output.call.arguments,
        result=output.text,
        at=output.at,
        ok=not output.is_error,
        agent=context.identity.agent,
        path=context.path,
        tags=context.tags,
    )
    return make_tool_turn(call, session=context.identity.session, thread=context.identity.session, redact=redact)


def find_fixes(work: Sequence[Turn]) -> tuple[Find, ...]:
    """Return the fixes that the work of a session verifies, oldest first. `work` are redacted turns."""
    return tuple(filter(None, map(_make_fix, traces.find_paths(work, failures=_FAILURES))))


def _make_fix(path: traces.SolutionPath) -> Find | None:
    failed = next((use for use, verdict in path.uses if verdict == "failed"), None)
    if failed is None:
        return None
    steps = [step.removeprefix(traces.RUN_PREFIX) for step in path.procedure.steps]
    broken = _describe_use(failed)
    changes = [step for step in steps if step != broken] or steps
    content = f"{broken} failed ({outcome.explain_failure(failed)}); fixed by: {'; then '.join(changes[:_MAX_STEPS])}"
    fact = Fact(kind="fix", predicate="fixed_by", object=content)
    candidate = replace(traces.make_candidate(path, path.procedure), kind="semantic", text=content, fact=fact)
    return Find(
        candidate=candidate,
        content=content[:_MAX_CHARS],
        type="fix",
        said=path.request,
        is_verified=True,
    )


def _describe_use(use: RecordedToolUse) -> str:
    return traces.render_step(use).removeprefix(traces.RUN_PREFIX).removeprefix("Call ")
