"""Directives of the reference: the public names of a module by their kind, and the table of errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from muniment import MunimentError
from muniment.faces.cli.output.screen import get_exit_code
from muniment.faces.http.errors import find_status

MODULES = ("muniment", "muniment.langchain", "muniment.testing")
DOORS = ("Memory", "Conversation", "Sessions", "Projections", "Configuration", "Admin", "Jobs", "Worker")
ADAPTERS = ("Embedder", "ChatModel", "ChatMessage", "ChatAnswer")
_PLURAL = re.compile(r"(`[^`]+`)(?=\w)")
PAGES = {"CONTRIBUTING.md": "reference/contributing.md"}
_logger = logging.getLogger(__name__)


def choose_kind(name: str, value: Any) -> str:
    """Whether a public name is a way in, an error, a port of one's own adapters, or a value."""
    if isinstance(value, type) and issubclass(value, MunimentError):
        return "errors"
    if name in ADAPTERS:
        return "adapters"
    return "doors" if name in DOORS or inspect.isfunction(value) else "values"


def list_names(module: str, kind: str | None = None) -> list[tuple[str, Any]]:
    """The public names of a module with their values; those of a kind alone."""
    loaded = import_module(module)
    named = [(name, getattr(loaded, name)) for name in sorted(loaded.__all__, key=rank_name)]
    return [(name, value) for name, value in named if kind in (None, choose_kind(name, value))]


def rank_name(name: str) -> tuple[int, str]:
    """The place of a name on its page: functions first, then the ways in by their order, then the others by name."""
    place = DOORS.index(name) if name in DOORS else len(DOORS)
    return -1 if name.islower() else place, name


class PublicNames(Directive):
    """`.. public-names:: MODULE` with what their docstrings say."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Callable[[str], Any]] | None] = {"kind": directives.unchanged_required}

    def run(self) -> Sequence[nodes.Node]:
        """Let autodoc describe each name."""
        module = self.arguments[0]
        lines: list[str] = []
        for name, value in list_names(module, self.options.get("kind")):
            if isinstance(value, type):
                lines += [f".. autoclass:: {module}.{name}", "   :members:", "   :undoc-members:", ""]
            else:
                lines += [f".. autofunction:: {module}.{name}", ""]
        parent = nodes.Element()
        self.state.nested_parse(StringList(lines, source=module), self.content_offset, parent)
        return parent.children


class ErrorTable(Directive):
    """`.. error-table::`: each class of error, what it is, and what the command line and the service answer."""

    def run(self) -> Sequence[nodes.Node]:
        """Return the table."""
        lines = [
            ".. list-table::",
            "   :header-rows: 1",
            "",
            *format_row("class", "what it says", "is a", "exit", "HTTP"),
        ]
        for name, error in list_names("muniment", "errors"):
            says, base = inspect.getdoc(error) or "", error.__base__.__name__
            code, status = get_exit_code(error.__new__(error)), find_status(error)
            lines += format_row(f":py:class:`~muniment.{name}`", says.splitlines()[0], base, str(code), str(status))
        parent = nodes.Element()
        self.state.nested_parse(StringList(lines, source="errors"), self.content_offset, parent)
        return parent.children


def format_row(*cells: str) -> Iterator[str]:
    """The lines of a row."""
    for number, cell in enumerate(cells):
        yield f"   {'* -' if number == 0 else '  -'} {cell}"


def mark_code(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Write a docstring as Sphinx reads it: an indented block is code, a star is a star, and code may have a plural."""
    if what == "attribute" and not any(lines):
        lines[:] = [read_comment(name)]
    for number, line in enumerate(lines):
        following = next((each for each in lines[number + 1 :] if each.strip()), "")
        if line.endswith(":") and following.startswith("    ") and not line.startswith("    "):
            lines[number] = f"{line}:"
        elif not line.startswith("    "):
            lines[number] = _PLURAL.sub(r"\1\\ ", line.replace("*", r"\*"))


def read_comment(name: str) -> str:
    """What the comment in the line of a field says; `name` is the dotted name of the field."""
    owner, _, field = name.rpartition(".")
    module, _, kind = owner.rpartition(".")
    found = getattr(import_module(module), kind, None)
    source = inspect.getsource(found) if isinstance(found, type) else ""
    match = re.search(rf"^    {field}: .*?  # (.+)$", source, flags=re.MULTILINE)
    return match[1] if match else ""


def check_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of a public name that no page describes."""
    described = env.get_domain("py").data["objects"]
    for module in MODULES:
        for name, _ in list_names(module):
            if f"{module}.{name}" not in described:
                _logger.warning("no page describes %s.%s", module, name)


def point_inside(app: Sphinx, page: str, source: list[str]) -> None:
    """Let links to files beside `docs` lead to the pages that include them."""
    for outside, inside in PAGES.items():
        source[0] = source[0].replace(f"](../{outside}", f"]({inside}")


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls. All names are imported first: autodoc imports as type checkers do, which not all bear."""
    for module in MODULES:
        list_names(module)
    app.add_directive("public-names", PublicNames)
    app.add_directive("error-table", ErrorTable)
    app.connect("source-read", point_inside)
    app.connect("autodoc-process-docstring", mark_code)
    app.connect("env-check-consistency", check_names)
    return {"parallel_read_safe": True}
