"""A memory as a replayed turn reads it: what was not before the model then, or is left out now, is not found, and no
search is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.client import Conversation, Memory
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.query import Answer, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import OpsEvent, Purpose
from muniment.memory.errors import ModelError
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, ChatModel, Tool


class ReplayMemory(Memory):
    """The memory of another one's engine, which closes it. Its queries find the memories of `visible` alone."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory.engine, loop=memory.loop)
        self.visible = frozenset[MemoryId]()
        self.failures = list[ModelError]()  # of the model, since the list was cleared
        self.conversation = _ReplayConversation(self)

    async def query(self, scope: Scope, agent: str, query: Query) -> Answer:
        """Return the best of the visible memories, as `Memory.query`."""
        answer = await self.replays.query(scope, agent, query)
        return replace(answer, hits=tuple(hit for hit in answer.hits if hit.memory.id in self.visible))


class _ReplayConversation(Conversation):
    """The calls of a replayed turn, which tracks nothing and pays as a bisection."""

    def __init__(self, memory: ReplayMemory) -> None:
        super().__init__(memory)
        self._failures = memory.failures

    def meter_model(self, scope: Scope, model: ChatModel, purpose: Purpose = "bisect") -> ChatModel:
        """Return a model whose requests are paid for, and whose failures are kept: the graph replies from memory where
        one fails, and such a reply says nothing about the statements."""
        return _WatchedModel(super().meter_model(scope, model, purpose), self._failures)

    async def track(self, scope: Scope, event: OpsEvent) -> None:
        """Track nothing."""


class _WatchedModel:
    """A model whose failures are kept in a list."""

    def __init__(self, model: ChatModel, failures: list[ModelError]) -> None:
        self._model, self._failures = model, failures

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """Return the model's answer. Raises ModelError, OverBudget."""
        try:
            return await self._model.chat(messages, tools, form=form)
        except ModelError as error:
            self._failures.append(error)
            raise

    async def close(self) -> None:
        """Do nothing: the owner of the model closes it."""
