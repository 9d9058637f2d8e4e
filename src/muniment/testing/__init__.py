"""A model, an embedder and a clock for tests and demos: no key, no network, the same answers in every run.

`ScriptedOpenAI` is a server on loopback with OpenAI's protocol: a test uses the real client over real HTTP.
Point `OPENAI_BASE_URL` or a client at `server.base_url`:

    from muniment.testing import ScriptedOpenAI, structured

    facts = {"facts": [{"statement": "The user lives in Lisbon", …}]}
    with ScriptedOpenAI(reply=structured(facts), fail=["rate_limit", None], retry_after=1) as server:
        …  # the first request is refused with 429, the second one answered
        assert server.requests[-1].body["model"] == "tiny-1"

`reply` is a text, a `tool_call(…)`, a list of them, or a function of the request's body; an `Answer` is sent as it is,
with any status, headers and bytes, slowly or cut off. `latency` delays answers, `fail` and `fail_share` break them, and
`unknown={"response_format"}` is an endpoint without structured output.
`ScriptedBatches` has a batch endpoint, too, with all answers after so many polls, or only some. `ScriptedChat` is a
`ChatModel` in the process, `HashEmbedder` an embedder without a model, `FixedClock` a clock that stands still.
"""

from __future__ import annotations

from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.testing.batch_server import ScriptedBatches
from muniment.testing.fakes import FixedClock, ScriptedChat
from muniment.testing.openai_answers import Answer
from muniment.testing.openai_server import Request, ScriptedOpenAI, structured, tool_call

__all__ = [
    "Answer",
    "FixedClock",
    "HashEmbedder",
    "Request",
    "ScriptedBatches",
    "ScriptedChat",
    "ScriptedOpenAI",
    "structured",
    "tool_call",
]
