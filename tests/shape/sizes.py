"""Rules on sizes and statements: each complaint says where, and what to do."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath

from tests.shape.sources import Complaints, base_names, definitions, functions

FILE_LINES = 400
LARGE_LINES = 350
LARGE_FILES_SHARE = 20  # one file in so many may have more than LARGE_LINES
FUNCTION_LINES = 60
DOOR_STATEMENTS = 3
PACKAGE_MODULES = 15
PORT_METHODS = 12
TABLE_ELEMENTS = 4

# path or path::function -> why it may be longer than the ceiling
LONG: dict[str, str] = {}

# path::function -> why it must go on after whatever happens
BOUNDARIES: dict[str, str] = {
    "chain/host.py::Host._report_fault": "what a program counts faults by must not fail its turns",
    "chain/sync.py::_run_life": "carried to the thread that waits, as a future of a pool does",
    "chain/tools.py::ToolBox.call_tool": "a tool is anybody's function: the model is told that it failed",
    "faces/proxy/storing.py::store_exchange": "the answer is out: a defect must not end a stream, nor say its text",
    "faces/http/guard.py::Guard._answer": "a defect in one request must not end the service, nor say its text",
    "faces/proxy/guard.py::Guard._answer": "a defect in one request must not end the proxy, nor say its text",
    "faces/mcp/failures.py::contain_defects": "a defect in one request must not end the server, nor say its text",
    "memory/flows/background/worker.py::Worker._run_job": "a defect in one job must end neither the worker nor the job",
    "memory/models/reader_process.py::_answer_call": "an error of a call belongs to the process that asks",
    "nodes/chat_model.py::RunModel.chat": "the client of any provider, whose errors have classes of their own",
}

_HOMES = r"root|work|tmp|Users|home/[a-z]\w*|var/folders"
PRIVATE = re.compile(rf"(?<![\w.}}$)~])/(?:{_HOMES})/\w|file:" + "/{3}")


def long_files(path: str, text: str) -> Complaints:
    """Files over the ceiling."""
    count = len(text.splitlines())
    if count > FILE_LINES and path not in LONG:
        yield (
            f"{path} has {count} lines, the ceiling is {FILE_LINES}: say in one line what it holds, and split it where"
            " that line has an 'and'"
        )


def many_large_files(files: Mapping[str, str]) -> Complaints:
    """More large files than one in LARGE_FILES_SHARE."""
    sizes = {path: len(text.splitlines()) for path, text in files.items()}
    large = sorted((path for path, size in sizes.items() if size > LARGE_LINES), key=lambda path: -sizes[path])
    most = len(files) // LARGE_FILES_SHARE
    if len(large) > most:
        names = ", ".join(f"{path} ({sizes[path]})" for path in large)
        yield f"{len(large)} of {len(files)} files have over {LARGE_LINES} lines, {most} may: split some of {names}"


def long_functions(path: str, text: str) -> Complaints:
    """Functions over the ceiling."""
    for name, node in functions(text):
        count = (node.end_lineno or node.lineno) - node.lineno + 1
        if count > FUNCTION_LINES and f"{path}::{name}" not in LONG:
            yield (
                f"{path}:{node.lineno} {name} has {count} lines, the ceiling is {FUNCTION_LINES}: give its steps"
                " functions of their own"
            )


def crowded_packages(files: Mapping[str, str]) -> Complaints:
    """Packages of more modules than the ceiling; `__init__` does not count, nor do packages below."""
    modules: dict[str, int] = defaultdict(int)
    for path in map(PurePosixPath, files):
        modules[path.parent.as_posix()] += path.suffix == ".py" and path.name != "__init__.py"
    for package, count in modules.items():
        if count > PACKAGE_MODULES:
            yield (
                f"{package} has {count} modules, the ceiling is {PACKAGE_MODULES}: make a package below of those that"
                " one would look for together"
            )


def wide_ports(files: Mapping[str, str]) -> Complaints:
    """Protocols of more methods than the ceiling, inherited ones among them."""
    classes = {
        node.name: (path, node)
        for path, text in files.items()
        for _, node, _ in definitions(text)
        if isinstance(node, ast.ClassDef)
    }

    def methods(name: str) -> set[str]:
        if name not in classes:
            return set()
        node = classes[name][1]
        own = {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
        return own.union(*(methods(base) for base in base_names(node)))

    for name, (path, node) in classes.items():
        count = len(methods(name))
        if "Protocol" in base_names(node) and count > PORT_METHODS:
            yield (
                f"{path}:{node.lineno} {name} has {count} methods, the ceiling is {PORT_METHODS}: make a port for each"
                " flow's needs"
            )


def busy_doors(path: str, text: str) -> Complaints:
    """Functions of more statements than a door has."""
    for name, node in functions(text):
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        count = sum(isinstance(inner, ast.stmt) for statement in body for inner in ast.walk(statement))
        if count > DOOR_STATEMENTS:
            yield (
                f"{path}:{node.lineno} {name} has {count} statements, the ceiling is {DOOR_STATEMENTS}: move the work"
                " into a flow and call that"
            )


def broad_excepts(path: str, text: str) -> Complaints:
    """A handler of everything is fine where it only cleans up: where it ends by raising the same error again."""
    places = list(functions(text))
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        classes = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {ast.unparse(class_) if class_ else "" for class_ in classes}
        last = node.body[-1]
        if not names & {"", "Exception", "BaseException"} or (isinstance(last, ast.Raise) and last.exc is None):
            continue
        inside = [name for name, place in places if place.lineno <= node.lineno <= (place.end_lineno or 0)]
        if not any(f"{path}::{name}" in BOUNDARIES for name in inside):
            yield (
                f"{path}:{node.lineno} catches everything: name the classes that it can handle, or name the boundary in"
                " BOUNDARIES of tests/shape/sizes.py with its reason"
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
    """Absolute paths into a home or a folder of one machine."""
    for number, line in enumerate(text.splitlines(), 1):
        if PRIVATE.search(line):
            yield f"{path}:{number} names a path of one machine: use tmp_path, platformdirs or a setting"


def skipped_formats(path: str, text: str) -> Complaints:
    """`fmt: skip` but at the end of a table, which has TABLE_ELEMENTS or more in lines; `fmt: off` anywhere."""
    displays = [
        node
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) >= TABLE_ELEMENTS)
        or (isinstance(node, ast.Dict) and len(node.values) >= TABLE_ELEMENTS)
    ]
    ends = {node.end_lineno or 0 for node in displays if node.end_lineno != node.lineno}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row = token.start[0]
        if (
            token.type == tokenize.COMMENT
            and re.match(r"#\s*fmt: (?:skip|off)", token.string)
            and not ("skip" in token.string and ends & {row, row - 1})
        ):
            yield f"{path}:{row} keeps the formatter out of what is no table: drop the comment and run `make format`"
