"""Every benchmark that can run: `python -m benchmarks [FILE…]`; recall, ablation and silence need LoCoMo files."""

from __future__ import annotations

import sys

from benchmarks import (
    ablation,
    bands,
    conversation,
    embedding,
    importing,
    latency,
    prompts,
    recall,
    replies,
    silence,
    writing,
)

if __name__ == "__main__":
    files = sys.argv[1:]
    if not files:
        print("recall, ablation, silence: left out; give a LoCoMo file: python -m benchmarks FILE", file=sys.stderr)
    done = [one.main([file]) for file in files for one in (recall, ablation, silence)]
    others = (bands, conversation, prompts, latency, embedding, writing, importing, replies)
    sys.exit(max([*done, *(one.main([]) for one in others)]))
