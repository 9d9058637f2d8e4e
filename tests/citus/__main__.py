"""Compile Citus, start a coordinator and two workers, and run tests on them."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.citus import suite
from tests.citus.build import build_citus
from tests.citus.cluster import start_cluster
from tests.citus.failures import run_failures

ROOM_BYTES = 4 * 2**30


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(prog="tests/citus/run", description=__doc__)
    parser.add_argument("sources", type=Path, nargs="?", help="a checkout of Citus, of its release 14")
    parser.add_argument("--list", action="store_true", help="print the test files, and run none")
    parser.add_argument("--tests", nargs="+", metavar="TEST", help="what pytest runs instead of these files")
    parser.add_argument("--failures", action="store_true", help="kill nodes and move shards under clients that write")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each phase of the failures lasts")
    parser.add_argument("--workers", type=int, default=2, help="how many tests run at once")
    parser.add_argument("--cache", type=Path, default=_choose_cache(), help="where the compiled server is kept")
    asked = parser.parse_args()
    if asked.list:
        print(*suite.list_files(), sep="\n")
        return 0
    if asked.sources is None:
        parser.error("name a checkout of Citus")
    binaries = build_citus(asked.sources, asked.cache)
    os.environ["PATH"] = f"{binaries}{os.pathsep}{os.environ['PATH']}"  # `psql` is there
    with start_cluster(binaries, _choose_folder()) as cluster, tempfile.TemporaryDirectory() as folder:
        if asked.failures:
            return asyncio.run(run_failures(cluster, asked.seconds))
        return suite.run_tests(cluster, asked.tests or suite.list_files(), asked.workers, Path(folder) / "report.xml")


def _choose_cache() -> Path:
    """Return a folder that the account of a root session's Postgres can enter, too."""
    return Path(tempfile.gettempdir()) / f"muniment-citus-{os.geteuid()}"


def _choose_folder() -> Path:
    """Return where the servers' data go: into memory where there is room."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM_BYTES
    return memory if roomy else Path(tempfile.gettempdir())


if __name__ == "__main__":
    sys.exit(main())
