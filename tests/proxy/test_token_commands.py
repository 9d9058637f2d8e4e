"""`muniment proxy token`: the same calls as the endpoints, with keys from where nobody reads them."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muniment.faces.cli.app import run_command
from muniment.testing import ScriptedOpenAI
from tests.http.conftest import PROGRAM
from tests.proxy.conftest import Proxy
from tests.tokens import KEYS, make_fields

PLAIN = {"memory_llm_provider": "rules", "embed_provider": "offline"}


class Commands:
    """The commands of tokens, in this process, because that is quick."""

    def __init__(self, proxy: Proxy, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.proxy, self._patch, self._capture = proxy, patch, capture

    def run(self, *arguments: str, said: str = "", **env: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command."""
        with self._patch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said.encode())))
            for name in [name for name in os.environ if name.startswith("MUNIMENT_")]:
                patch.delenv(name)
            for name, value in (self.proxy.environment | env).items():
                patch.setenv(name, value)
            self._capture.readouterr()
            code = run_command(["proxy", "token", *arguments, "--folder", str(self.proxy.folder)])
        out, err = self._capture.readouterr()
        assert not any(key in out + err for key in KEYS.values())
        return code, out, err

    def call(self, *arguments: str, said: str = "", **env: str) -> str:
        """The standard output of a command that is done."""
        code, out, err = self.run(*arguments, said=said, **env)
        assert code == 0, err
        return out


@pytest.fixture
def commands(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(proxy, monkeypatch, capsys)


def test_all_of_it(commands: Commands, upstream: ScriptedOpenAI, tmp_path: Path) -> None:
    """Made from a file, a variable and settings, used, listed, shown, changed, rotated, deleted."""
    proxy, call = commands.proxy, commands.call
    file = tmp_path / "token.json"
    fields = make_fields(upstream, **PLAIN)
    del fields["llm_api_key"]
    file.write_text(json.dumps(fields))
    made = json.loads(
        call(
            "create",
            "--file",
            str(file),
            "--key-env",
            "llm_api_key=MY_KEY",
            "--set",
            "memory_limit=8",
            "--json",
            MY_KEY=KEYS["llm_api_key"],
        )
    )
    token, id_ = made["token"], made["id"]
    assert made["memory_limit"] == 8
    assert proxy.chat(token, "hello").status_code == 200
    assert upstream.requests[-1].headers["authorization"] == f"Bearer {KEYS['llm_api_key']}"
    listed = json.loads(call("list", "--json"))
    assert made | {"token": f"****{token[-4:]}"} in listed
    assert id_[:8] in call("list")
    assert token not in call("show", id_[:8])
    assert json.loads(call("show", id_[:8], "--json"))["llm_api_key"] == "****nary"
    changed = json.loads(
        call(
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
    rotated = call("rotate", id_[:8]).strip()
    assert proxy.chat(token, "hello").status_code == 401
    assert proxy.chat(rotated, "hello").status_code == 200
    assert call("delete", id_[:8]) == f"deleted {id_[:8]}\n"
    assert proxy.chat(rotated, "hello").status_code == 401
    assert commands.run("show", id_[:8])[0] == 4


def test_erased(commands: Commands, upstream: ScriptedOpenAI) -> None:
    """A token whose memory goes with it leaves a receipt; without a yes nothing is changed."""
    proxy, call = commands.proxy, commands.call
    made = json.loads(call("create", "--file", "-", "--json", said=json.dumps(make_fields(upstream, **PLAIN))))
    assert proxy.chat(made["token"], "My parrot is called Zephyr").status_code == 200
    assert commands.run("delete", made["id"], "--erase")[0] == 2
    assert proxy.chat(made["token"], "hello").status_code == 200
    deleted = json.loads(call("delete", made["id"], "--erase", "--yes", "--json"))
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
def test_what_is_refused(commands: Commands, arguments: tuple[str, ...], said: str, told: str) -> None:
    """One line says what is wrong, and no key."""
    code, _, err = commands.run(*arguments, said=said)
    assert code in (2, 4)
    assert err.startswith(f"muniment: error: {told}")
    assert err.count("\n") == 1
    assert "c4nary" not in err


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
        env=proxy.environment,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        start_new_session=True,
    ) as process:
        os.close(terminal)
        shown = b""
        while not shown.endswith(b"llm_api_key: ") and select.select([control], [], [], 40)[0]:
            shown += os.read(control, 1_000)
        arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        os.write(control, f"{KEYS['llm_api_key']}\n".encode())
        try:
            made = json.loads(process.communicate(timeout=40)[0])
        finally:
            process.kill()
    os.close(control)
    assert KEYS["llm_api_key"].encode() not in shown + arguments
    assert proxy.chat(made["token"], "hello").status_code == 200
    assert upstream.requests[-1].headers["authorization"] == f"Bearer {KEYS['llm_api_key']}"


def test_a_folder_that_is_not_made(commands: Commands, tmp_path: Path) -> None:
    """The code that says so."""
    commands.proxy = replace(commands.proxy, folder=tmp_path)
    code, _, err = commands.run("list")
    assert code == 9
    assert "muniment proxy init" in err
