"""Costs of model requests: estimated before a request, high rather than low, and calculated after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from muniment.memory.config.schema import Price
from muniment.memory.domain.usage import Charge, Purpose
from muniment.memory.errors import ModelError, ModelRateLimited, ModelTimeout, MunimentError
from muniment.memory.rules.retrieval.render import choose_vocabulary, count_tokens

_PER_TEXT = 8  # what a provider adds to a message or a tool
_PER_REQUEST = 8
_DEAREST_VOCABULARY = 1.4  # times the tokens of our count, for models whose vocabulary is not published
_MOST = 1_000_000_000  # tokens; no request has so many


def estimate_charge(
    purpose: Purpose, model: str, texts: Sequence[str], answer_tokens: int, prices: Mapping[str, Price]
) -> Charge:
    """The highest charge of a request with these texts (messages, tools, schema) and `answer_tokens`."""
    vocabulary = choose_vocabulary(model)
    counted = sum(count_tokens(text, vocabulary) for text in texts)
    input_tokens = _PER_REQUEST + _PER_TEXT * len(texts) + ceil(_DEAREST_VOCABULARY * counted)
    return calculate_charge(purpose, model, input_tokens, answer_tokens, prices)


def calculate_charge(
    purpose: Purpose, model: str, input_tokens: int, output_tokens: int, prices: Mapping[str, Price]
) -> Charge:
    """The charge for these tokens, in millionths of the currency, rounded up; 0 for a model without a price."""
    price = prices.get(model)
    # A price is per million tokens, and a micro is a millionth: the two cancel out.
    money = input_tokens * price.input + output_tokens * price.output if price else 0.0
    return Charge(
        purpose=purpose, model=model, input_tokens=input_tokens, output_tokens=output_tokens, micros=-int(-money // 1)
    )


def is_credible(input_tokens: int, output_tokens: int) -> bool:
    """Whether the token counts of an endpoint can be true. Counts of 0 mean that it does not count."""
    return 0 <= input_tokens < _MOST and 0 <= output_tokens < _MOST and input_tokens + output_tokens > 0


def is_unbilled(error: MunimentError) -> bool:
    """Whether a failed request surely costs nothing: it was not sent, or the endpoint refused it.

    A request that timed out, was cut off or got a bad answer may be billed."""
    if not isinstance(error, ModelError) or isinstance(error, ModelRateLimited) or error.data.get("sent") is False:
        return True
    return isinstance(error.data.get("status"), int) and not isinstance(error, ModelTimeout)
