"""What pages load: styles, scripts and the icon, each under a name with its digest, so that a browser may keep it."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from muniment.memory.errors import NotFound

FOLDER = "/console/static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_KEPT = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent."""

    address: str
    media_type: str
    body: bytes
    zipped: bytes


@cache
def load_static_files() -> Mapping[str, StaticFile]:
    """Return the files by their names in the folder."""
    found = {}
    for each in (files(__package__) / "static").iterdir():
        stem, dot, suffix = each.name.rpartition(".")
        media_type = _TYPES.get(dot + suffix)
        if media_type is not None:
            body = each.read_bytes()
            digest = hashlib.sha256(body).hexdigest()[:16]
            address = f"{FOLDER}/{stem}.{digest}.{suffix}"
            found[each.name] = StaticFile(address, media_type, body, gzip.compress(body, mtime=0))
    return found


def locate_static(name: str) -> str:
    """Return the address of a file. Raises KeyError for one that there is not."""
    return load_static_files()[name].address


async def send_static(request: Request) -> Response:
    """Answer with a file under its name with the digest. Raises NotFound for any other name."""
    file = _list_addresses().get(f"{FOLDER}/{request.path_params['name']}")
    if file is None:
        raise NotFound
    headers = {"Cache-Control": _KEPT, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.zipped, 200, headers | {"Content-Encoding": "gzip"}, file.media_type)
    return Response(file.body, 200, headers, file.media_type)


@cache
def _list_addresses() -> Mapping[str, StaticFile]:
    return {file.address: file for file in load_static_files().values()}


@dataclass(frozen=True, slots=True)
class Vendored:
    """A file of somebody else, as `vendored.txt` lists it."""

    file: str
    name: str
    version: str
    licence: str
    sha256: str
    source: str


@cache
def list_vendored() -> tuple[Vendored, ...]:
    """Return the files of others: a line of `vendored.txt` has the fields of each, with bars between."""
    text = (files(__package__) / "static" / "vendored.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(Vendored(*(field.strip() for field in line.split("|"))) for line in lines)
