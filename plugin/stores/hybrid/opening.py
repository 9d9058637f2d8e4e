"""Opens the hybrid store that the settings describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.memory.errors import BadConfig
from muniment.plugin.stores.hybrid.migrations import OUTBOX
from muniment.plugin.stores.hybrid.mirror import MirrorStore
from muniment.plugin.stores.hybrid.pacing import Pace
from muniment.plugin.stores.hybrid.sender import SendOptions
from muniment.plugin.stores.hybrid.store import HybridOptions, HybridStore
from muniment.plugin.stores.local.store import FILE_NAME, LocalOptions
from muniment.plugin.stores.remote.store import RemoteStore
from muniment.plugin.stores.scoring import make_weights

if TYPE_CHECKING:
    from muniment.memory.config.settings import Settings
    from muniment.memory.ports.embedders import Embedder
    from muniment.plugin.embedding import TextEmbedder

_SEND_SECONDS = 30.0  # for a request with operations; a search has its own, shorter time


def open_hybrid_store(
    settings: Settings, embedder: Embedder | TextEmbedder | None = None, *, is_automatic: bool = True
) -> HybridStore:
    """Return the store of the settings' file and server. Its file is opened, and its server asked, when it is used.

    Without an embedder the file is searched by words alone. With `is_automatic` off nothing is sent by itself. Raises
    BadConfig without an address or a token of the server."""
    plugin = settings.plugin
    if plugin.url is None:
        raise BadConfig("plugin.url: is missing; the address of `muniment serve` is wanted")
    if settings.plugin_token is None:
        raise BadConfig("MUNIMENT_PLUGIN_TOKEN: is missing; a token of the server is wanted")
    options = HybridOptions(
        gates=plugin.gates,
        remote_seconds=plugin.remote_seconds,
        sending=SendOptions(
            pace=Pace(writes_per_100_turns=plugin.gates.remote_writes_per_100_turns),
            outbox=plugin.outbox,
            send_seconds=_SEND_SECONDS,
        ),
        is_automatic=is_automatic,
    )
    remote = RemoteStore(plugin.url, settings.plugin_token, timeout_seconds=_SEND_SECONDS)
    return HybridStore(_open_file(settings, embedder), remote, options)


def _open_file(settings: Settings, embedder: Embedder | TextEmbedder | None) -> MirrorStore:
    plugin = settings.plugin
    options = LocalOptions(
        weights=make_weights(plugin),
        profile=None if embedder is None else settings.find_profile(embedder.name),
        duplicate_similarity=plugin.gates.duplicate_similarity,
        query_seconds=plugin.recall_seconds / 2,
        parts=(OUTBOX,),
    )
    path = settings.home / FILE_NAME if plugin.file is None else Path(plugin.file).expanduser()
    return MirrorStore(path, embedder=embedder, options=options)
