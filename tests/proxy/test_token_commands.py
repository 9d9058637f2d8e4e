"""`muniment proxy token`: the same calls as the endpoints, with keys from where nobody reads them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muniment.testing import ScriptedOpenAI
from tests.http.conftest import PROGRAM
from tests.proxy.conftest import Proxy
from tests.tokens import KEYS, make_fields

PLAIN = {"memory_llm_provider": "rules", "embed_provider": "offline"}


def call(proxy: Proxy, *arguments: str, said: str = "", code: int = 0, **env: str) -> str:
    """The standard output of a command of tokens."""
    done = subprocess.run(
        [PROGRAM, "proxy", "token", *arguments, "--folder", str(proxy.folder)],
        env=proxy.environment | env, input=said, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == code, done.stderr + done.stdout
    assert not any(key in done.stdout + done.stderr for key in KEYS.values())
    return done.stdout


def test_all_of_it(proxy: Proxy, upstream: ScriptedOpenAI, tmp_path: Path) -> None:
    """Made from a file, a variable and settings, used, listed, shown, changed, rotated, deleted."""
    file = tmp_path / "token.json"
    fields = make_fields(upstream, **PLAIN)
    del fields["llm_api_key"]
    file.write_text(json.dumps(fields))
    made = json.loads(
        call(
            proxy, "create", "--file", str(file), "--key-env", "llm_api_key=MY_KEY", "--set", "memory_limit=8", "--json",
            MY_KEY=KEYS["llm_api_key"],
        )
    )  # fmt: skip
    token, id_ = made["token"], made["id"]
    assert made["memory_limit"] == 8
    assert proxy.chat(token, "hello").status_code == 200
    assert upstream.requests[-1].headers["authorization"] == f"Bearer {KEYS['llm_api_key']}"
    listed = json.loads(call(proxy, "list", "--json"))
    assert made | {"token": f"****{token[-4:]}"} in listed
    assert id_[:8] in call(proxy, "list")
    assert token not in call(proxy, "show", id_[:8])
    assert json.loads(call(proxy, "show", id_[:8], "--json"))["llm_api_key"] == "****nary"
    changed = json.loads(
        call(
            proxy,
            "update",
            id_[:8],
            "--file",
            "-",
            "--set",
            "memory_prompt=",
            "--json",
            said='{"llm_api_key": "sk-from-stdin"}',
        )
    )
    assert (changed["revision"], changed["memory_prompt"], changed["llm_api_key"]) == (2, None, "****tdin")
    assert proxy.chat(token, "hello").status_code == 200
    assert upstream.requests[-1].headers["authorization"] == "Bearer sk-from-stdin"
    rotated = call(proxy, "rotate", id_[:8]).strip()
    assert proxy.chat(token, "hello").status_code == 401
    assert proxy.chat(rotated, "hello").status_code == 200
    assert call(proxy, "delete", id_[:8]) == f"deleted {id_[:8]}\n"
    assert proxy.chat(rotated, "hello").status_code == 401
    call(proxy, "show", id_[:8], code=4)


def test_erased(proxy: Proxy, upstream: ScriptedOpenAI) -> None:
    """A token whose memory goes with it leaves a receipt; without a yes nothing is changed."""
    made = json.loads(call(proxy, "create", "--file", "-", "--json", said=json.dumps(make_fields(upstream, **PLAIN))))
    assert proxy.chat(made["token"], "My parrot is called Zephyr").status_code == 200
    call(proxy, "delete", made["id"], "--erase", code=2)
    assert proxy.chat(made["token"], "hello").status_code == 200
    deleted = json.loads(call(proxy, "delete", made["id"], "--erase", "--yes", "--json"))
    assert deleted["erased"]["counts"]["tokens"] == 1
    assert proxy.chat(made["token"], "hello").status_code == 401


@pytest.mark.parametrize(
    ("arguments", "said", "told"),
    [
        (("create", "--set", "llm_api_key=sk-upstream-c4nary"), "", "--set: llm_api_key is a key"),
        (("create", "--set", "memory_limit"), "", "--set: FIELD=VALUE is wanted"),
        (("create", "--set", "sk-upstream-c4nary=1"), "", "--set: there is no such field"),
        (("create", "--key-env", "llm_api_key=NOT_SET"), "", "--key-env: llm_api_key: the variable is empty"),
        (("create", "--key-env", "memory_limit=HOME"), "", "--key-env: there is no such field"),
        (("create", "--file", "/nonexistent"), "", "--file: /nonexistent: cannot be read"),
        (("create", "--file", "-"), "[]", "--file: standard input: is no JSON object"),
        (("create", "--file", "-"), '{"x": 1}', "a field is unknown"),
        (
            ("create", "--file", "-", "--set", "memory_limit=many"),
            json.dumps(make_fields()),
            "memory_limit: is text of",
        ),
        (("update", "0000"), "", "nothing is to be changed"),
        (("update", "0000", "--set", "memory_limit=2"), "", "no token has an id that begins with 0000"),
        (("show", "x"), "", "that is no id"),
    ],
)
def test_what_is_refused(proxy: Proxy, arguments: tuple[str, ...], said: str, told: str) -> None:
    """One line says what is wrong, and no key."""
    done = subprocess.run(
        [PROGRAM, "proxy", "token", *arguments, "--folder", str(proxy.folder)],
        env=proxy.environment, input=said, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode in (2, 4), done.stderr
    assert done.stderr.startswith(f"muniment: error: {told}")
    assert done.stderr.count("\n") == 1
    assert "c4nary" not in done.stderr


def test_keys_are_asked_for(proxy: Proxy, upstream: ScriptedOpenAI, tmp_path: Path) -> None:
    """On a terminal, without showing what is typed; they are in no argument of the process."""
    fields: dict[str, Any] = make_fields(upstream, **PLAIN)
    for name in KEYS:
        del fields[name]
    file = tmp_path / "token.json"
    file.write_text(json.dumps(fields))
    control, terminal = pty.openpty()
    with subprocess.Popen(
        [PROGRAM, "proxy", "token", "create", "--file", str(file), "--json", "--folder", str(proxy.folder)],
        env=proxy.environment, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, start_new_session=True,
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = b""
        while b"llm_api_key" not in shown:
            shown += os.read(control, 1_000)
        arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        os.write(control, f"{KEYS['llm_api_key']}\n".encode())
        assert process.stdout is not None
        made = json.loads(process.stdout.read())
    os.close(control)
    assert KEYS["llm_api_key"].encode() not in shown + arguments
    assert proxy.chat(made["token"], "hello").status_code == 200
    assert upstream.requests[-1].headers["authorization"] == f"Bearer {KEYS['llm_api_key']}"


def test_a_folder_that_is_not_made(proxy: Proxy, tmp_path: Path) -> None:
    """The code that says so."""
    done = subprocess.run(
        [PROGRAM, "proxy", "token", "list", "--folder", str(tmp_path)],
        env=proxy.environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 9
    assert "muniment proxy init" in done.stderr
