"""Compile Citus, start a coordinator and two workers, and run tests on them."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.citus import suite
from tests.citus.build import build_citus
from tests.citus.cluster import start_cluster

ROOM_BYTES = 4 * 2**30


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(prog="tests/citus/run", description=__doc__)
    parser.add_argument("sources", type=Path, nargs="?", help="a checkout of Citus, of its release 14")
    parser.add_argument("--list", action="store_true", help="print the test files, and run none")
    parser.add_argument("--tests", nargs="+", metavar="TEST", help="what pytest runs instead of these files")
    parser.add_argument("--workers", type=int, default=2, help="how many tests run at once")
    parser.add_argument("--cache", type=Path, default=_choose_cache(), help="where the compiled server is kept")
    asked = parser.parse_args()
    if asked.list:
        print(*suite.list_files(), sep="\n")
        return 0
    if asked.sources is None:
        parser.error("name a checkout of Citus")
    binaries = build_citus(asked.sources, asked.cache)
    with start_cluster(binaries, _choose_folder()) as cluster, tempfile.TemporaryDirectory() as folder:
        return suite.run_tests(
            cluster, binaries, asked.tests or suite.list_files(), asked.workers, Path(folder) / "report.xml"
        )


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
