"""One exchange over HTTP: what is sent, and what comes back of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

FailureCategory: TypeAlias = Literal["timeout", "connection", "encoded", "too_large"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request. Its headers and its body, which may hold secrets, are made where they are sent: nothing that is raised
    has them."""

    method: Literal["GET", "POST"]
    url: str
    encode_body: Callable[[], bytes]
    make_headers: Callable[[], Mapping[str, str]]
    wanted_headers: tuple[str, ...] = ()  # of the answer, in lower case; no other is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An answer that came whole, whatever its status, with the headers that were wanted."""

    status: int
    content: bytes = field(repr=False)  # words of the other end, which may repeat a secret
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_success(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFailure:
    """Why there is no answer that could be read, with the status where one came."""

    category: FailureCategory
    status: int | None = None
