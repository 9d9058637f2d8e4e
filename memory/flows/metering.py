"""Every request to a model: redacted before it leaves, and paid for from the tenant's budget."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from itertools import count

from muniment.memory.config.schema import Price
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Charge, Purpose, Settlement
from muniment.memory.errors import ModelError, ModelUnavailable, MunimentError, OverBudget, StoreError
from muniment.memory.flows.process_state import WriteBehind
from muniment.memory.flows.redactor import Redactor
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.llm import AnswerForm, BatchRequest, ChatAnswer, ChatMessage, ChatModel, Tool
from muniment.memory.ports.usage import UsageStore
from muniment.memory.rules.policy import cost
from muniment.memory.rules.policy.retry import find_retry_delay

_log = logging.getLogger(__name__)


def make_settlements(day: date, reserved: Charge | None, used: Sequence[Charge]) -> list[Settlement]:
    """What was reserved for a batch, if anything is, replaced by what its answers cost, line by line."""
    given_back = [Settlement(day=day, reserved=reserved)] if reserved else []
    return [*given_back, *(Settlement(day=day, used=one) for one in used)]


def _collect_texts(messages: Sequence[ChatMessage], tools: Sequence[Tool], form: AnswerForm | None) -> list[str]:
    """All that a request says: every part costs."""
    calls = [call.name + json.dumps(call.arguments) for one in messages for call in one.tool_calls]
    offered = [f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in tools]
    return [*(one.content for one in messages), *calls, *offered, *([json.dumps(form.schema)] if form else [])]


class MeteredModel:
    """A model whose replies to one scope are paid for from its tenant's budget."""

    def __init__(self, meter: UsageMeter, scope: Scope, model: ChatModel) -> None:
        self._meter, self._scope, self._model = meter, scope, model

    @property
    def name(self) -> str:
        return self._model.name

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """See `ChatModel.chat`. Raises OverBudget, too."""
        return await self._meter.ask_model(self._scope, "reply", messages, tools=tools, form=form, model=self._model)

    async def close(self) -> None:
        """The model belongs to whoever made it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UsageMeter:
    """Every request to a model: redacted before it leaves, and paid for from the tenant's budget."""

    clock: Clock
    model: ChatModel | None
    redactor: Redactor
    settings: Settings
    usage: UsageStore
    write_behind: WriteBehind

    async def ask_model(
        self,
        scope: Scope,
        purpose: Purpose,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[Tool] = (),
        form: AnswerForm | None = None,
        model: ChatModel | None = None,
    ) -> ChatAnswer:
        """The answer of `model`, or of the house's own. Raises ModelError, OverBudget.

        A reply is tried again as often as `model.max_retries` allows, each time from the budget; a job has its queue."""
        chosen = model or self.model
        if chosen is None:
            raise ModelUnavailable("no model is configured (MUNIMENT_MODEL)")
        safe = [self._redact_message(one) for one in messages]
        for attempt in count():
            try:
                return await self._ask_once(scope, purpose, safe, tools, form, chosen)
            except ModelError as error:
                wait = (
                    find_retry_delay(error, attempt)
                    if purpose == "reply" and attempt < self.settings.model.max_retries
                    else None
                )
                if wait is None:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError  # counting does not end

    def estimate_request(self, model: str, purpose: Purpose, request: BatchRequest) -> tuple[BatchRequest, Charge]:
        """A prompt of a batch as it may leave, redacted, and what it may cost."""
        safe = replace(request, messages=tuple(self._redact_message(message) for message in request.messages))
        most = (request.form and request.form.max_tokens) or self.settings.model.max_output_tokens
        return safe, cost.estimate_charge(
            purpose, model, _collect_texts(safe.messages, (), request.form), most, self._compute_batch_prices()
        )

    def get_daily_limits(self, model: str) -> tuple[int | None, int | None]:
        """What a day may cost in tokens, and in millionths of the currency; None for no limit. Raises ModelUnavailable."""
        spend = self.settings.spend
        micros = None if spend.daily_money is None else round(spend.daily_money * 1_000_000)
        if micros is not None and model not in spend.prices:
            # It would cost nothing, and the budget would never end.
            raise ModelUnavailable(f"a budget in money wants a price of the model {model!r} (spend.prices)", sent=False)
        return spend.daily_tokens, micros

    def charge_batch(self, reserved: Charge, tokens: Mapping[str, tuple[int, int]], prompt_count: int) -> list[Charge]:
        """What each answer of a batch of so many prompts has cost; one whose tokens were not counted, its share of what is held."""
        share = reserved.input_tokens // prompt_count, reserved.output_tokens // prompt_count
        prices = self._compute_batch_prices()
        return [
            cost.calculate_charge(reserved.purpose, reserved.model, *(one if cost.is_credible(*one) else share), prices)
            for one in tokens.values()
        ]

    def _compute_batch_prices(self) -> dict[str, Price]:
        share = self.settings.consolidation.batch_price
        return {
            name: Price(input=one.input * share, output=one.output * share)
            for name, one in self.settings.spend.prices.items()
        }

    def charge_failed_answer(self, purpose: Purpose, model: str, error: MunimentError) -> Charge | None:
        """What an answer has cost that was cut off, if it was counted."""
        tokens: tuple[int, int] = error.data.get("tokens", (0, 0))
        return (
            cost.calculate_charge(purpose, model, *tokens, self.settings.spend.prices)
            if cost.is_credible(*tokens)
            else None
        )

    async def _ask_once(
        self,
        scope: Scope,
        purpose: Purpose,
        redacted: Sequence[ChatMessage],
        tools: Sequence[Tool],
        form: AnswerForm | None,
        model: ChatModel,
    ) -> ChatAnswer:
        most = (form and form.max_tokens) or self.settings.model.max_output_tokens
        prices = self.settings.spend.prices
        guess = cost.estimate_charge(purpose, model.name, _collect_texts(redacted, tools, form), most, prices)
        day = self.clock.now().astimezone(UTC).date()
        held = await self._reserve_budget(scope, day, guess)
        used: Charge | None = guess  # what stays charged unless it is known better
        try:
            answer = await model.chat(redacted, tools, form=form)
            if cost.is_credible(answer.input_tokens, answer.output_tokens):
                used = cost.calculate_charge(purpose, model.name, answer.input_tokens, answer.output_tokens, prices)
        except MunimentError as error:
            used = None if cost.is_unbilled(error) else self.charge_failed_answer(purpose, model.name, error) or guess
            raise
        finally:
            self.write_behind.add_settlement(scope, Settlement(day=day, reserved=held, used=used))
            # A reply is not kept waiting: its turn settles when it has ended.
            if purpose != "reply":
                await self._flush_settlements(scope)
        return answer

    def _redact_message(self, message: ChatMessage) -> ChatMessage:
        calls = tuple(
            replace(
                one,
                # No provider takes brackets in a name.
                name=one.name if self.redactor.sanitize_text(one.name) == one.name else "redacted",
                arguments=self.redactor.sanitize_value(one.arguments),
            )
            for one in message.tool_calls
        )
        return replace(message, content=self.redactor.redact_text(message.content), tool_calls=calls)

    async def _reserve_budget(self, scope: Scope, day: date, guess: Charge) -> Charge | None:
        """Charge the estimate to the day; None when there is no budget. Raises OverBudget, ModelUnavailable."""
        tokens, micros = self.get_daily_limits(guess.model)
        if tokens is None and micros is None:
            return None
        try:
            await self.write_behind.flush_settlements(scope)
            if await self.usage.reserve(scope, day, guess, tokens, micros):
                return guess
        except StoreError as error:
            # A budget that cannot be read cannot be kept to.
            raise ModelUnavailable("the budget cannot be read, so the model is not asked") from error
        raise OverBudget(tenant=scope.tenant, day=day.isoformat())

    async def _flush_settlements(self, scope: Scope) -> None:
        try:
            await self.write_behind.flush_settlements(scope)
        except StoreError as error:
            # The answer is paid for and must not be lost; what is owed stays owed, and the estimate charged.
            _log.warning("the books could not be kept: %s: %s", type(error).__name__, error)
