"""kill -9 in the middle of a bisection, and the same command again: no reply is asked for twice, none is lost."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from threading import Event
from typing import Any

import pytest

from muniment.testing.openai_server import ScriptedOpenAI
from tests.faces.conftest import PROGRAM, Muniment

TALK = ["I live in Porto.", *(f"I am allergic to {each}." for each in ("eggs", "soy", "fish")), "Which city is mine?"]
ASKED = ("bisect", "--thread", "main", "--turn", "8", "--expect", "harbour", "--user", "ana", "--json")
CUT_AFTER = 3  # replies


def answer(body: dict[str, Any]) -> str:
    """What rests on where the user lives."""
    prompt = json.dumps(body["messages"])
    asks = "Which city is mine?" in prompt
    return "You have a harbour." if asks and "lives in Porto" in prompt else "I cannot say."


@pytest.mark.timeout(180)  # real processes
def test_no_reply_is_asked_for_twice(muniment: Muniment, environment: dict[str, str]) -> None:
    """Resumable: after a kill the replies that were made are kept, and the spend is that of all that were sent."""
    hangs, go_on, is_cutting = Event(), Event(), Event()

    def reply(body: dict[str, Any]) -> str:
        if is_cutting.is_set() and len(model.requests) > begun + CUT_AFTER:
            hangs.set()
            go_on.wait(60)
        return answer(body)

    with ScriptedOpenAI(reply) as model:
        told = {"MUNIMENT_MODEL": "scripted", "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": model.base_url}
        assert muniment("chat", "--user", "ana", said="\n".join(TALK) + "\n", **told).code == 0
        begun = len(model.requests)
        is_cutting.set()
        search = subprocess.Popen(
            [PROGRAM, *ASKED], env=environment | told, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert hangs.wait(90)
        search.kill()
        search.communicate()
        is_cutting.clear()
        go_on.set()
        cut = [json.dumps(one.body["messages"]) for one in model.requests[begun:]]
        assert len(cut) == CUT_AFTER + 1

        found = muniment(*ASKED, **told).json
        assert (found["outcome"], found["reused"]) == ("found", CUT_AFTER)
        assert [cause["text"] for causes in found["sets"] for cause in causes] == ["[profile] The user lives in Porto"]
        made = [json.dumps(one.body["messages"]) for one in model.requests[begun + len(cut) :]]
        assert len(made) == found["replies"] - CUT_AFTER
        # The prompt that was under way is the only one that is sent again.
        assert [prompt for prompt, times in Counter([*cut, *made]).items() if times > 1] == [cut[-1]]

        again = muniment(*ASKED, **told).json
        assert again["reused"] == again["replies"] == found["replies"]
        assert len(model.requests) == begun + len(cut) + len(made)
        spent = muniment("stats", "spend", "--json", **told).json
        (line,) = (each for each in spent["lines"] if each["purpose"] == "bisect")
        assert line["requests"] == found["replies"]  # the one that was under way was not answered
