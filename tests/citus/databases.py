"""A Citus cluster for tests: what `MUNIMENT_TEST_DATABASE_URL` names is its coordinator, these are its workers."""

import os
import subprocess
import time
from importlib.resources import files

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

WORKERS = os.environ.get("MUNIMENT_TEST_CITUS_WORKERS", "").split()  # addresses of superusers, with a host and a port
SHARDS = 4
_FOLDER = files("muniment.migrations") / "citus"
_PATIENCE_SECONDS = 20.0
clustered = pytest.mark.skipif(not WORKERS, reason="MUNIMENT_TEST_CITUS_WORKERS names no Citus workers")
plain = pytest.mark.skipif(bool(WORKERS), reason="a plain Postgres has the functions of the migrations")


SCRIPT = (_FOLDER / "distribute.sql").read_text(encoding="utf-8")
POLICIES = SCRIPT[SCRIPT.index("do $$") : SCRIPT.index("end $$;") + len("end $$;")]


def on(node: str, statement: sql.Composed) -> None:
    with psycopg.connect(node, autocommit=True) as conn:
        conn.execute(statement)


def scripts() -> str:
    """What makes a cluster's database other than a plain one."""
    if not WORKERS:
        return ""
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("distribute.sql", "functions.sql"))


def restate_policies(url: str) -> None:
    """Give a plain database the policies that the script makes for Citus."""
    with psycopg.connect(url) as conn:
        conn.execute(POLICIES.encode())


def list_policies(url: str) -> list[tuple[str, ...]]:
    """Return what the catalogue says of every policy."""
    with psycopg.connect(url) as conn:
        return conn.execute("select * from pg_policies where schemaname = 'muniment' order by 1, 2, 3").fetchall()


def join(coordinator: str) -> None:
    """Make one cluster of the databases of one name."""
    name = str(conninfo_to_dict(coordinator)["dbname"])
    for node in (coordinator, *(make_conninfo(worker, dbname=name) for worker in WORKERS)):
        with psycopg.connect(node, autocommit=True) as conn:
            conn.execute("create extension citus")
    with psycopg.connect(coordinator, autocommit=True) as conn:
        conn.execute("select citus_set_coordinator_host(%s, %s::int)", _place(coordinator))
        for worker in WORKERS:
            conn.execute("select citus_add_node(%s, %s::int)", _place(worker))


def distribute(coordinator: str, shards: int = SHARDS) -> None:
    """Run the script as docs/scale.md says."""
    _run_script(coordinator, "distribute.sql", "-v", f"shards={shards}")


def undistribute(coordinator: str) -> None:
    """Run the script that takes it back."""
    _run_script(coordinator, "undistribute.sql")


def _run_script(coordinator: str, name: str, *options: str) -> None:
    command = ["psql", "-Xq", "-v", "ON_ERROR_STOP=1", *options, "-f", str(_FOLDER / name), coordinator]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def rename(node: str, draft: str, name: str) -> None:
    with psycopg.connect(node, autocommit=True) as conn:
        _alone(
            conn, draft, sql.SQL("alter database {} rename to {}").format(sql.Identifier(draft), sql.Identifier(name))
        )


def copy(admin: psycopg.Connection, template: str, name: str) -> None:
    """Clone a database of the node that the connection leads to, with what is set for its roles."""
    made = sql.SQL("create database {} template {} strategy file_copy").format(
        sql.Identifier(name), sql.Identifier(template)
    )
    _alone(admin, template, made)
    if not WORKERS:
        return
    with admin.transaction():  # two at once would meet in one row of a catalogue
        admin.execute("select pg_advisory_xact_lock(hashtext('settings'))")
        for role, setting in admin.execute(
            """select r.rolname, unnest(s.setconfig) from pg_db_role_setting s join pg_database d
              on d.oid = s.setdatabase
            left join pg_roles r on r.oid = s.setrole where d.datname = %s""",
            (template,),
        ).fetchall():
            key, value = setting.split("=", 1)
            whose = sql.SQL("role {} in").format(sql.Identifier(role)) if role else sql.SQL("")
            admin.execute(
                sql.SQL("alter {} database {} set {} = {}").format(
                    whose, sql.Identifier(name), sql.SQL(key), sql.Literal(value)
                )
            )


def drop(admin: psycopg.Connection, name: str) -> None:
    """Drop a database of the node that the connection leads to, if it is there."""
    if admin.execute("select from pg_database where datname = %s", (name,)).fetchone() is not None:
        _alone(admin, name, sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def _alone(conn: psycopg.Connection, database: str, statement: sql.Composed) -> None:
    """Run it while nobody uses the database: a cluster's daemons come back by themselves."""
    if not WORKERS or database == "template0":
        conn.execute(statement)
        return
    with conn.transaction():  # two at once would meet in the row of a template
        conn.execute("select pg_advisory_xact_lock(hashtext('connections'))")
        conn.execute(sql.SQL("alter database {} allow_connections false").format(sql.Identifier(database)))
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        conn.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (database,))
        try:
            conn.execute(statement)
        except psycopg.errors.ObjectInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _place(url: str) -> tuple[str, str]:
    parts = conninfo_to_dict(url)
    return str(parts["host"]), str(parts["port"])
