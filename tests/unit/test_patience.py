"""Texts that are made to be slow: no rule looks at them for long, for everybody else waits meanwhile."""

from __future__ import annotations

from time import process_time
from uuid import UUID

import pytest

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.turn import RecordedToolUse, Turn
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.procedures import outcome, requests
from tests.engine import NOON

SAID = [
    "我" + "刚" * 300,
    "昨天" + "和aa才终于" * 50,
    "麻烦你" * 60 + "步骤甲",
    "我想要" * 60 + "甲",
    "部署，然后" + "弄完之后" * 60 + "甲",
    "my Ana is " + "rather both now " * 30 + "x",
    "please" + " ," * 190 + " x",
    "It works now. " * 20 + "it works now " * 25 + "how we did it x",
    "remember how we" + " " * 350 + "deploy it",
    "部署，" + "做好好完好之后" * 50 + "甲",
    "用" * 200 + "重新" * 80,
    "I keep get " + "i have " * 45 + "what",
    "what " + "— what is " * 35,
]
PUT_OUT = [
    "error |" + "-" * 300 + "+",
    "failed " + "= " * 200 + "x",
    "{" + '"a": {' * 100,
    "E   " * 150 + "x",
    "{" + '"\\' * 600,
]


@pytest.mark.parametrize("text", SAID, ids=lambda one: str(one)[:12])
def test_what_a_person_says_is_read_at_once(text: str) -> None:
    """Words again and again that could be read in two ways, and much space between them."""
    start = process_time()
    extract_statements(Turn.make(session="s", key="k", role="user", text=text, at=NOON))
    gate.find_skip_reason(text, "user")
    requests.parse_keep_request(text)
    requests.parse_work_request(text)
    requests.parse_indirect_request(text)
    assert process_time() - start < 2


@pytest.mark.parametrize("result", PUT_OUT, ids=lambda one: str(one)[:12])
def test_what_a_tool_puts_out_is_read_at_once(result: str) -> None:
    """Rules of dashes, braces that are never closed."""
    act = RecordedToolUse(turn=TurnId(UUID(int=1)), name="bash", result=result, at=NOON)
    start = process_time()
    outcome.judge_outcome(act)
    outcome.explain_failure(act)
    assert process_time() - start < 2
