"""The shape of the code: ceilings, names, docstrings and tables. The rules and their exceptions are in tests/shape."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.shape.sizes import (
    BOUNDARIES,
    LONG,
    broad_excepts,
    busy_doors,
    crowded_packages,
    hidden_imports,
    long_files,
    long_functions,
    many_large_files,
    private_paths,
    skipped_formats,
    wide_ports,
)
from tests.shape.sources import FOLDERS, ROOT, Rule, WholeRule, code, definitions, product, tracked
from tests.shape.words import (
    SHORT,
    VERBS,
    participles,
    pointing_docstrings,
    short_names,
    undocumented,
    undocumented_packages,
)

DOORS = ("memory/client.py", "memory/admin.py", "memory/jobs.py")

Files = Callable[[], dict[str, str]]


def _python() -> dict[str, str]:
    return product() | code("tests", "benchmarks", "examples", "docs/site")


RULES: list[tuple[Rule, Files]] = [
    (long_files, _python),
    (long_functions, _python),
    (busy_doors, lambda: {path: (ROOT / path).read_text(encoding="utf-8") for path in DOORS}),
    (broad_excepts, product),
    (hidden_imports, product),
    (private_paths, tracked),
    (short_names, product),
    (participles, product),
    (pointing_docstrings, product),
    (skipped_formats, _python),
]
WHOLE: list[tuple[WholeRule, Files]] = [
    (many_large_files, product),
    (crowded_packages, product),
    (wide_ports, lambda: code("memory/ports")),
    (undocumented, product),
    (undocumented_packages, product),
]


@pytest.mark.parametrize(("rule", "files"), RULES, ids=[rule.__name__ for rule, _ in RULES])
def test_shape(rule: Rule, files: Files) -> None:
    """Every file keeps to the rule."""
    texts = files()
    assert texts
    complaints = [complaint for path, text in texts.items() for complaint in rule(path, text)]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(("rule", "files"), WHOLE, ids=[rule.__name__ for rule, _ in WHOLE])
def test_the_whole(rule: WholeRule, files: Files) -> None:
    """All files together keep to the rule."""
    texts = files()
    assert texts
    complaints = list(rule(texts))
    assert not complaints, "\n".join(complaints)


WRONG = [
    (long_files, "x = 1\n" * 401, True),
    (long_files, "x = 1\n" * 400, False),
    (long_functions, "class A:\n  async def f():\n" + "    x = 1\n" * 60, True),
    (long_functions, "def f():\n" + "    x = 1\n" * 59, False),
    (busy_doors, "def f():\n  'd'\n  if a:\n    b()\n  c()\n  d()\n", True),
    (busy_doors, "def f():\n  'd'\n  b()\n  c()\n  return d()\n", False),
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
    (short_names, "def f():\n  pass\n", True),
    (short_names, "class A:\n  async def status(self):\n    pass\n", True),
    (short_names, "if b:\n  def f():\n    pass\n", True),
    (
        short_names,
        "def read_all():\n  def f():\n    pass\ndef _f():\n  pass\nclass _A:\n  def status(self):\n    pass\n",
        False,
    ),
    (short_names, "class A:\n  def __len__(self):\n    pass\n  def close(self):\n    pass\n", False),
    (short_names, "class A:\n  @property\n  def status(self):\n    pass\n", False),
    (short_names, "class A:\n  @asynccontextmanager\n  async def reading(self):\n    pass\n", False),
    (short_names, "class A:\n  def mentions(self) -> bool:\n    pass\n", False),
    (short_names, "class A:\n  def mentions(self) -> str:\n    pass\n", True),
    (short_names, "@app.command()\ndef status():\n  pass\n", False),
    (participles, "def told():\n  pass\n", True),
    (participles, "class A:\n  def _kept(self):\n    pass\n", True),
    (participles, "def finished():\n  pass\n", True),
    (participles, "class A:\n  @property\n  def met(self):\n    pass\n", True),
    (participles, "class A:\n  def embed(self):\n    pass\n  @property\n  def removed(self):\n    pass\n", False),
    (participles, "def tell_all():\n  pass\ndef _moved():\n  pass\n", False),
    (pointing_docstrings, "def f():\n  'See `Store.look`.'\n", True),
    (pointing_docstrings, "class A:\n  'As Store.look'\n", True),
    (pointing_docstrings, "def f():\n  'See `Store.look`. Raises Conflict.'\n", False),
    (pointing_docstrings, "def f():\n  'Seed the store.'\n", False),
    (skipped_formats, "x = f(\n  a, b)  # fmt: skip\n", True),
    (skipped_formats, "# fmt: off\nx = (\n  1, 2,\n  3, 4,\n)\n", True),
    (skipped_formats, "x = [\n  b for b in (1, 2, 3, 4)\n]  # fmt: skip\n", True),
    (skipped_formats, "x = {\n  1, 2,\n  3, 4,\n}  # fmt: skip\n", False),
    (skipped_formats, "x = f([\n  1, 2,\n  3, 4,\n  ]\n)  # fmt: skip\n", False),
]


@pytest.mark.parametrize(("rule", "text", "wrong"), WRONG)
def test_the_rules_bite(rule: Rule, text: str, wrong: bool) -> None:
    """Each rule complains about what passes its ceiling, and about nothing just below it."""
    assert bool(list(rule("some.py", text))) is wrong


_PORT = "class A(Protocol):\n" + "".join(f"  def f{number}(self): ...\n" for number in range(7))
_OTHER_PORT = "class B(A, Protocol):\n" + "".join(f"  def g{number}(self): ...\n" for number in range(6))
WRONG_WHOLE = [
    (many_large_files, {f"{number}.py": "x\n" * 351 if number else "x\n" for number in range(2)}, True),
    (many_large_files, {f"{number}.py": "x\n" * 350 for number in range(2)}, False),
    (many_large_files, {f"{number}.py": "x\n" if number else "x\n" * 351 for number in range(20)}, False),
    (crowded_packages, {f"a/{number}.py": "" for number in range(16)}, True),
    (crowded_packages, {f"a/{number}.py": "" for number in range(15)} | {"a/__init__.py": "", "a/b/c.py": ""}, False),
    (wide_ports, {"a.py": _PORT, "b.py": _OTHER_PORT}, True),
    (wide_ports, {"a.py": _PORT, "b.py": _OTHER_PORT.replace("A, ", "")}, False),
    (undocumented, {"a.py": "x = 1\n"}, True),
    (undocumented, {"a.py": "'d'\ndef f():\n  pass\n"}, True),
    (undocumented, {"a.py": "'d'\nclass A:\n  pass\n"}, True),
    (undocumented, {"a.py": "'d'\nclass A:\n  'd'\n  def f(self):\n    pass\n"}, True),
    (undocumented, {"a.py": "'d'\nclass A:\n  'd'\n  def __init__(self):\n    pass\n", "b.py": ""}, False),
    (undocumented, {"a.py": "'d'\ndef _f():\n  pass\n@overload\ndef f(): ...\n"}, False),
    (undocumented, {"memory/stores/a.py": "'d'\nclass A:\n  'd'\n  def f(self):\n    pass\n"}, True),
    (
        undocumented,
        {
            "memory/stores/a.py": "'d'\nclass A:\n  'd'\n  def f(self):\n    pass\n",
            "memory/ports/a.py": "'d'\nclass B(Protocol):\n  'd'\n  def f(self):\n    'd'\n",
        },
        False,
    ),
    (undocumented_packages, {"a/__init__.py": "", "a/b.py": ""}, True),
    (undocumented_packages, {"a/__init__.py": "'d'\n", "a/b.py": ""}, False),
]


@pytest.mark.parametrize(("rule", "files", "wrong"), WRONG_WHOLE)
def test_the_rules_of_the_whole_bite(rule: WholeRule, files: dict[str, str], wrong: bool) -> None:
    """Each rule complains about what passes it, and about nothing just below it."""
    assert bool(list(rule(files))) is wrong


def test_the_exceptions_are_needed() -> None:
    """What an exception names is in the product, and a method is called by each verb."""
    there = {f"{path}::{name}": node for path, text in product().items() for name, node, _ in definitions(text)}
    assert {*SHORT, *BOUNDARIES} - {*there} == set()
    assert {path for path in LONG if path.partition("::")[0] not in product()} == set()
    assert VERBS - {node.name for node in there.values()} == set()


def test_the_map_is_true() -> None:
    """The files and the `Class.method` names of docs/architecture.md are there."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    paths = [f"/{path}" for path in tracked()]
    files = set(re.findall(r"`([\w/]+(?:\.(?:py|sql|yaml|md)|/))`", text))
    assert files
    assert {name for name in files if not any(f"/{name}" in f"{path}" for path in paths)} == set()
    methods = {
        f"{name.rpartition('.')[0]}.{node.name}" for text in product().values() for name, node, _ in definitions(text)
    }
    names = set(re.findall(r"`([A-Z]\w+\.[a-z]\w+)`", text))
    assert names
    assert names - methods == set()


@pytest.mark.parametrize("folder", FOLDERS)
def test_symlinks_join_the_folders(folder: str) -> None:
    """src/muniment has a link to each folder: what an editable install and the type checkers look at."""
    link = ROOT / "src/muniment" / folder
    assert link.is_symlink(), (
        f"src/muniment/{folder} is no symlink: git config core.symlinks true && git checkout -- src/muniment"
        " (CONTRIBUTING.md)"
    )
    assert link.readlink().as_posix() == f"../../{folder}", f"point src/muniment/{folder} at ../../{folder}"
