"""Every benchmark that can run: `python -m benchmarks [FILE]`; recall needs a LoCoMo file."""

from __future__ import annotations

import sys

from benchmarks import bands, conversation, latency, recall, replies, writing

if __name__ == "__main__":
    files = sys.argv[1:]
    if not files:
        print("recall: left out; give a LoCoMo file: python -m benchmarks FILE", file=sys.stderr)
    done = [recall.main([file]) for file in files]
    sys.exit(max([*done, bands.main([]), conversation.main([]), latency.main([]), writing.main([]), replies.main([])]))
