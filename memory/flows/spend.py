"""Every request to a model: redacted before it leaves, and paid for from the tenant's budget."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.errors import ModelUnavailable
from muniment.memory.flows.house import House, safe_text
from muniment.memory.plan import Purpose
from muniment.memory.ports import AnswerForm, ChatAnswer, ChatMessage, ChatModel, Tool
from muniment.memory.records import Scope, evolve


async def ask(
    house: House,
    scope: Scope,
    purpose: Purpose,
    messages: Sequence[ChatMessage],
    *,
    tools: Sequence[Tool] = (),
    form: AnswerForm | None = None,
    model: ChatModel | None = None,
) -> ChatAnswer:
    """The answer of `model`, or of the house's own. Raises ModelError, OverBudget."""
    chosen = model or house.model
    if chosen is None:
        raise ModelUnavailable("no model is configured (MUNIMENT_MODEL)")
    safe = [evolve(one, content=safe_text(house, one.content)) for one in messages]
    return await chosen.chat(safe, tools, form=form)
