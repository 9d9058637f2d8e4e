"""LangChain's summarization over a chain: what is to leave a thread is written first, and only then leaves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.middleware.types import AgentState
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, RemoveMessage, SystemMessage
from langgraph.runtime import Runtime

from muniment.faces.langchain.chain import ChainMiddleware
from muniment.nodes.chain.messages import is_aside, is_summary, list_shown

# The tokens of the call under way beside its messages: LangChain's class decides by messages alone.
_BESIDE: ContextVar[int] = ContextVar("muniment_tokens_beside", default=0)


class CompactingSummarization(SummarizationMiddleware):
    """LangChain's `SummarizationMiddleware` with its arguments, and `chain`: the middleware of the same agent whose
    host is told what leaves.

    A trigger of tokens counts all that goes before the model: the messages, the additions of the chain, and the system
    prompt and tools from the first call of the model on. What `keep` says is of the messages alone.

    Where a middleware of the chain cannot write it, the messages stay, and the next call of the model tries again. What
    a middleware has answered itself, such as a command, is in no summary."""

    def __init__(self, model: str | BaseChatModel, *, chain: ChainMiddleware, **arguments: Any) -> None:
        super().__init__(model, **arguments)
        self._chain = chain

    @property
    def name(self) -> str:
        """The name of LangChain's middleware, in whose place it stands."""
        return SummarizationMiddleware.__name__

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Summarize early messages when the thread is long, once they are written."""
        with self._count_beside(state, runtime):
            leaving = self._list_leaving(state)
            if not leaving or not await self._chain.acompact_thread(state, runtime, leaving):
                return None
            return _keep_asides(state["messages"], await super().abefore_model(_leave_out_asides(state), runtime))

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Summarize early messages; the same for synchronous callers."""
        with self._count_beside(state, runtime):
            leaving = self._list_leaving(state)
            if not leaving or not self._chain.compact_thread(state, runtime, leaving):
                return None
            return _keep_asides(state["messages"], super().before_model(_leave_out_asides(state), runtime))

    @contextmanager
    def _count_beside(self, state: AgentState[Any], runtime: Runtime[Any]) -> Iterator[None]:
        """Count what goes before the model beside the messages, for the decisions inside."""
        token = _BESIDE.set(self.token_counter([SystemMessage(self._chain.compose_beside(state, runtime))]))
        try:
            yield
        finally:
            _BESIDE.reset(token)

    def _should_summarize(self, messages: list[AnyMessage], total_tokens: int) -> bool:
        """Whether the messages are too long with all that goes beside them."""
        return super()._should_summarize(messages, total_tokens + _BESIDE.get())

    def _list_leaving(self, state: AgentState[Any]) -> list[AnyMessage]:
        """What a summary is to replace, by the rules of LangChain's class; a summary before it is written already."""
        messages = list_shown(state["messages"])
        if not self._should_summarize(messages, self.token_counter(messages)):
            return []
        leaving, _ = self._partition_messages(messages, max(self._determine_cutoff_index(messages), 0))
        return [message for message in leaving if not is_summary(message)]


def _leave_out_asides(state: AgentState[Any]) -> AgentState[Any]:
    changed: dict[str, Any] = {**state, "messages": list_shown(state["messages"])}
    return cast("AgentState[Any]", changed)


def _keep_asides(messages: Sequence[AnyMessage], update: dict[str, Any] | None) -> dict[str, Any] | None:
    """The update with the asides that stand behind the first message that is kept."""
    if update is None:
        return None
    known = {message.id for message in messages}
    kept = {message.id for message in update["messages"]} & known
    start = next((n for n, message in enumerate(messages) if message.id in kept), len(messages))
    new = [each for each in update["messages"] if isinstance(each, RemoveMessage) or each.id not in known]
    return {"messages": [*new, *(each for each in messages[start:] if each.id in kept or is_aside(each))]}
