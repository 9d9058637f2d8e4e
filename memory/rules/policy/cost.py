"""What a request to a model costs: estimated before it is sent, high rather than low, and counted after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from muniment.memory.config.schema import Price
from muniment.memory.domain.usage import Charge, Purpose
from muniment.memory.errors import ModelError, ModelRateLimited, ModelTimeout, MunimentError
from muniment.memory.rules.retrieval import token_count

_PER_TEXT = 8  # what a provider adds to a message or a tool
_PER_REQUEST = 8
_MOST = 1_000_000_000  # tokens; no request has so many


def estimate_charge(
    purpose: Purpose, model: str, texts: Sequence[str], answer_tokens: int, prices: Mapping[str, Price]
) -> Charge:
    """What a request with these texts (messages, tools, form) may cost when its answer has at most `answer` tokens."""
    input_tokens = _PER_REQUEST + sum(token_count.count_tokens(text) + _PER_TEXT for text in texts)
    return calculate_charge(purpose, model, input_tokens, answer_tokens, prices)


def calculate_charge(
    purpose: Purpose, model: str, input_tokens: int, output_tokens: int, prices: Mapping[str, Price]
) -> Charge:
    """What so many tokens cost, in millionths of the currency, begun ones included; a model without a price costs none."""
    price = prices.get(model)
    # A price is per million tokens, and a micro is a millionth: the two cancel out.
    money = input_tokens * price.input + output_tokens * price.output if price else 0.0
    return Charge(
        purpose=purpose, model=model, input_tokens=input_tokens, output_tokens=output_tokens, micros=-int(-money // 1)
    )


def add_charges(charge: Charge, other: Charge) -> Charge:
    """Two charges of one purpose and model as one."""
    return replace(
        charge,
        input_tokens=charge.input_tokens + other.input_tokens,
        output_tokens=charge.output_tokens + other.output_tokens,
        micros=charge.micros + other.micros,
    )


def is_credible(input_tokens: int, output_tokens: int) -> bool:
    """Whether an endpoint's own count can be true. One that tells of nothing has not counted."""
    return 0 <= input_tokens < _MOST and 0 <= output_tokens < _MOST and input_tokens + output_tokens > 0


def is_unbilled(error: MunimentError) -> bool:
    """Whether a failed request has surely cost nothing: it was never sent, or the endpoint refused to work on it.

    One that timed out, was cut off, or brought an answer that cannot be used, may be billed."""
    if not isinstance(error, ModelError) or isinstance(error, ModelRateLimited) or error.data.get("sent") is False:
        return True
    return isinstance(error.data.get("status"), int) and not isinstance(error, ModelTimeout)
