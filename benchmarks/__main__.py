"""Every benchmark that can run: `python -m benchmarks [FILE]`; recall needs a LoCoMo file."""

from __future__ import annotations

import sys

from benchmarks import latency, recall, replies, writing

if __name__ == "__main__":
    files = sys.argv[1:]
    if not files:
        print("recall: left out; give a LoCoMo file: python -m benchmarks FILE", file=sys.stderr)
    sys.exit(max([*(recall.main([file]) for file in files), latency.main([]), writing.main([]), replies.main([])]))
