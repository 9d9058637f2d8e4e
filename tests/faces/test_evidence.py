"""`verify` and `anchor` at the command line."""

from __future__ import annotations

from pathlib import Path

from tests.faces.conftest import Muniment


def test_a_journal_is_verified_and_anchored(muniment: Muniment, tmp_path: Path) -> None:
    """A journal is whole, also beside an anchor of it; who has none is told so, and gets no file."""
    file = tmp_path / "anchors.json"
    refused = muniment("anchor", "export", "--user", "ana", "--out", str(file))
    assert (refused.code, file.exists()) == (4, False)
    assert "no journal of 'ana'" in refused.err
    assert muniment("verify", "--user", "ana").code == 4
    assert muniment("anchor", "export", "--all", "--out", str(file)).out.startswith("0 anchors written")
    muniment("remember", "The cello is rented until May", "--user", "ana")
    assert muniment("anchor", "export", "--user", "ana", "--out", str(file)).out.startswith("1 anchor written")
    assert muniment("anchor", "check", str(file)).out.startswith("1 anchor of ")
    verified = muniment("verify", "--user", "ana", "--anchor", str(file))
    assert verified.code == 0
    assert "whole" in verified.out
    assert "anchored at revision 1" in verified.out
    assert "1 line, 1 memory, 0 former versions" in verified.out
    muniment("remember", "The harp is tuned", "--user", "ben")
    assert "no anchor of it" in muniment("verify", "--user", "ben", "--anchor", str(file)).out
    beyond = muniment("verify", "--user", "ana", "--since", "9")
    assert (beyond.code, beyond.out) == (2, "")
