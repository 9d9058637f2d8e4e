"""Every benchmark that can run: `python -m benchmarks [FILE…]`; recall, ablation and silence need LoCoMo files."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks import (
    ablation,
    bands,
    building,
    cancel,
    checkpoints,
    consolidation,
    conversation,
    embedding,
    everyday,
    hostile,
    http_bodies,
    http_cost,
    importing,
    latency,
    meanwhile,
    nightly,
    on_demand,
    prompt_cache,
    prompts,
    recall,
    replies,
    serve,
    several_spaces,
    silence,
    turn,
    workers,
    writing,
)

_INTERRUPTED = 130


def main(files: Sequence[str]) -> int:
    """All of them, one after the other; the highest exit code. Ctrl-C ends the one that runs and starts no other."""
    if not files:
        print("recall, ablation, silence: left out; give a LoCoMo file: python -m benchmarks FILE", file=sys.stderr)
    of_files = [(one, [file]) for file in files for one in (recall, ablation, silence)]
    others = (
        conversation,
        building,
        everyday,
        bands,
        prompts,
        prompt_cache,
        on_demand,
        latency,
        embedding,
        writing,
        importing,
        checkpoints,
        consolidation,
        nightly,
        workers,
        meanwhile,
        replies,
        turn,
        cancel,
        hostile,
        http_cost,
        http_bodies,
        serve,
        several_spaces,
    )
    worst = 0
    for one, argv in [*of_files, *((one, []) for one in others)]:
        worst = max(worst, one.main(argv))
        if worst == _INTERRUPTED:
            break
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
