"""The reports of a check: JSON, and the XML of JUnit that CI systems read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from xml.etree import ElementTree as ET

from muniment.faces.check.results import AssertionResult, CaseResult, Difference, count_outcomes

REPORT_VERSION = 1
# Characters that XML 1.0 cannot have, whatever they are written as.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MILLI = 1_000


def encode_results(results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return the results as JSON: counts, times in milliseconds, and each case with its assertions."""
    return {
        "format": REPORT_VERSION,
        **count_outcomes(results),
        "ms": round(_MILLI * sum(case.seconds for case in results), 1),
        "calls_ms": round(_MILLI * sum(case.calls_seconds for case in results), 1),
        "cases": [_encode_case(case) for case in results],
    }


def encode_difference(difference: Difference) -> dict[str, Any]:
    """Return an assertion that passes under one configuration alone, as JSON."""
    case, own, other = difference.case, difference.own, difference.other
    return {
        "file": case.file,
        "line": own.line,
        "case": case.name,
        "assertion": own.name,
        "own": own.outcome,
        "other": other.outcome,
        "found": own.found or other.found,
    }


def render_junit(results: Iterable[CaseResult], at: datetime) -> bytes:
    """Return the XML of JUnit: a suite for each case, and a test case for each of its assertions."""
    root = ET.Element("testsuites", name="muniment check")
    totals = {"tests": 0, "failures": 0, "errors": 0}
    seconds = 0.0
    for case in results:
        counts = count_outcomes([case])
        own = {"tests": len(case.assertions), "failures": counts["failed"], "errors": counts["error"]}
        suite = ET.SubElement(
            root,
            "testsuite",
            {
                "name": _clean_text(case.name),
                **{name: str(count) for name, count in own.items()},
                "skipped": "0",
                "time": f"{case.seconds:.3f}",
                "timestamp": at.isoformat(timespec="seconds"),
                "hostname": "localhost",
            },
        )
        for assertion in case.assertions:
            _add_assertion(suite, case, assertion)
        totals = {name: count + own[name] for name, count in totals.items()}
        seconds += case.seconds
    for name, count in totals.items():
        root.set(name, str(count))
    root.set("time", f"{seconds:.3f}")
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add_assertion(suite: ET.Element, case: CaseResult, assertion: AssertionResult) -> None:
    named = {
        "classname": _clean_text(f"{case.file}.{case.name}"),
        "name": _clean_text(assertion.name),
        "time": f"{assertion.seconds:.3f}",
    }
    test = ET.SubElement(suite, "testcase", named)
    if assertion.outcome == "passed":
        return
    kind = "failure" if assertion.outcome == "failed" else "error"
    said = _clean_text(assertion.found)
    found = ET.SubElement(test, kind, {"message": said, "type": assertion.outcome})
    found.text = f"{_clean_text(case.file)}:{assertion.line}: {said}"


def _encode_case(case: CaseResult) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "file": case.file,
        "line": case.line,
        "name": case.name,
        "outcome": case.outcome,
        "ms": round(_MILLI * case.seconds, 1),
        "calls_ms": round(_MILLI * case.calls_seconds, 1),
        "assertions": [_encode_assertion(each) for each in case.assertions],
    }
    return encoded | ({"error": case.error} if case.error else {})


def _encode_assertion(assertion: AssertionResult) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "line": assertion.line,
        "name": assertion.name,
        "outcome": assertion.outcome,
        "ms": round(_MILLI * assertion.seconds, 1),
    }
    return encoded | ({"found": assertion.found} if assertion.found else {})


def _clean_text(text: str) -> str:
    """A text without what XML cannot have: each such character becomes the replacement character."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
