"""Writes the golden files anew: `python -m tests.golden`, with `--inputs` from inputs that are collected anew."""

from __future__ import annotations

import argparse
import sys

from tests.golden import inputs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--inputs", action="store_true", help="collect the inputs anew from the tests and benchmarks")
    parser.add_argument("files", nargs="*", metavar="FILE", help="golden files; all when left out")
    args = parser.parse_args()
    if args.inputs:
        inputs.freeze()
    from tests.golden import areas  # reads the inputs

    if unknown := set(args.files) - areas.PURE.keys() - areas.STORED.keys():
        parser.error(f"no golden file {min(unknown)}; known: {', '.join([*areas.PURE, *areas.STORED])}")
    wanted = args.files or [*areas.PURE, *areas.STORED]
    made = {name: make() for name, make in areas.PURE.items() if name in wanted}
    stored = {name: make for name, make in areas.STORED.items() if name in wanted}
    if stored:
        with areas.server() as database:
            made |= {name: make(database()) for name, make in stored.items()}
    for name, text in made.items():
        path = inputs.HERE / "outputs" / name
        path.parent.mkdir(exist_ok=True)
        changed = not path.exists() or path.read_bytes() != text.encode()
        path.write_bytes(text.encode())
        sys.stdout.write(f"{name}: {len(text.encode()):,} bytes{', changed' if changed else ''}\n")


if __name__ == "__main__":
    main()
