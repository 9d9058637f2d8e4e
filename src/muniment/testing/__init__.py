"""A model, an embedder and a clock for tests and demos: no key, no network, the same answer each time.

`ScriptedOpenAI` is a server on loopback that speaks OpenAI's protocol, so that what is tested is the real client over
real HTTP. Point `OPENAI_BASE_URL` or a client at `server.base_url`:

    from muniment.testing import ScriptedOpenAI, structured

    facts = {"facts": [{"statement": "The user lives in Lisbon", …}]}
    with ScriptedOpenAI(reply=structured(facts), fail=["rate_limit", None], retry_after=1) as server:
        …  # the first request is refused with 429, the second one answered
        assert server.requests[-1].body["model"] == "tiny-1"

`reply` is a text, a `tool_call(…)`, a list of them, or a function of the request's body; `latency` delays and `fail` or
`fail_share` break answers; `unknown={"response_format"}` is an endpoint that knows no structured output.
`ScriptedBatches` has a batch endpoint, too: answers that come after so many looks, half of them, or none. `ScriptedChat`
is a `ChatModel` in the process, `HashEmbedder` an embedder that needs no model, `FixedClock` a clock that stands still.
"""

from __future__ import annotations

from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.testing.batch_server import ScriptedBatches
from muniment.testing.fakes import FixedClock, ScriptedChat
from muniment.testing.openai_server import Request, ScriptedOpenAI, structured, tool_call

__all__ = [
    "FixedClock",
    "HashEmbedder",
    "Request",
    "ScriptedBatches",
    "ScriptedChat",
    "ScriptedOpenAI",
    "structured",
    "tool_call",
]
