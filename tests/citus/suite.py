"""The tests that run on a cluster, and what became of them, file by file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.citus.cluster import Cluster

ROOT = Path(__file__).parents[2]
FOLDERS = ("integration", "contract", "faces", "graph", "http", "mcp", "langchain")
OUTCOMES = ("passed", "failed", "skipped")
# Files that use no database, or one of their own.
ELSEWHERE = {
    "integration/test_batch_endpoint.py": "a model's server alone",
    "integration/test_benchmark_plot.py": "a picture",
    "integration/test_benchmarks.py": "the embedded server",
    "integration/test_chat_model.py": "a model's server alone",
    "integration/test_consolidation_benchmark.py": "the embedded server",
    "integration/test_everyday_benchmark.py": "the embedded server",
    "integration/test_fetch.py": "a download",
    "integration/test_multilingual_embedder.py": "a model alone",
    "integration/test_openai_embedder.py": "a model's server alone",
    "integration/test_reader_process.py": "a process alone",
    "integration/test_script.py": "the embedded server",
    "integration/test_server.py": "the embedded server",
    "integration/test_server_users.py": "the embedded server",
    "faces/test_start.py": "the embedded server",
    "graph/test_server.py": "the embedded server",
}


def list_files() -> list[str]:
    """Return the test files that run on a cluster."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
    names = [path.relative_to(ROOT / "tests").as_posix() for path in found]
    return [f"tests/{name}" for name in names if name not in ELSEWHERE]


def run_tests(cluster: Cluster, tests: Sequence[str], workers: int, report: Path) -> int:
    """Run pytest on the cluster, and print what became of the tests of each file."""
    environment = os.environ | cluster.environment
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--dist", "loadgroup", f"--junitxml={report}"]
    done = subprocess.run([*command, "-o", "junit_family=xunit1", *tests], cwd=ROOT, env=environment, check=False)
    print_table(report)
    return done.returncode


def print_table(report: Path) -> None:
    """Print the outcomes and the seconds of each file."""
    outcomes: dict[str, Counter[str]] = {}
    seconds: dict[str, float] = {}
    for case in ET.parse(report).iter("testcase"):  # pytest has just written it
        file = case.get("file") or str(case.get("classname"))
        outcomes.setdefault(file, Counter())[_find_outcome(case)] += 1
        seconds[file] = seconds.get(file, 0.0) + float(case.get("time", 0))
    print(f"\n{'file':<50}" + "".join(f"{name:>9}" for name in OUTCOMES) + f"{'seconds':>9}")
    for file, counted in sorted(outcomes.items()):
        print(_format_row(file, [counted[name] for name in OUTCOMES], seconds[file]))
    totals = sum(outcomes.values(), Counter())
    print(_format_row("all", [totals[name] for name in OUTCOMES], sum(seconds.values())))


def _format_row(name: str, counts: Iterable[int], seconds: float) -> str:
    return f"{name:<50}" + "".join(f"{count:>9}" for count in counts) + f"{seconds:>9.1f}"


def _find_outcome(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"
