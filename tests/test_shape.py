"""The ceilings of the architecture. Each complaint says what to do; what must pass a ceiling is named here with a reason."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("faces", "graph", "nodes", "memory", "config", "migrations")
FILE_LINES = 400
FUNCTION_LINES = 60
ENGINE_STATEMENTS = 3
ENGINE = "memory/client.py"

# path or path::function -> why it may be longer than the ceiling
LONG: dict[str, str] = {}

# path::function -> why it must go on after whatever happens
BOUNDARIES: dict[str, str] = {
    "memory/flows/background/worker.py::Worker._work": "a defect in one job must end neither the worker nor the job",
}

TEXTS = {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".sql", ".lock", ".txt", ".sh", ""}
_HOMES = r"root|work|tmp|Users|home/[a-z]\w*|var/folders"
PRIVATE = re.compile(rf"(?<![\w.}}$)~])/(?:{_HOMES})/\w|file:" + "/{3}")

Complaints = Iterator[str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def code(*folders: str) -> dict[str, str]:
    """Path -> text of the Python files in these top-level folders."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}


def product() -> dict[str, str]:
    init = "src/muniment/__init__.py"
    return code(*FOLDERS) | {init: (ROOT / init).read_text(encoding="utf-8")}


def functions(text: str) -> Iterator[tuple[str, Function]]:
    """Every function with its dotted name."""
    waiting: list[tuple[str, ast.AST]] = [("", ast.parse(text))]
    while waiting:
        prefix, parent = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            name = prefix
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}.{node.name}".lstrip(".")
            waiting.append((name, node))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, node


def long_files(path: str, text: str) -> Complaints:
    count = len(text.splitlines())
    if count > FILE_LINES and path not in LONG:
        yield (
            f"{path} has {count} lines, the ceiling is {FILE_LINES}: say in one line what it holds, and split it where"
            " that line has an 'and'"
        )


def long_functions(path: str, text: str) -> Complaints:
    for name, node in functions(text):
        count = (node.end_lineno or node.lineno) - node.lineno + 1
        if count > FUNCTION_LINES and f"{path}::{name}" not in LONG:
            yield (
                f"{path}:{node.lineno} {name} has {count} lines, the ceiling is {FUNCTION_LINES}: give its steps"
                " functions of their own"
            )


def busy_engine(path: str, text: str) -> Complaints:
    for name, node in functions(text):
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        count = sum(isinstance(one, ast.stmt) for statement in body for one in ast.walk(statement))
        if count > ENGINE_STATEMENTS:
            yield (
                f"{path}:{node.lineno} {name} has {count} statements, the ceiling is {ENGINE_STATEMENTS}: move the work"
                " into a flow and call that"
            )


def broad_excepts(path: str, text: str) -> Complaints:
    """A handler of everything is fine where it only cleans up: where it ends by raising the same error again."""
    found = list(functions(text))
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        classes = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {ast.unparse(one) if one else "" for one in classes}
        last = node.body[-1]
        if not names & {"", "Exception", "BaseException"} or (isinstance(last, ast.Raise) and last.exc is None):
            continue
        inside = [name for name, one in found if one.lineno <= node.lineno <= (one.end_lineno or 0)]
        if not any(f"{path}::{name}" in BOUNDARIES for name in inside):
            yield (
                f"{path}:{node.lineno} catches everything: name the classes that it can handle, or name the boundary in"
                " BOUNDARIES of tests/test_shape.py with its reason"
            )


def hidden_imports(path: str, text: str) -> Complaints:
    """The reason is a comment on the import's line, or above the import and its neighbours."""
    lines = text.splitlines()
    for name, function in functions(text):
        for node in ast.walk(function):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            above = node.lineno - 2
            while re.match(r"\s*(import|from) ", lines[above]):
                above -= 1
            beside = re.sub(r"noqa(: ?[A-Z0-9, ]+)?", "", lines[node.lineno - 1].partition("#")[2])
            if not re.search(r"\w", beside) and not lines[above].strip().startswith("#"):
                yield (
                    f"{path}:{node.lineno} {name} imports inside a function: move the import to the top, or say in a"
                    " comment beside it why it cannot stand there"
                )


def private_paths(path: str, text: str) -> Complaints:
    for number, line in enumerate(text.splitlines(), 1):
        if PRIVATE.search(line):
            yield f"{path}:{number} names a path of one machine: use tmp_path, platformdirs or a setting"


def tracked() -> dict[str, str]:
    """Path -> text of what git tracks, or of every file where this is no checkout."""
    git = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if git.returncode == 0:
        names = [name for name in git.stdout.decode().split("\0") if name]
    else:
        hidden = {".venv", "src", "build", "dist"}
        names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if not hidden & {*path.parts}]
    paths = [ROOT / name for name in names if Path(name).suffix in TEXTS]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.is_file() and not path.is_symlink()
    }


RULES: list[tuple[Callable[[str, str], Complaints], Callable[[], dict[str, str]]]] = [
    (long_files, lambda: product() | code("tests", "benchmarks")),
    (long_functions, lambda: product() | code("tests", "benchmarks")),
    (busy_engine, lambda: {ENGINE: product()[ENGINE]}),
    (broad_excepts, product),
    (hidden_imports, product),
    (private_paths, tracked),
]


@pytest.mark.parametrize(("rule", "files"), RULES, ids=[rule.__name__ for rule, _ in RULES])
def test_shape(rule: Callable[[str, str], Complaints], files: Callable[[], dict[str, str]]) -> None:
    """Every file keeps to the ceiling."""
    found = files()
    assert found
    complaints = [complaint for path, text in found.items() for complaint in rule(path, text)]
    assert not complaints, "\n".join(complaints)


WRONG = [
    (long_files, "x = 1\n" * 401, True),
    (long_files, "x = 1\n" * 400, False),
    (long_functions, "class A:\n  async def f():\n" + "    x = 1\n" * 60, True),
    (long_functions, "def f():\n" + "    x = 1\n" * 59, False),
    (busy_engine, "def f():\n  'd'\n  if a:\n    b()\n  c()\n  d()\n", True),
    (busy_engine, "def f():\n  'd'\n  b()\n  c()\n  return d()\n", False),
    (broad_excepts, "try:\n  a()\nexcept Exception:\n  pass\n", True),
    (broad_excepts, "try:\n  a()\nexcept (ValueError, BaseException) as e:\n  raise B() from e\n", True),
    (broad_excepts, "try:\n  a()\nexcept:\n  pass\n", True),
    (broad_excepts, "try:\n  a()\nexcept BaseException:\n  b()\n  raise\n", False),
    (broad_excepts, "try:\n  a()\nexcept (ValueError, b.Error):\n  pass\n", False),
    (hidden_imports, "def f():\n  import a\n", True),
    (hidden_imports, "def f():\n  import a  # noqa: PLC0415\n", True),
    (hidden_imports, "def f():\n  import a  # noqa: PLC0415 - an extra\n", False),
    (hidden_imports, "def f():\n  # an extra\n  import a\n  import b\n", False),
    (private_paths, "x = '/" + "root/x'\n", True),
    (private_paths, "x = 'https://a.example/" + "root/x', '/usr/bin'\n", False),
]


@pytest.mark.parametrize(("rule", "text", "wrong"), WRONG)
def test_the_rules_bite(rule: Callable[[str, str], Complaints], text: str, wrong: bool) -> None:
    """Each rule complains about what passes its ceiling, and about nothing just below it."""
    assert bool(list(rule("some.py", text))) is wrong


@pytest.mark.parametrize("folder", FOLDERS)
def test_symlinks_join_the_folders(folder: str) -> None:
    """src/muniment has a link to each folder: what an editable install and the type checkers look at."""
    link = ROOT / "src/muniment" / folder
    assert link.is_symlink(), (
        f"src/muniment/{folder} is no symlink: git config core.symlinks true && git checkout -- src/muniment"
        " (CONTRIBUTING.md)"
    )
    assert link.readlink().as_posix() == f"../../{folder}", f"point src/muniment/{folder} at ../../{folder}"
