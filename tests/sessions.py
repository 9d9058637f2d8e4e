"""Sessions in which tools were used: what a person said, what was called, what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.memory import Role, StoredMemory
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.memory.rules.procedures import tool_calls
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, scope, settings

Line: TypeAlias = "tuple[str, str] | tuple[str, dict[str, Any], str] | tuple[str, dict[str, Any], str, bool]"

PDF: list[Line] = [
    ("user", "Please convert my report.pdf into a format that the tax portal accepts."),
    ("convert_file", {"path": "report.pdf", "format": "docx"}, '{"ok": true, "pages": 12}'),
    ("upload_file", {"path": "report.pdf", "portal": "tax"}, "HTTP 415 Unsupported Media Type"),
    ("convert_file", {"path": "report.pdf", "format": "pdfa"}, '{"ok": true, "pages": 12}'),
    ("validate_pdfa", {"path": "report.pdf"}, '{"valid": true}'),
    ("upload_file", {"path": "report.pdf", "portal": "tax"}, "HTTP 201 Created"),
    ("assistant", "Your report is with the tax office."),
]
PDF_TOLD = """Goal: Convert the report.pdf into a format that the tax portal accepts
Steps:
1. Call convert_file with path=report.pdf, format=pdfa
2. Check with validate_pdfa (path=report.pdf)
3. Call upload_file with path=report.pdf, portal=tax
Avoid:
- convert_file with path=report.pdf, format=docx: upload_file fails (HTTP 415 Unsupported Media Type)
Again: with convert_file, validate_pdfa, upload_file on .pdf files; when HTTP 415 comes up"""

PARSER: list[Line] = [
    ("user", "Extract the tables from scan.pdf"),
    (
        "parse_pdf",
        {"path": "scan.pdf", "engine": "fast"},
        'Traceback (most recent call last):\n  File "p.py", line 3\nValueError: no text layer',
        False,
    ),
    ("user", "Try again please."),
    ("parse_pdf", {"path": "scan.pdf", "engine": "layout"}, "TimeoutError: no answer in 60 s", False),
    ("memory_query", {"query": "ocr"}, "2 found", True),
    ("parse_pdf", {"path": "scan.pdf", "engine": "ocr", "dpi": 300}, "12 tables", True),
]
PARSER_TOLD = """Goal: Extract the tables from scan.pdf
Steps:
1. Call parse_pdf with path=scan.pdf, engine=ocr, dpi=300
Avoid:
- parse_pdf with path=scan.pdf, engine=layout (TimeoutError: no answer in 60 s)
- parse_pdf with path=scan.pdf, engine=fast (ValueError: no text layer)
Again: with parse_pdf on .pdf files; when ValueError or TimeoutError comes up"""

DEPLOYMENT: list[Line] = [
    ("user", "Let's deploy release 2.4 to production."),
    ("bash", {"command": "pytest -q"}, "3 passed\nexit code: 0"),
    ("check_migrations", {"env": "production"}, '{"ok": true}'),
    ("user", "Now check the disk."),
    ("check_disk", {"host": "prod-1"}, '{"ok": true, "free_gb": 120}'),
    ("deploy_release", {"release": "2.4", "env": "production"}, '{"status": "success"}'),
    ("check_health", {"host": "prod-1"}, "HTTP 200"),
    ("assistant", "Release 2.4 is live."),
    ("user", "Great. Remember the exact sequence of checks."),
]
DEPLOYMENT_TOLD = """Goal: Deploy release 2.4 to production
Steps:
1. Run: pytest -q
2. Check with check_migrations (env=production)
3. Check with check_disk (host=prod-1)
4. Call deploy_release with release=2.4, env=production
5. Check with check_health (host=prod-1)
Again: with bash, check_migrations, check_disk, deploy_release"""


def session(
    lines: Sequence[Line], *, thread: str = "A", start: datetime = NOON, seconds: int = 10, agent: str = "executor"
) -> list[Turn]:
    """The turns of a session, one every so many seconds."""
    turns: list[Turn] = []
    for n, line in enumerate(lines):
        at, key = start + timedelta(seconds=n * seconds), f"{start.isoformat()} {n}"
        if len(line) == 2:
            role: Role = "user" if line[0] == "user" else "assistant"
            turns.append(Turn.make(session=thread, key=key, role=role, text=line[1], at=at, thread=thread))
            continue
        name, arguments, result, *reported = line
        use = ToolUse(
            key=key, name=name, arguments=arguments, result=result, at=at, agent=agent, ok=next(iter(reported), None)
        )
        turns.append(tool_calls.make_tool_turn(use, session=thread, thread=thread, redact=str))
    return turns


def unreviewed(url: str) -> Settings:
    """The settings of a test in which what is found in work is published at once."""
    tuned = settings(url)
    return tuned.model_copy(update={"procedures": tuned.procedures.model_copy(update={"review": "none"})})


def after(minutes: float = 10) -> FixedClock:
    """A clock that stands some minutes after noon."""
    return FixedClock(NOON + timedelta(minutes=minutes))


async def procedures(memory: Memory, owner: str = "ana") -> Sequence[StoredMemory]:
    return [one for one in await memory.list(scope(owner)) if one.kind == "procedural"]


async def learned(memory: Memory, lines: Sequence[Line], *, owner: str = "ana", **more: Any) -> list[str]:
    """What is known after a session."""
    where = scope(owner, more.get("thread", "A"))
    await memory.conversation.record(where, session(lines, **more))
    await memory.conversation.learn_path(where)
    return [one.text for one in await procedures(memory, owner)]
