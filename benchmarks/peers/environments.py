"""The environment of the peers: made by the benchmark, installed from pinned versions, kept for the next run."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import venv
from pathlib import Path

from benchmarks.peers.peer import PeerFailed

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PATIENCE = 1_800.0  # seconds for an installation
_MARK = "installed.txt"


async def ensure_environment(folder: Path, requirements: Path = REQUIREMENTS, patience: float = PATIENCE) -> Path:
    """Return the interpreter of an environment with exactly these requirements; it is made where it is not there.

    Raises PeerFailed with the last line of what pip says where they do not install."""
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = await asyncio.to_thread(_digest, requirements)
    mark = folder / _MARK
    if python.exists() and mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return python
    if await asyncio.to_thread(_is_foreign, folder):
        raise PeerFailed(f"does not install: {folder.name} is no virtual environment, and is left as it is")
    print(f"peers: an environment for them is made, which takes minutes: {folder.name}", file=sys.stderr)
    try:
        await asyncio.to_thread(venv.create, folder, clear=True, with_pip=True)
    except OSError as error:
        raise PeerFailed(f"does not install: {error.strerror}") from None
    await _install(python, requirements, patience)
    mark.write_text(wanted, encoding="utf-8")
    return python


async def _install(python: Path, requirements: Path, patience: float) -> None:
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements))
    process = await asyncio.create_subprocess_exec(
        *pip, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(patience):
            said, _ = await process.communicate()
    except TimeoutError:
        raise PeerFailed(f"does not install: pip took more than {patience:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        lines = [line for line in said.decode(errors="replace").splitlines() if line.startswith("ERROR")]
        raise PeerFailed(f"does not install: {lines[-1] if lines else f'pip ended with {process.returncode}'}")


def _is_foreign(folder: Path) -> bool:
    """Whether there is something that no environment is: it would be lost."""
    return folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists()


def _digest(requirements: Path) -> str:
    """What the environment was made of: the requirements and the interpreter."""
    return hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
