"""Rules on names and docstrings: each complaint says where, and what to do."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from tests.shape.sources import Complaints, base_names, decorators, definitions

# What a method may be called without an object: its class is the object.
_VERBS = """
aclose acquire add advance apply bisect brief build capture chat close commit compact configure connect consolidate
delete describe drain drop dump end erase export extract finish flush forget get index ingest invalidate keep learn
list load maintain make measure open parse pin prepare put query read rebuild record redact reembed reflect register
relate release remember reserve restore revoke rotate run seal search settle start stop track unseal update upsert
verify write
"""
VERBS = frozenset(_VERBS.split())

# path::name -> why a function or method of the public surface has a name of one word that is no verb of VERBS
SHORT: dict[str, str] = {
    "faces/cli/__init__.py::main": "the name that an entry point has by custom",
    "memory/models/onnx/fetch.py::main": "the name that an entry point has by custom",
    "graph/supervisor.py::build": "the module is the noun: supervisor.build",
    "graph/consolidation.py::build": "the module is the noun: consolidation.build",
    "memory/client.py::Memory.history": "the word that users know; there is no other history",
    "memory/client.py::Memory.changes": "the word that users know, as history",
    "memory/client.py::Memory.now": "as datetime.now",
    "memory/resources.py::Resources.remove": "the word of the command, as of files",
    "src/muniment/testing/fakes.py::FixedClock.now": "as datetime.now",
    "faces/check/bench.py::BenchClock.now": "as datetime.now",
    "faces/check/pytest_plugin.py::MemoryFile.collect": "a method of pytest's files",
    "faces/check/pytest_plugin.py::MemoryCase.runtest": "a method of pytest's items",
    "faces/check/pytest_plugin.py::MemoryCase.reportinfo": "a method of pytest's items",
    "nodes/consolidation.py::begin": "the name of a node",
    "nodes/consolidation.py::survey": "the name of a node",
    "nodes/consolidation.py::check": "the name of a node",
    "nodes/consolidation.py::apply": "the name of a node",
    "nodes/consolidation.py::end": "the name of a node",
    "faces/langchain/store.py::MunimentStore.batch": "a method of LangGraph's store",
    "faces/langchain/store.py::MunimentStore.abatch": "a method of LangGraph's store",
    "faces/serving/request_ids.py::RequestIds.filter": "a method of logging's filters",
    "graph/saver.py::PooledSaver.aput": "a method of LangGraph's saver",
    "src/muniment/testing/openai_server.py::structured": "the public name that tests of users import",
    "src/muniment/testing/openai_server.py::ScriptedOpenAI.handler": "a noun: the class that answers requests",
    "src/muniment/testing/batch_server.py::ScriptedBatches.handler": "a noun: the class that answers requests",
}

_PARTICIPLES = """
asked began begun bought brought built caught chosen done drawn driven fallen felt forgotten found gave given gone
granted had heard held hidden kept known laid led left lent looked lost made marked meant met paid recalled
said seen sent shown spent spoken stood swept taken taught thought told undone unheard unwanted used waited wanted
went withheld worn written
"""
PARTICIPLES = frozenset(_PARTICIPLES.split())
NOT_PARTICIPLES = frozenset(
    {"structured", "embed", "feed", "need", "proceed", "seed", "shed", "speed", "reembed", "unembed"}
)


def short_names(path: str, text: str) -> Complaints:
    """Public functions of one word, and methods of one word that is no verb of VERBS.

    A property is a noun, and a context manager is called for what holds inside it, such as `transaction`. A method that
    returns bool may be a verb with s, such as `contradicts`. A command has the word that users type."""
    for name, node, parent in definitions(text):
        marks = decorators(node)
        if (
            isinstance(node, ast.ClassDef)
            or _is_private(name)
            or "_" in node.name
            or (parent and (node.name in VERBS or "Protocol" in base_names(parent)))
            or (parent and node.name.endswith("s") and node.returns and ast.unparse(node.returns) == "bool")
            or any("property" in mark or "setter" in mark or "contextmanager" in mark for mark in marks)
            or path.startswith("faces/cli/commands/")
            or any(".command" in mark or ".callback" in mark for mark in marks)
            or f"{path}::{name}" in SHORT
        ):
            continue
        yield (
            f"{path}:{node.lineno} {name} has a name of one word: name the verb and what it does it to, or add the name"
            " to VERBS (of methods) or SHORT in tests/shape/words.py with its reason"
        )


def participles(path: str, text: str) -> Complaints:
    """Functions and properties named by a participle; of private ones only by a word of PARTICIPLES."""
    for name, node, _ in definitions(text):
        if isinstance(node, ast.ClassDef):
            continue
        word = node.name.strip("_")
        regular = re.fullmatch(r"[a-z]+ed", word) and word not in NOT_PARTICIPLES and not _is_private(name)
        is_property = any("property" in mark for mark in decorators(node))
        if word in PARTICIPLES or (regular and not is_property):
            yield f"{path}:{node.lineno} {name} is a participle: say what it does, as a verb and its object"


def undocumented(files: Mapping[str, str]) -> Complaints:
    """Public modules, packages, classes, functions and methods without a docstring.

    Special methods, properties and overloads need none, nor does a method of an adapter that a port of memory/ports
    documents."""
    ports = {
        node.name
        for path, text in files.items()
        if path.startswith("memory/ports/")
        for _, node, parent in definitions(text)
        if parent and ast.get_docstring(node)
    }
    for path, text in files.items():
        if not ast.get_docstring(ast.parse(text)) and text.strip():
            yield f"{path} has no docstring: say what the module holds"
        adapter = path.startswith(("memory/stores/", "memory/models/", "src/muniment/testing/"))
        for name, node, parent in definitions(text):
            is_documented = adapter and parent and node.name in ports
            plain = any("property" in mark or mark == "overload" for mark in decorators(node))
            if ast.get_docstring(node) or _is_private(name) or is_documented or plain:
                continue
            yield f"{path}:{node.lineno} {name} has no docstring: say what it does, returns and raises"


def undocumented_packages(files: Mapping[str, str]) -> Complaints:
    """Packages of the product whose `__init__.py` does not say what the package decides or does."""
    for path, text in files.items():
        if path.endswith("/__init__.py") and not ast.get_docstring(ast.parse(text)):
            yield f"{path} has no docstring: say in one line what the package decides or does"


def pointing_docstrings(path: str, text: str) -> Complaints:
    """Docstrings that only point to another one."""
    for name, node, _ in definitions(text):
        docstring = ast.get_docstring(node) or ""
        if re.fullmatch(r"(?:See|As|Like) [`\w][^.]*(?:\.\w+)*`?\.?", docstring):
            yield f"{path}:{node.lineno} {name} only points to another docstring: say in one sentence what it does"


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))
