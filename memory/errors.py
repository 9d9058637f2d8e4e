"""One small tree of errors: the message is the docstring, the data is on the instance."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Self


class MunimentError(RuntimeError):  # of a kind whose messages LangGraph's server shows; it hides those of most others
    """Something went wrong in Muniment."""

    def __init__(self, detail: str | None = None, **data: Any) -> None:
        self.data = data
        headline = (type(self).__doc__ or "").strip().splitlines()[0]
        super().__init__(detail or headline)


class BadConfig(MunimentError):
    """The configuration is not valid."""


class WrongEmbedder(BadConfig):
    """The vectors of this database or space come from another embedding model."""


class EditedMigration(BadConfig):
    """A migration that was applied before has been edited since."""


class TemplateError(BadConfig):
    """The template of the proxy is missing, or has no place for the memories."""


class NotInitialized(BadConfig):
    """The folder of the proxy is not made yet: `muniment proxy init` makes it."""


class InitInterrupted(BadConfig):
    """`muniment proxy init` was interrupted: run it again."""


class BadInput(MunimentError):
    """The input is not valid."""


class TooLarge(BadInput):
    """The input is longer than the limit."""


class OnlySecret(BadInput):
    """The text is not kept for its secret, and for nothing else."""


class NotStorable(BadInput):
    """The database cannot hold a value."""


class TokenConfigError(BadInput):
    """The configuration of the token is not valid."""


class ProtocolMismatch(BadInput):
    """The store of items speaks another version."""


class DuplicateMemory(BadInput):
    """Another memory says this by now: forget that one first."""


class KeyReused(BadInput):
    """The idempotency key belongs to another request: give each request a key of its own."""


class Denied(MunimentError):
    """The agent may not read what it asked for."""


class NotPermitted(Denied):
    """The token does not permit this."""


class Unauthorized(MunimentError):
    """The token is not known, or it is revoked or has expired."""


class NotFound(MunimentError):
    """There is no such memory."""


class NoCheckpoint(NotFound):
    """There is no such thread or checkpoint, or none any more."""


class TokenDeleted(NotFound):
    """The token whose memory is written is revoked or gone; nothing is kept of what its programs still say."""


class NoSession(NotFound):
    """There is no such session, or none any more."""


class CuratedFileError(MunimentError):
    """A curated file cannot be read or written."""


class FileChanged(CuratedFileError):
    """A curated file was changed by somebody else meanwhile."""


class StoreError(MunimentError):
    """The database could not do it."""


class StoreDown(StoreError):
    """The database cannot be reached."""


class RemoteStoreError(StoreDown):
    """The store of items behind HTTP cannot do it."""

    def __init__(self, operation: str, category: str, status: int | None = None) -> None:
        """Say which operation failed, why, and with which status where one was answered. Nothing of the request or the
        answer is in it."""
        suffix = f", status {status}" if status is not None else ""
        super().__init__(
            f"The store of items failed: {operation}, {category}{suffix}.",
            operation=operation,
            category=category,
            status=status,
        )
        self.operation, self.category, self.status = operation, category, status

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, int | None]]:
        return type(self), (self.operation, self.category, self.status)


class StoreFull(StoreError):
    """The database has no space left to write."""


class Conflict(StoreError):
    """The space changed between reading and writing."""


class Busy(Conflict):
    """Another process is at it; try again later."""

    @classmethod
    def from_process(cls, doing: str, way: str, *, since: datetime | None = None, pid: int | None = None) -> Self:
        """Return the error that names the work of the other process, its start and its id in Postgres where known, and
        advice."""
        if since is None:
            return cls(f"{doing}: {way}")
        began = since.astimezone(UTC)
        return cls(
            f"{doing}, since {began:%Y-%m-%d %H:%M} UTC (process {pid} of Postgres): {way}",
            since=began.isoformat(),
            pid=pid,
        )


class CopyDiffers(StoreError):
    """What was copied does not read as in its source."""


class ModelError(MunimentError):
    """The model or the embedder could not answer."""


class ModelTimeout(ModelError):
    """The model did not answer in time."""


class ModelRateLimited(ModelError):
    """The model's provider asks to slow down."""


class ModelUnavailable(ModelError):
    """The model cannot be reached."""


class BadModelAnswer(ModelError):
    """The model's answer cannot be used."""


class BadExtraction(BadModelAnswer):
    """What the model extracted cannot be used."""


class BatchFailed(ModelError):
    """The model's endpoint cannot answer the batch."""


class GatewayError(MunimentError):
    """The memory gateway could not do it."""

    def __init__(self, operation: str, path: str, category: str, status: int | None = None) -> None:
        """Say which operation failed, at which path, why, and with which status where one was answered. Nothing of the
        request or the answer is in it."""
        suffix = f", status {status}" if status is not None else ""
        super().__init__(
            f"The memory gateway failed: {operation} (POST {path}), {category}{suffix}.",
            operation=operation,
            path=path,
            category=category,
            status=status,
        )
        self.operation, self.path, self.category, self.status = operation, path, category, status

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str, int | None]]:
        return type(self), (self.operation, self.path, self.category, self.status)


class NotReady(MunimentError):
    """What is waited for is not there yet."""


class OverBudget(ModelError):
    """The tenant's budget of the day is used up."""
