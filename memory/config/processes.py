"""The settings of processes: threads and checkpoints of the graph, the database, workers and the service."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from muniment.memory.config.schema import Count, Days, Seconds, SettingsPart


class Checkpoints(SettingsPart):
    """How the supervisor's messages are saved with LangGraph's checkpoints, when the chat saves a turn, and what stays:
    so many of the newest of each namespace of a thread, and threads that somebody has touched within so many days, null
    for all."""

    messages: Literal["whole", "delta"]
    durability: Literal["sync", "async", "exit"]
    keep: Count
    ttl_days: Days | None


class Threads(SettingsPart):
    """How many tokens of a thread's messages go before a model."""

    max_tokens: Count


class Database(SettingsPart):
    """How long a connection waits for a sign of the other end, in seconds, before it counts as lost."""

    silent_seconds: Annotated[int, Field(ge=2, le=3600)]


class Jobs(SettingsPart):
    """How the worker works: jobs at once, and seconds without a heartbeat after which a job's worker counts as dead."""

    concurrency: Count
    stalled_seconds: Seconds


class Serving(SettingsPart):
    """What the HTTP service takes: bytes of a body and of an import, rows of an import, seconds of a request and of an
    import or export, seconds of its end, requests and streams of a token, and where spans go."""

    body_bytes: Count
    import_bytes: Count
    import_rows: Count
    timeout_seconds: Seconds
    transfer_seconds: Seconds
    notice_seconds: Annotated[float, Field(ge=0)]
    drain_seconds: Count
    mcp_write: bool  # whether MCP has tools that write
    requests_per_second: Count
    burst: Count
    streams: Count
    traces_url: str | None


class CuratedFolder(SettingsPart):
    """Where the curated files are, null for `curated` in the home folder, and how many characters each may have."""

    folder: Annotated[str, Field(min_length=1)] | None
    memory_chars: Annotated[int, Field(ge=1, le=100_000)]
    user_chars: Annotated[int, Field(ge=1, le=100_000)]


class Gatewaying(SettingsPart):
    """How the gateway runs: where it listens, the agent by whose allowlist it recalls and for which its users' keys
    are, and whether `muniment serve` has it, too, below /gateway."""

    host: Annotated[str, Field(min_length=1)]
    port: Annotated[int, Field(ge=0, le=65_535)]
    agent: Annotated[str, Field(min_length=1)]
    beside_serve: bool


class Users(SettingsPart):
    """Where a run of the graph has to name its user; else it is the user `me`."""

    required: Literal["always", "server", "never"]


LogLevel: TypeAlias = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


class Proxying(SettingsPart):
    """How the proxy runs: from which level on it logs, where it listens, seconds for the upstream, for memory before a
    request and for memory after it, the template around memories, and bytes of a body."""

    log_level: LogLevel
    host: Annotated[str, Field(min_length=1)]
    port: Annotated[int, Field(ge=0, le=65_535)]
    http_timeout: Seconds
    memory_search_timeout: Seconds
    memory_store_timeout: Seconds
    template_path: Annotated[str, Field(min_length=1)]  # from the folder of the proxy
    body_bytes: Count
