"""Driver errors become the errors of `memory.errors`, without what could carry the text of a memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from muniment.memory.config.settings import format_embedder_setting
from muniment.memory.errors import (
    BadConfig,
    Conflict,
    Denied,
    MunimentError,
    NotStorable,
    StoreDown,
    StoreError,
    StoreFull,
    TokenDeleted,
    WrongEmbedder,
)

DRIVER_ERRORS = (psycopg.Error, UnicodeEncodeError)
FULL = (errors.DiskFull,)
SILENT = (errors.IdleInTransactionSessionTimeout,)  # this process was cut off, or suspended, in a transaction
STALE = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
# Operational errors of a healthy database: the statement took too long, or what it writes is too large.
DURING_STATEMENT = (errors.QueryCanceled, errors.ProgramLimitExceeded, errors.StatementTooComplex)
DATA_CLASS = "22"
_OF_ERASED = ("_space_fk", "relations_from_fk", "relations_to_fk")  # what refers to a space, or to a memory
_OF_SWITCH = "embedders_one_active"
_OF_SHARD = re.compile(r'"(\w+)_\d+"')
# What the coordinator of Citus says without a code of its own when it has lost a node.
_NODE_LOST = re.compile(
    r"could not commit transaction for shard \d+ on|server closed the connection|connection not open|"
    r"no connection to the server|could not (?:receive data from|send data to) server"
)
SWITCHED = "MU002"  # `muniment.expect_embedder` refuses
WITHDRAWN = "MU005"  # `muniment.hold_token` refuses
# A search in another role; a statement that this connection has not prepared, or has prepared before.
POOLER_STATES = ("MU003", "26000", "42P05")


@contextmanager
def translate_errors(doing: str = "") -> Iterator[None]:
    """Run a block that calls Postgres; `doing` leads the message ("migration 0001_spaces.sql").

    Raises what `translate_error` returns. The cause is cut off: its DETAIL would show the row in a traceback."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise translate_error(error, doing) from None


def translate_error(error: psycopg.Error | UnicodeEncodeError, doing: str = "") -> MunimentError:
    """Return StoreDown (no connection, or none free), StoreFull (disk), Conflict (another transaction was first),
    Denied (row-level security or a missing grant), WrongEmbedder, TokenDeleted, BadConfig (behind a pooler) or
    StoreError (the rest), each with `sqlstate` and `constraint` in its data, and NotStorable for a text that Postgres
    cannot hold."""
    if isinstance(error, UnicodeEncodeError):
        return NotStorable("a name or a text has half a character (a lone surrogate)")
    if isinstance(error, errors.UntranslatableCharacter) or (
        isinstance(error, psycopg.DataError) and error.sqlstate is None and "NUL" in str(error)
    ):
        return NotStorable("a name or a text has a NUL")
    if error.sqlstate == SWITCHED:
        return build_wrong_embedder(error.diag.message_primary or "", error.diag.message_detail or "", "space")
    if error.sqlstate == WITHDRAWN:
        return TokenDeleted("the token of this memory is deleted")
    if error.sqlstate in POOLER_STATES:
        return BadConfig(
            "the connection to Postgres lost what it was set to: a pooler that cannot be told from Postgres hands "
            "it on with each transaction; let its pool be one of sessions, or name Postgres itself "
            "(MUNIMENT_DATABASE_URL)"
        )
    return _build_error(error, doing)


def build_wrong_embedder(used: str, configured: str, what: str = "database") -> WrongEmbedder:
    """Return the error of a process whose embedder is not the database's or the space's, with both ways out."""
    setting = format_embedder_setting(configured)
    return WrongEmbedder(
        f"the vectors of this {what} come from {used!r}, the configured embedder is {configured!r}: "
        f"set MUNIMENT_EMBEDDER={format_embedder_setting(used)}, or run `muniment embedder switch {setting}`",
        database=used,
        configured=configured,
    )


def _build_error(error: psycopg.Error, doing: str) -> StoreError | Denied:
    message = ": ".join(part for part in (doing, _build_message(error)) if part)
    kind: type[StoreError | Denied] = StoreError
    if isinstance(error, FULL):
        kind = StoreFull
    elif isinstance(error, STALE):
        kind = Conflict
    elif isinstance(error, errors.ForeignKeyViolation) and (_find_constraint(error) or "").endswith(_OF_ERASED):
        kind, message = Conflict, f"it was erased while somebody wrote into it ({error.sqlstate})"
    elif _find_constraint(error) == _OF_SWITCH:
        kind, message = Conflict, f"another embedder came into use at this moment ({error.sqlstate})"
    elif isinstance(error, errors.InsufficientPrivilege):
        kind = Denied
    elif _is_connection_lost(error):
        kind = StoreDown
    return kind(message, sqlstate=error.sqlstate, constraint=_find_constraint(error))


def _is_connection_lost(error: psycopg.Error) -> bool:
    if isinstance(error, errors.InternalError_):
        return _NODE_LOST.match(error.diag.message_primary or "") is not None
    lost = (psycopg.OperationalError, psycopg.InterfaceError, *SILENT)
    return isinstance(error, lost) and not isinstance(error, DURING_STATEMENT)


def _find_constraint(error: psycopg.Error) -> str | None:
    """Return the violated constraint. Citus names the shard's, in the node's message alone."""
    if error.diag.constraint_name or not isinstance(error, psycopg.IntegrityError):
        return error.diag.constraint_name
    constraints = _OF_SHARD.findall(error.diag.message_primary or "")
    return constraints[-1] if constraints else None


def _build_message(error: psycopg.Error) -> str:
    state = error.sqlstate
    if state is None:
        return _build_connection_message(error)
    # A data exception quotes the value that did not fit: its code has to be enough.
    primary = None if state.startswith(DATA_CLASS) else error.diag.message_primary
    return f"{primary or type(error).__name__} ({state})"


def _build_connection_message(error: psycopg.Error) -> str:
    """Return the message of libpq or the pool, unless it has an @: then it may quote the password of an address."""
    lines = str(error).strip().splitlines()
    if not isinstance(error, psycopg.OperationalError) or not lines or "@" in lines[0]:
        return type(error).__name__
    return lines[0]
