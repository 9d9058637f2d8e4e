"""kill -9 in the middle of a bisection, and the same command again: no reply is asked for twice, none is lost."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

from muniment.testing.openai_server import ScriptedOpenAI
from tests.faces.conftest import PROGRAM

TALK = ["I live in Porto.", "I like tea.", "I like chess.", "I like rice.", "Which city is mine?"]
ASKED = ("bisect", "--thread", "main", "--turn", "8", "--expect", "harbour", "--user", "ana", "--json")
CUT_AFTER = 3  # replies


def answer(body: dict[str, Any]) -> str:
    """What rests on where the user lives."""
    prompt = json.dumps(body["messages"])
    asks = "Which city is mine?" in prompt
    return "You have a harbour." if asks and "lives in Porto" in prompt else "I cannot say."


def run(environment: dict[str, str], *arguments: str, said: str = "") -> Any:
    done = subprocess.run(
        [PROGRAM, *arguments], env=environment, input=said, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_reply_is_asked_for_twice(environment: dict[str, str], tmp_path: Path) -> None:
    """Resumable: after a kill the replies that were made are kept, and the spend is that of all that were sent."""
    del tmp_path
    hangs, go_on, is_cutting = Event(), Event(), Event()

    def reply(body: dict[str, Any]) -> str:
        if is_cutting.is_set() and len(model.requests) > begun + CUT_AFTER:
            hangs.set()
            go_on.wait(60)
        return answer(body)

    with ScriptedOpenAI(reply) as model:
        told = environment | {
            "MUNIMENT_MODEL": "scripted", "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": model.base_url,
        }  # fmt: skip
        run(told, "chat", "--user", "ana", said="\n".join(TALK) + "\n")
        begun = len(model.requests)
        is_cutting.set()
        search = subprocess.Popen([PROGRAM, *ASKED], env=told, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert hangs.wait(60)
        search.kill()
        search.communicate()
        is_cutting.clear()
        go_on.set()
        cut = [json.dumps(one.body["messages"]) for one in model.requests[begun:]]
        assert len(cut) == CUT_AFTER + 1

        found = json.loads(run(told, *ASKED))
        assert (found["outcome"], found["reused"]) == ("found", CUT_AFTER)
        assert [cause["text"] for causes in found["sets"] for cause in causes] == ["[profile] The user lives in Porto"]
        made = [json.dumps(one.body["messages"]) for one in model.requests[begun + len(cut) :]]
        assert len(made) == found["replies"] - CUT_AFTER
        # The prompt that was under way is the only one that is sent again.
        assert [prompt for prompt, times in Counter([*cut, *made]).items() if times > 1] == [cut[-1]]

        again = json.loads(run(told, *ASKED))
        assert again["reused"] == again["replies"] == found["replies"]
        assert len(model.requests) == begun + len(cut) + len(made)
        usage = json.loads(run(told, "usage", "--user", "ana", "--json"))
        requests = sum(line["requests"] for line in usage["lines"] if line["purpose"] == "bisect")
        assert requests in (found["replies"], found["replies"] + 1)  # the one under way may have been booked before
