"""A person's first day with the plugin, and the next one in a new process: no database, no key, one file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

# The source of a line, and who holds a rule.
SOURCE = re.compile(r"^\[(?:rule|preference) · global · 12 Nov\] (?:The user's rule: |用户的规则：)?")
ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, json, sys
from datetime import timedelta
from pathlib import Path
from tests.plugin.hosts import DAY, make_settings, open_session

async def main(home, day, project, people):
    shown = {}
    settings = make_settings(Path(home), vectors=True)
    for user, turns in people.items():
        at = DAY + timedelta(days=day)
        async with open_session(settings, session=f"day {day}", project=project, user=user, at=at) as session:
            shown[user] = [await session.say(text, tools=tuple(map(tuple, tools))) for text, tools in turns]
    print(json.dumps({"shown": shown, "modules": sorted(sys.modules)}))

asyncio.run(main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])))
"""


Said: TypeAlias = tuple[str, list[list[object]]]


def run_day(home: Path, day: int, *turns: Said, project: str | None = None) -> list[str]:
    """What a new process put before the model, by turn."""
    return run_day_of(home, day, {"ana": turns}, project=project)["ana"]


def run_day_of(
    home: Path, day: int, people: Mapping[str, Sequence[Said]], *, project: str | None = None
) -> dict[str, list[str]]:
    """The same for several people one after another. No driver of a database is ever loaded."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MUNIMENT_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(home), str(day), json.dumps(project), json.dumps(people)],
        cwd=ROOT,
        env=clean | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert not {"psycopg", "openai", "langchain_core", "langgraph"} & {*answer["modules"]}
    shown: dict[str, list[str]] = answer["shown"]
    return shown


@pytest.mark.timeout(240)
def test_three_wishes_are_there_in_a_new_process_the_next_day(tmp_path: Path) -> None:
    """P-4, P-11, P-13, P-24: all three with their source, and nothing else."""
    assert run_day(tmp_path, 0, ("use pnpm, conventional commits, short answers", [])) == [""]
    (shown,) = run_day(tmp_path, 1, ("Add a login page to the shop.", []))
    lines = sorted(line for line in shown.splitlines() if line.startswith("["))
    assert lines == [
        "[preference · global · 12 Nov] The user prefers short answers",
        "[rule · global · 12 Nov] The user's rule: use conventional commits",
        "[rule · global · 12 Nov] The user's rule: use pnpm",
    ]


# Who says it how, and what the first prompt of the next day has of it, each with its source.
WAYS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "one after another": (
        ("we use pnpm here", "keep answers short", "commit messages follow conventional commits"),
        {"use pnpm", "The user wants answers short", "commit messages follow conventional commits"},
    ),
    "in sentences": (
        ("Please use pnpm instead of npm. Keep your replies brief. Our commits are conventional commits.",),
        {"use pnpm, not npm", "The user wants answers brief", "commits are conventional commits"},
    ),
    "without a verb": (
        ("always pnpm, never npm; conventional commits; and be concise",),
        {"use pnpm, not npm", "use conventional commits", "The user wants answers concise"},
    ),
    "from now on": (
        ("I'd like short answers from now on.", "Package manager is pnpm.", "Stick to conventional commits, please."),
        {"The user prefers short answers", "Package manager is pnpm", "use conventional commits"},
    ),
    "in passing": (
        ("just so you know, we're on pnpm, we write conventional commits and I prefer short answers",),
        {"use pnpm", "write conventional commits", "The user prefers short answers"},
    ),
    "what not": (
        ("don't use npm, use pnpm. don't write long answers. every commit must follow conventional commits",),
        {
            "use pnpm, not npm",
            "The user does not want long answers",
            "The user requires every commit to follow conventional commits",
        },
    ),
    "for good": (
        ("From now on answer in detail.", "from now on use pnpm", "always write conventional commits"),
        {
            "The user wants answers in detail",
            "use pnpm",
            "The user always wants the assistant to write conventional commits",
        },
    ),
    "中文": (
        ("用 pnpm,提交信息遵循 conventional commits,回答简短一点",),
        {"用pnpm", "提交信息遵循 conventional commits", "用户希望回答简短"},
    ),
    "一条一条": (
        ("我们这里用pnpm", "以后回答尽量简短", "提交信息要符合约定式提交规范"),
        {"用pnpm", "用户希望回答简短", "提交信息要符合约定式提交规范"},
    ),
    "用什么,不用什么": (
        ("包管理器统一用pnpm,不要用npm。提交用conventional commits。我喜欢简短的回答。",),
        {"包管理器统一用pnpm，不用npm", "提交用conventional commits", "用户希望回答简短"},
    ),
}


@pytest.mark.timeout(240)
def test_wishes_are_kept_however_they_are_said(tmp_path: Path) -> None:
    """P-4, P-11, P-24, P-53: ten ways to say it; the next day all of it is there, and nothing else."""
    run_day_of(tmp_path, 0, {who: [(text, []) for text in said] for who, (said, _) in WAYS.items()})
    shown = run_day_of(tmp_path, 1, {who: [("Add a login page to the shop.", [])] for who in WAYS})
    told = {
        who: {SOURCE.sub("", line) for line in prompt.splitlines() if line.startswith("[")}
        for who, (prompt,) in shown.items()
    }
    assert told == {who: wanted for who, (_, wanted) in WAYS.items()}


@pytest.mark.timeout(240)
def test_the_latest_wish_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    """P-38: what is said about the same thing later wins, on the same day and the next."""
    run_day(tmp_path, 0, ("short answers, please", []))
    run_day(tmp_path, 1, ("I prefer long answers", []))
    (shown,) = run_day(tmp_path, 2, ("Add a login page to the shop.", []))
    assert [line for line in shown.splitlines() if line.startswith("[")] == [
        "[preference · global · 13 Nov] The user prefers long answers"
    ]


@pytest.mark.timeout(240)
def test_work_goes_on_and_a_fix_comes_back(tmp_path: Path) -> None:
    """P-10, P-12, P-49, P-53, P-59: "continue the auth refactor" brings its todos and decisions, a failure its fix."""
    failed = ["shell", {"command": "pnpm test"}, "ERR_PNPM_OUTDATED_LOCKFILE lockfile is outdated\nexit code 1", True]
    repaired = ["shell", {"command": "pnpm install --no-frozen-lockfile"}, "done\nexit code 0", False]
    passed = ["shell", {"command": "pnpm test"}, "12 passed\nexit code 0", False]
    run_day(
        tmp_path,
        0,
        ("We decided to use JWT with refresh rotation for the auth refactor.", []),
        ("We have to write the migration for sessions of the auth refactor by Friday.", []),
        ("The billing page has to get a captcha by Monday, we decided to use Turnstile for the billing page.", []),
        ("Fix the failing CI, please.", [failed, repaired, passed]),
        project="shop",
    )
    continued, broken = run_day(
        tmp_path,
        1,
        ("continue the auth refactor", []),
        ("CI fails with ERR_PNPM_OUTDATED_LOCKFILE", []),
        project="shop",
    )
    assert "[decision · project · 12 Nov] The user decided: use JWT with refresh rotation" in continued
    assert "[todo · project · 12 Nov]" in continued
    assert "migration for sessions" in continued
    (fix,) = (line for line in broken.splitlines() if line.startswith("[fix"))
    assert "pnpm test failed" in fix
    assert "pnpm install --no-frozen-lockfile" in fix
