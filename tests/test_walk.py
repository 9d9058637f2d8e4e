"""A turn and a query enter few files: whoever reads the code from one end to the other can hold it in mind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread

from tests.walk import ROOT, Walk

# The most files and functions that each may enter. They are only ever lowered.
CEILINGS = {"turn_files": 45, "turn_functions": 364, "query_files": 16, "query_functions": 95}

MODULE = """
class Shelf:
    def tidy(self):
        return sorted((n for n in [3, 1, 2]), key=lambda n: -n)

async def wait(n):
    import asyncio
    for _ in range(n):
        await asyncio.sleep(0)

def numbers():
    yield 1
    yield 2

def beside():
    def inside():
        return 1
    return inside()

def never():
    return 0
"""


def test_a_walk_enters_no_more_than_its_ceiling(cluster_url: str) -> None:
    """The command counts a turn and a query, each within its ceiling."""
    command = [sys.executable, "-m", "tests.walk", "--json"]
    environ = os.environ | {"MUNIMENT_TEST_DATABASE_URL": cluster_url}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts.keys() == CEILINGS.keys()
    over = {name: count for name, count in counts.items() if not 0 < count <= CEILINGS[name]}
    assert not over, f"{over}, allowed: {CEILINGS}; `python -m tests.walk --list` prints every function that is entered"


def test_what_counts(tmp_path: Path) -> None:
    """A `def` in a folder of the product counts once, in whichever thread; what is inside an expression does not."""
    for folder in ("memory", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shelf.py").write_text(MODULE, encoding="utf-8")
    walk = Walk(root=tmp_path.resolve(), folders=("memory",))
    with walk.installed():
        modules = []
        for folder in ("memory", "elsewhere"):
            spec = spec_from_file_location(f"{folder}_shelf", tmp_path / folder / "shelf.py")
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            with walk.counting():
                spec.loader.exec_module(module)
            modules.append(module)
        for module in modules:
            module.never()
            with walk.counting():
                module.Shelf().tidy()
                module.Shelf().tidy()
                asyncio.run(module.wait(3))
                list(module.numbers())
                beside = Thread(target=module.beside)
                beside.start()
                beside.join()
    assert walk.files == {"memory/shelf.py"}
    named = {one.name: count for one, count in walk.calls.items()}
    assert named == {"Shelf.tidy": 2, "wait": 1, "numbers": 1, "beside": 1, "beside.<locals>.inside": 1}
