"""`config`: shown by stages, changed with a check, and told who did it."""

from __future__ import annotations

from tests.faces.conftest import Muniment


def test_changed_shown_and_told(muniment: Muniment) -> None:
    """A change is in force in the next process; the history has both values, and a reset brings the file back."""
    assert muniment("config", "set", "recall.top_k", "3").out == "recall.top_k: 8 -> 3\n"
    shown = muniment("config", "show", "--stage", "retrieval", "--json").json
    assert [stage["stage"] for stage in shown["stages"]] == ["retrieval"]
    (top_k,) = [each for each in shown["stages"][0]["settings"] if each["key"] == "recall.top_k"]
    assert (top_k["value"], top_k["default"], top_k["source"]) == (3, 8, "override")
    assert "recall.top_k\t3\toverride of" in muniment("config", "show").out
    for text in ("Rome", "Oslo", "Porto", "Lima", "Kyiv"):
        muniment("remember", f"My friend in {text} likes tea")
    asked = ("query", "who likes tea?", "--agent", "supervisor", "--json")
    assert len(muniment(*asked).json["results"]) == 3
    assert muniment("config", "set", "recall.top_k", "--reset", "--json").json["changes"][0]["is_reset"]
    assert len(muniment(*asked).json["results"]) == 5
    assert [(row["former"], row["value"]) for row in muniment("config", "history", "--json").json] == [(3, 8), (8, 3)]
    assert "command line" in muniment("config", "history").out
    assert muniment("config", "history", "--stage", "gates").out == ""


def test_what_is_refused(muniment: Muniment) -> None:
    """A refusal names the key and what is allowed, never the value; a revision that is given has to be the last."""
    for wrong, allowed in (
        (("recall.top_k", "-1"), "a whole number of at least 1"),
        (("recall.top_k=canary-7",), "a whole number of at least 1"),
        (("recall.topk", "1"), "did you mean recall.top_k?"),
        (("serve.burst", "1"), "is not a setting of any stage"),
        (("database.silent_seconds", "7"), "is not a setting of any stage"),
        (("embedders.default.auto", "0.1"), "auto >= check"),
        (("recall.top_k",), "KEY=VALUE"),
    ):
        refused = muniment("config", "set", *wrong)
        assert refused.code == 2, wrong
        assert allowed in refused.err
        assert "canary" not in refused.err
    assert muniment("config", "show", "--stage", "all").code == 2
    assert muniment("config", "set", "recall.top_k", "3", "--rev", "0").code == 0
    late = muniment("config", "set", "recall.top_k", "4", "--rev", "0", "--json")
    assert (late.code, late.json["error"]["rev"]) == (6, 1)


def test_several_at_once(muniment: Muniment) -> None:
    """Bands that fit together only together are changed together; of several, one that is wrong stops all."""
    both = ("embedders.default.auto=0.5", "embedders.default.check=0.4")
    assert muniment("config", "set", *both).code == 0
    assert muniment("config", "set", "recall.gate=0.4", "recall.threshold=7").code == 2
    assert len(muniment("config", "history", "--json").json) == 2
