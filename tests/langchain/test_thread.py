"""A thread that is longer than what a model reads: what was said early is answered late, and prompts begin alike."""

from __future__ import annotations

from benchmarks import plugin_thread
from muniment.memory.config.settings import Settings


async def test_what_is_said_early_is_answered_late(settings: Settings) -> None:
    """Through `create_agent` with summarization, and through the supervisor graph with a limit."""
    report = await plugin_thread.measure(settings, turns=24, limit=1_500, agent_limit=400)
    for host in ("create_agent", "supervisor"):
        found = report[host]
        assert found["answered"], (host, found)
        assert found["has_left"], (host, found)
        assert found["most_tokens"] <= report["limits"][host], (host, found)
        assert found["prefix_whole"] >= 0.5, (host, found)
