"""A person's first day with the plugin, and the next one in a new process: no database, no key, one file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, json, sys
from datetime import timedelta
from pathlib import Path
from tests.plugin.hosts import DAY, make_settings, open_session

async def main(home, day, project, turns):
    shown = []
    settings = make_settings(Path(home), vectors=True)
    async with open_session(settings, session=f"day {day}", project=project, at=DAY + timedelta(days=day)) as session:
        for text, tools in turns:
            shown.append(await session.say(text, tools=tuple(map(tuple, tools))))
    print(json.dumps({"shown": shown, "modules": sorted(sys.modules)}))

asyncio.run(main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])))
"""


def run_day(home: Path, day: int, *turns: tuple[str, list[list[object]]], project: str | None = None) -> list[str]:
    """What a new process put before the model, by turn. No driver of a database is ever loaded."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MUNIMENT_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(home), str(day), json.dumps(project), json.dumps(turns)],
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
    shown: list[str] = answer["shown"]
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
