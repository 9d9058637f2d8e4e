"""Files of the project, and the functions and classes in them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("faces", "graph", "nodes", "agent", "plugin", "chain", "memory", "config", "migrations")
_TEXTS = {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".sql", ".lock", ".txt", ".sh", ""}

Complaints = Iterator[str]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[str, str], Complaints]
WholeRule = Callable[[Mapping[str, str]], Complaints]


def code(*folders: str) -> dict[str, str]:
    """Path -> text of the Python files in these folders."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}


def product() -> dict[str, str]:
    """Path -> text of the Python files that are installed."""
    return code(*FOLDERS, "src/muniment/testing") | {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in ("src/muniment/__init__.py", "src/muniment/__main__.py", "src/muniment/langchain.py")
    }


def tracked() -> dict[str, str]:
    """Path -> text of what git tracks, or of every file where this is no checkout."""
    git = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if git.returncode == 0:
        names = [name for name in git.stdout.decode().split("\0") if name]
    else:
        hidden = {".venv", "src", "build", "dist"}
        names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if not hidden & {*path.parts}]
    paths = [ROOT / name for name in names if Path(name).suffix in _TEXTS]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.is_file() and not path.is_symlink()
    }


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


def definitions(text: str) -> Iterator[tuple[str, Function | ast.ClassDef, ast.ClassDef | None]]:
    """The functions and classes of a module and the methods of its classes, with dotted name and class; none of those
    inside a function."""
    waiting: list[tuple[str, ast.Module | ast.ClassDef]] = [("", ast.parse(text))]
    while waiting:
        prefix, parent = waiting.pop()
        inside = [node for statement in parent.body for node in (statement, *_branches(statement))]
        for node in inside:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}.{node.name}".lstrip(".")
                yield name, node, parent if isinstance(parent, ast.ClassDef) else None
                if isinstance(node, ast.ClassDef):
                    waiting.append((name, node))


def _branches(statement: ast.stmt) -> Iterator[ast.stmt]:
    """What stands below `if TYPE_CHECKING:`, `try:` and the like."""
    if isinstance(statement, ast.If | ast.Try | ast.With):
        for node in ast.iter_child_nodes(statement):
            if isinstance(node, ast.stmt):
                yield node
                yield from _branches(node)


def base_names(node: ast.ClassDef) -> set[str]:
    """The names of the base classes, without their modules and parameters."""
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


def decorators(node: Function | ast.ClassDef) -> list[str]:
    """The decorators as they are written."""
    return [ast.unparse(decorator) for decorator in node.decorator_list]
