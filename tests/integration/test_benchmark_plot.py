"""The plot of the benchmarks shows what their reports say."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks import plot


def test_the_plot_shows_what_reports_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reports in any order are one well-formed picture, the same to the byte, and the caption tells where and how."""
    machine = {"date": "2026-01-02", "cores": 2, "cpu": "a <CPU>", "load": 0.1, "system": "Linux", "python": "3.11",
        "postgres": "18",
               "shared_buffers": "128MB", "vector_extension": "0.8", "packages": {"muniment": "9.9"}}  # fmt: skip
    share = {"recall@5": 0.25, "recall@10": 0.5, "questions": 4}
    row = {"p50_ms": 10.0, "p95_ms": 100.0}
    reports = [
        {"clients": {"1": {"memory": row}, "8": {"memory": row}}, "users": 2, "memories": 3, "machine": machine},
        share | {"by_category": {"temporal": share}, "memories": 8, "machine": machine},
    ]
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, report in zip(files, reports, strict=True):
        file.write_text(json.dumps(report), encoding="utf-8")
    out, doc = tmp_path / "x.svg", tmp_path / "x.md"
    doc.write_text(f"above\n{plot.BEGIN}\nformer\n{plot.END}\nbelow\n", encoding="utf-8")
    told = ["--out", str(out), "--doc", str(doc)]
    assert plot.main([*map(str, files), *told]) == 0
    first = out.read_bytes()
    drawn = ET.fromstring(first)
    bars = [one for one in drawn.iter() if one.get("class") in ("near", "far")]
    room = plot.WIDTH - plot.LEFT - plot.RIGHT
    assert [float(one.get("width", "0")) / room for one in bars] == pytest.approx(
        [0.5, 0.25] * 2 + [1.0, 0.5] * 2, abs=1e-3
    )
    text = doc.read_text(encoding="utf-8")
    assert "former" not in text
    assert text.startswith("above\n")
    assert text.endswith("below\n")
    assert "![Recall and latency](x.svg)" in text
    assert "2026-01-02 · 2 cores a <CPU>" in text
    assert str(tmp_path) not in text
    assert plot.main([*map(str, reversed(files)), *told]) == 0
    assert out.read_bytes() == first
    files[0].write_text('{"other": 1}', encoding="utf-8")
    assert plot.main([str(files[0]), *told]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
