"""Requests to a model: redacted before they leave, and paid for from the tenant's budget."""

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
from muniment.memory.flows.request_order import RequestOrder
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.llm import AnswerForm, BatchRequest, ChatAnswer, ChatMessage, ChatModel, Tool
from muniment.memory.ports.operation.usage import UsageStore
from muniment.memory.rules.policy import cost
from muniment.memory.rules.policy.retry import find_retry_delay
from muniment.memory.rules.redaction.redact import Redactor

_REQUEST_ORDER = RequestOrder()
_TRIED_AGAIN: frozenset[Purpose] = frozenset({"reply", "bisect"})  # what somebody waits for
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UsageMeter:
    """Asks models: redacts each request, reserves its cost in the tenant's budget, and settles what it has cost."""

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
        """Return the answer of `model`, or of the configured model. Raises ModelError, OverBudget.

        What somebody waits for is tried again up to `model.max_retries` times, each paid for; a job is tried again by
        its queue."""
        model = model or self.model
        if model is None:
            raise ModelUnavailable("no model is configured (MUNIMENT_MODEL)")
        safe = [self._redact_message(message) for message in messages]
        for attempt in count():
            try:
                async with _REQUEST_ORDER.hold_place(model.name, is_reply=purpose == "reply"):
                    return await self._ask_once(scope, purpose, safe, tools, form, model)
            except ModelError as error:
                has_retry = purpose in _TRIED_AGAIN and attempt < self.settings.model.max_retries
                wait = find_retry_delay(error, attempt) if has_retry else None
                if wait is None:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError  # counting does not end

    def estimate_request(self, model: str, purpose: Purpose, request: BatchRequest) -> tuple[BatchRequest, Charge]:
        """Return a prompt of a batch, redacted, and the most that it may cost."""
        safe = replace(request, messages=tuple(self._redact_message(message) for message in request.messages))
        most = (request.form and request.form.max_tokens) or self.settings.model.max_output_tokens
        return safe, cost.estimate_charge(
            purpose, model, _collect_texts(safe.messages, (), request.form), most, self._compute_batch_prices()
        )

    def get_daily_limits(self, model: str) -> tuple[int | None, int | None]:
        """Return the limits of a day in tokens and in millionths of the currency; None is no limit. Raises
        ModelUnavailable."""
        spend = self.settings.spend
        micros = None if spend.daily_money is None else round(spend.daily_money * 1_000_000)
        if micros is not None and model not in spend.prices:
            # Without a price it would cost nothing, and the budget would never be used up.
            raise ModelUnavailable(f"a budget in money wants a price of the model {model!r} (spend.prices)", sent=False)
        return spend.daily_tokens, micros

    def charge_batch(self, reserved: Charge, tokens: Mapping[str, tuple[int, int]], prompt_count: int) -> list[Charge]:
        """Return the cost of each answer of a batch; one without credible token counts costs its share of what is
        reserved."""
        share = reserved.input_tokens // prompt_count, reserved.output_tokens // prompt_count
        prices = self._compute_batch_prices()
        return [
            cost.calculate_charge(reserved.purpose, reserved.model, *(n if cost.is_credible(*n) else share), prices)
            for n in tokens.values()
        ]

    def _compute_batch_prices(self) -> dict[str, Price]:
        share = self.settings.consolidation.batch_price
        return {
            name: Price(input=price.input * share, output=price.output * share)
            for name, price in self.settings.spend.prices.items()
        }

    def charge_failed_answer(self, purpose: Purpose, model: str, error: MunimentError) -> Charge | None:
        """Return the cost of an answer that was cut off, or None without credible token counts."""
        tokens: tuple[int, int] = error.data.get("tokens", (0, 0))
        if not cost.is_credible(*tokens):
            return None
        return cost.calculate_charge(purpose, model, *tokens, self.settings.spend.prices)

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
        reserved = await self._reserve_budget(scope, day, guess)
        used: Charge | None = guess  # what stays charged unless the cost becomes known
        try:
            answer = await model.chat(redacted, tools, form=form)
            if cost.is_credible(answer.input_tokens, answer.output_tokens):
                used = cost.calculate_charge(purpose, model.name, answer.input_tokens, answer.output_tokens, prices)
        except MunimentError as error:
            used = None if cost.is_unbilled(error) else self.charge_failed_answer(purpose, model.name, error) or guess
            raise
        finally:
            self.write_behind.add_settlement(scope, Settlement(day=day, reserved=reserved, used=used))
            # A reply must not wait: its turn writes the settlement at the end.
            if purpose != "reply":
                await self._flush_settlements(scope)
        return answer

    def _redact_message(self, message: ChatMessage) -> ChatMessage:
        calls = tuple(
            replace(
                call,
                # No provider takes brackets in a name.
                name=call.name if self.redactor.sanitize_text(call.name) == call.name else "redacted",
                arguments=self.redactor.sanitize_value(call.arguments),
            )
            for call in message.tool_calls
        )
        # A text without a secret keeps its bytes: providers cache a request by its beginning.
        return replace(message, content=self.redactor.redact_text(message.content), tool_calls=calls)

    async def _reserve_budget(self, scope: Scope, day: date, guess: Charge) -> Charge | None:
        """Reserve the estimate in the day's budget; None when there is no budget, or when the default one cannot be
        read. Raises OverBudget, ModelUnavailable."""
        tokens, micros = self.get_daily_limits(guess.model)
        if tokens is None and micros is None:
            return None
        try:
            await self.write_behind.flush_settlements(scope)
            if await self.usage.reserve(scope, day, guess, tokens, micros):
                return guess
        except StoreError as error:
            if not self.settings.spend.has_own_budget:
                return None  # nobody asked for a limit; the usage is recorded when the database answers again
            # A budget that cannot be read might be exceeded.
            raise ModelUnavailable("the budget cannot be read, so the model is not asked") from error
        raise OverBudget(tenant=scope.tenant, day=day.isoformat())

    async def _flush_settlements(self, scope: Scope) -> None:
        try:
            await self.write_behind.flush_settlements(scope)
        except StoreError as error:
            # The answer is paid for and must not be lost; the settlement stays buffered, and the estimate charged.
            _log.warning("the books could not be kept: %s: %s", type(error).__name__, error)


class MeteredModel:
    """A model whose replies are redacted and paid for from the budget of one scope's tenant."""

    def __init__(self, meter: UsageMeter, scope: Scope, model: ChatModel, purpose: Purpose = "reply") -> None:
        self._meter, self._scope, self._model, self._purpose = meter, scope, model, purpose

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """Return the model's answer. Raises ModelError, OverBudget."""
        return await self._meter.ask_model(
            self._scope, self._purpose, messages, tools=tools, form=form, model=self._model
        )

    async def close(self) -> None:
        """Do nothing: the owner of the model closes it."""


def make_settlements(day: date, reserved: Charge | None, used: Sequence[Charge]) -> list[Settlement]:
    """Return the settlements that replace what is reserved for a batch, if anything is, by what its answers cost."""
    given_back = [Settlement(day=day, reserved=reserved)] if reserved else []
    return [*given_back, *(Settlement(day=day, used=charge) for charge in used)]


def _collect_texts(messages: Sequence[ChatMessage], tools: Sequence[Tool], form: AnswerForm | None) -> list[str]:
    """Return all texts of a request: each costs tokens."""
    calls = [call.name + json.dumps(call.arguments) for message in messages for call in message.tool_calls]
    offered = [f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in tools]
    return [*(message.content for message in messages), *calls, *offered, *([json.dumps(form.schema)] if form else [])]
