"""What is installed: the wheel made from the source archive, and the editable checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.notice import NOTICE, build_notice

pytestmark = [pytest.mark.xdist_group("packaging"), pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[1]
FOLDERS = ("faces", "graph", "nodes", "agent", "plugin", "chain", "memory", "config", "migrations")
LOOK = """
import sys
from importlib.metadata import entry_points, version
from importlib.resources import files

import muniment

print(muniment.__file__)
assert version("muniment") == muniment.__version__
assert muniment.load_settings({}).categories["goals"].rag_length == 20
for package, suffix in (
    ("config", ".yaml"), ("migrations", ".sql"), ("memory.stores.postgres.sql", ".sql"),
    ("memory.rules.language.lexicons", ".yaml"), ("faces.console.templates", ".html"),
):
    folder = files("muniment").joinpath(*package.split("."))
    assert [one.name for one in folder.iterdir() if one.name.endswith(suffix) and one.read_bytes()], package
from muniment.memory.prompts import load_prompt
from muniment.testing import ScriptedOpenAI
assert load_prompt("extract").version.startswith("extract-") and ScriptedOpenAI().requests == []
(command,) = entry_points(group="console_scripts", name="muniment")
assert callable(command.load())
"""


def run(*command: str | Path, cwd: Path) -> str:
    """What the command prints; its complaint, if it fails, is the test's."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MUNIMENT_"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command[:4]} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment(folder: Path) -> Path:
    """The Python of a fresh environment that has the dependencies of this one, but not this project."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return folder / "bin/python"


def install(python: Path, *what: str | Path) -> None:
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--no-build-isolation", "--ignore-installed", *what, cwd=python.parents[2])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the unpacked source archive and not from the checkout."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_holds_every_file(wheel: Path) -> None:
    """Code, SQL, prompts and settings are in it under one name, and nothing else is."""
    folders = [(ROOT / name, f"muniment/{name}") for name in FOLDERS]
    wanted = (
        {
            f"{inside}/{path.relative_to(folder).as_posix()}"
            for folder, inside in folders
            for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        | {f"muniment/{name}" for name in ("__init__.py", "__main__.py", "langchain.py", "py.typed")}
        | {f"muniment/testing/{path.name}" for path in (ROOT / "src/muniment/testing").glob("*.py")}
    )
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == wanted


def test_the_wheel_works_where_there_is_no_checkout(wheel: Path, tmp_path: Path) -> None:
    """Installed into a fresh environment, it finds its data files, and its command starts."""
    python = environment(tmp_path / "fresh")
    install(python, wheel)
    assert str(tmp_path / "fresh") in run(python, "-c", LOOK, cwd=tmp_path)
    for command in ((python.with_name("muniment"),), (python, "-m", "muniment")):
        assert "Usage: muniment" in run(*command, "--help", cwd=tmp_path)


def test_the_notice_names_every_package() -> None:
    """The licences of what is installed are in NOTICE, and NOTICE is in the wheel's metadata."""
    missing = set(build_notice().splitlines()) - set(NOTICE.read_text(encoding="utf-8").splitlines())
    assert not missing, "make notice writes it anew"


def test_an_editable_install_sees_new_files(tmp_path: Path) -> None:
    """A file that is added to a top-level folder after the installation can be imported at once."""
    copy = tmp_path / "checkout"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "tests", "benchmarks", "docs", "build", "dist")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    python = environment(tmp_path / "fresh")
    install(python, "--editable", copy)
    assert str(copy) in run(python, "-c", LOOK, cwd=tmp_path)
    (copy / "memory/rules/brand_new.py").write_text("ANSWER = 42\n", encoding="utf-8")
    assert (
        run(python, "-c", "from muniment.memory.rules.brand_new import ANSWER as a; print(a)", cwd=tmp_path) == "42\n"
    )


def test_the_public_surface_is_lazy() -> None:
    """Importing the package loads none of it; every promised name can be had, and no other."""
    code = (
        "import sys, muniment\n"
        "assert not [m for m in sys.modules if m.startswith('muniment.') or m in {'psycopg', 'pydantic', 'numpy'}]\n"
        "missing = [name for name in muniment.__all__ if getattr(muniment, name).__module__.split('.')[0] != "
        "'muniment']\n"
        "assert not missing, missing\n"
        "assert set(muniment.__all__) <= set(dir(muniment))\n"
        "assert not hasattr(muniment, 'nothing')\n"
    )
    run(sys.executable, "-c", code, cwd=ROOT)


def test_every_error_is_public() -> None:
    """The public surface has the whole error tree."""
    code = (
        "import muniment, muniment.memory.errors as errors\n"
        "tree = {name for name, one in vars(errors).items() if isinstance(one, type)"
        " and issubclass(one, errors.MunimentError)}\n"
        "assert tree <= set(muniment.__all__), tree - set(muniment.__all__)\n"
    )
    run(sys.executable, "-c", code, cwd=ROOT)
