"""Work as agents really do it, told as a person would: the goal, orders that are whole, and what failed by its own
reason."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.procedures import outcome, traces
from muniment.memory.rules.procedures.procedure import render_procedure
from tests.sessions import Line, session
from tests.unit.test_acts import act

CASES: dict[str, tuple[list[Line], str]] = {
    "a test that fails in a shell that reports no code": (
        [
            ("user", "The tests of the cart are red, please fix them."),
            ("bash", {"command": "pytest -q", "description": "Run the tests"},
             "E       assert 3 == 4\n\ncart.py:9: AssertionError\n===== 1 failed, 3 passed in 0.05s =====", True),
            ("edit", {"path": "cart.py", "old": "a", "new": "b"}, "ok", True),
            ("bash", {"command": "pytest -q", "description": "Run them again"}, "4 passed in 0.03s", True),
        ],
        ("Goal: The tests of the cart are red: fix those\nSteps:\n1. Call edit with path=cart.py, old=a, new=b\n"
        "2. Run: pytest -q\nAvoid:\n- pytest -q before edit (1 failed, 3 passed in 0.05s)\n"
        "Again: with edit, bash on .py files"),
    ),
    "a command on another machine, which needs another one first": (
        [
            ("user", "Reindex the wiki on search-1.acme.io"),
            ("ssh_exec", {"host": "search-1.acme.io", "command": "wiki reindex"}, "wiki: command not found", False),
            ("ssh_exec", {"host": "search-1.acme.io", "command": ["sh", "-c", "apt-get install wiki"]}, "ok", True),
            ("ssh_exec", {"host": "search-1.acme.io", "command": "wiki reindex"}, "done", True),
            ("bash", {"command": "ping -c 1 search-1.acme.io"}, "64 bytes", True),
        ],
        ("Goal: Reindex the wiki on search-1.acme.io\nSteps:\n1. Run: apt-get install wiki (host=search-1.acme.io)\n"
        "2. Run: wiki reindex (host=search-1.acme.io)\n3. Run: ping -c 1 search-1.acme.io\nAvoid:\n"
        "- wiki reindex (host=search-1.acme.io) before apt-get install wiki (wiki: command not found)\n"
        "Again: with ssh_exec, bash"),
    ),
    "a statement in full, the same failure once": (
        [
            ("user", "Add a column discount to the orders table."),
            ("run_sql", {"query": "ALTER TABLE order ADD COLUMN discount numeric"}, 'syntax error at or near "order"',
                False),
            ("run_sql", {"query": "ALTER TABLE order ADD COLUMN discount numeric"}, "ERROR: lock timeout", False),
            ("run_sql", {"query": "ALTER TABLE orders ADD COLUMN discount numeric NOT NULL DEFAULT 0"}, "ALTER TABLE",
                True),
        ],
        ("Goal: Add a column discount to the orders table\nSteps:\n"
        "1. Call run_sql with query=ALTER TABLE orders ADD COLUMN discount numeric NOT NULL DEFAULT 0\nAvoid:\n"
        "- run_sql with query=ALTER TABLE order ADD COLUMN discount numeric (ERROR: lock timeout)\n"
        "Again: with run_sql"),
    ),
    "a list among the arguments is what differs": (
        [
            ("user", "Open an issue about the login in acme/shop"),
            ("mcp__github__create_issue", {"title": "Login", "labels": ["bugs"]},
             '{"isError": true, "content": [{"type": "text", "text": "no such label: bugs"}]}', True),
            ("mcp__github__create_issue", {"title": "Login", "labels": ["bug"]}, '{"isError": false, "content": []}',
                True),
        ],
        ("Goal: Open an issue about the login in acme/shop\nSteps:\n"
        '1. Call mcp__github__create_issue with title=Login, labels=["bug"]\nAvoid:\n'
        '- mcp__github__create_issue with title=Login, labels=["bugs"] (no such label: bugs)\n'
        'Again: with mcp__github__create_issue'),
    ),
    "too many requests, a wait, and a wish by the way": (
        [
            ("user", "Download all the pages of the price list"),
            ("http_get", {"url": "https://api.shop.example/prices.json?page=1"},
                '{"status": 429, "error": "Too Many Requests"}'),
            ("sleep", {"seconds": 30}, "ok"),
            ("http_get", {"url": "https://api.shop.example/prices.json?page=1"}, '{"status": 200, "items": 100}'),
            ("user", "By the way, remember how to do this."),
        ],
        ("Goal: Download all the pages of the price list\nSteps:\n1. Call sleep with seconds=30\n"
        "2. Call http_get with url=https://api.shop.example/prices.json?page=1\nAvoid:\n"
        "- http_get with url=https://api.shop.example/prices.json?page=1 before sleep (HTTP 429, Too Many Requests)\n"
        "Again: with sleep, http_get on .json files; when HTTP 429 comes up"),
    ),
    "the same tool first in another way, and a trouble that was only noticed": (
        [
            ("user", "I get a 404 for the branch feature-x. Could you find out why and check it out?"),
            ("git", {"args": "checkout feature-x"}, "error: Your local changes would be overwritten", False),
            ("git", {"args": "stash"}, "Saved", True),
            ("git", {"args": "checkout feature-x"}, "Switched to the branch", True),
            ("npm_run", {"script": "build"}, "Finished", True),
        ],
        (
            "Goal: A 404 for the branch feature-x: find out why and check it out\nSteps:\n1. Call git with args=stash\n"
            "2. Call git with args=checkout feature-x\n3. Call npm_run with script=build\nAvoid:\n"
            "- git with args=checkout feature-x before git with args=stash"
            " (error: Your local changes would be overwritten)\n"
            "Again: with git, npm_run"
        ),
    ),
    "what failed differs in nothing that is told": (
        [
            ("user", "Write the readme"),
            ("write_file", {"path": "README.md", "content": "x" * 200}, "HTTP 500", False),
            ("write_file", {"path": "README.md", "content": "y" * 200}, "ok", True),
        ],
        (
            "Goal: Write the readme\nSteps:\n1. Call write_file with path=README.md, content=…\n"
            "Again: with write_file on .md files; when HTTP 500 comes up"
        ),
    ),
    "the wish in one breath": (
        [("user", "帮我部署前端，然后把步骤记下来"), ("bash", {"command": "npm ci"}, "exit code: 0"),
            ("bash", {"command": "make up"}, "exit code: 0")],
        "Goal: 部署前端\nSteps:\n1. Run: npm ci\n2. Run: make up\nAgain: with bash",
    ),
    "in Chinese, with what it is about": (
        [
            ("user", "测试挂了，帮我修一下"),
            ("bash", {"command": "pytest -q"}, "KeyError: 'name'\n1 failed, 8 passed in 0.9s", True),
            ("edit", {"path": "a.py"}, "已更新", True),
            ("bash", {"command": "pytest -q"}, "9 passed in 0.8s", True),
            ("user", "以后都这么做，把这个流程记下来"),
        ],
        ("Goal: 测试挂了: 修一下\nSteps:\n1. Call edit with path=a.py\n2. Run: pytest -q\nAvoid:\n"
        "- pytest -q before edit (KeyError: 'name')\nAgain: with edit, bash on .py files; when KeyError comes up"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_transcript_is_told_as_a_person_would(name: str) -> None:
    """Whole orders in their sequence, each failure once and with its reason, nothing that is in a step to be
    avoided."""
    lines, told = CASES[name]
    [path] = traces.find_paths(session(lines), failures=1)
    assert render_procedure(path.procedure) == told
    assert path.is_requested is (lines[-1][0] == "user" or "记下来" in lines[0][1])


@pytest.mark.parametrize(
    ("text", "ok", "verdict", "reason"),
    [
        ("{'success': False, 'error': 'AccessDenied'}", True, "failed", "AccessDenied"),
        (
            '{"ok": false, "log": "' + "x" * 900 + "\n…\n" + "x" * 200 + '", "error": "disk full"}',
            True,
            "failed",
            "disk full",
        ),
        ('{"rows": [{"ok": false}, {"status": "failed"}', True, "ok", '{"rows": [{"ok": false}, {"status": "failed"}'),
        ('{"errors": [], "items": [', True, "ok", '{"errors": [], "items": ['),
        ('{"result": {"exit_code": 68, "stderr": "Already exists"}}', True, "failed", "exit code 68, Already exists"),
        ('{"output": "x", "metadata": {"exit_code": 0}}', None, "ok", "x"),
        ('{"error": {"message": "File too large", "code": 413}}', True, "failed", "File too large"),
        ('{"errcode": 40003, "errmsg": "invalid openid"}', True, "failed", "invalid openid"),
        ('{"errors": [{"message": "no such field"}]}', None, "failed", "no such field"),
        ("success: false", None, "unknown", "success: false"),
        (
            "src/a.ts(1,5): error TS2322: no number\nnpm ERR! code 2",
            True,
            "unknown",
            "src/a.ts(1,5): error TS2322: no number",
        ),
    ],
)
def test_what_an_object_reports_is_read(text: str, ok: bool | None, verdict: str, reason: str) -> None:
    """Also where it was cut, where Python printed it, and where it wraps another; what it holds is not what it
    reports."""
    assert (outcome.judge_outcome(act(text, ok)), outcome.explain_failure(act(text, ok))) == (verdict, reason)


@pytest.mark.parametrize(
    ("summary", "verdict"),
    [
        ("=== 3 failed, 12 passed in 2.1s ===", "failed"),
        ("Tests:  1 failed, 4 passed, 5 total", "failed"),
        ("FAIL\tacme/parser\t0.012s", "failed"),
        ("[ERROR] Failed to execute goal compile", "failed"),
        ("Found 2 errors in 1 file (checked 5 source files)", "failed"),
        ("✖ 3 problems (3 errors, 0 warnings)", "failed"),
        ("test result: FAILED. 1 passed; 1 failed; 0 ignored", "failed"),
        ("12 passed, 0 failed", "ok"),
        ("Found 3 errors (3 fixed, 0 remaining).", "unknown"),
    ],
)
def test_a_summary_of_failures_is_one_where_something_was_run(summary: str, verdict: str) -> None:
    """Of a shell, or of a tool that checks by its name; of any other tool it is what the output is about."""
    assert outcome.judge_outcome(act(summary, True, "run_tests")) == verdict
    assert outcome.judge_outcome(act(summary, True, "bash", command="make")) == verdict
    assert outcome.judge_outcome(act(summary, True, "read_log")) == ("ok" if verdict == "ok" else "unknown")


@given(st.text(alphabet="{}[]:,\"'\\ \nao1", max_size=80))
def test_any_output_can_be_read(text: str) -> None:
    """No output breaks the rules, however it was cut."""
    assert outcome.judge_outcome(act("{" + text)) in ("ok", "failed", "unknown")
    assert len(outcome.explain_failure(act("{" + text))) <= 80
