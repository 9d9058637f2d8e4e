"""The benchmark of consolidation on a small space: it plants what it says, and tells a right merge from a wrong one."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from itertools import combinations

import pytest
import yaml

from benchmarks import consolidation, doubles
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import make_memory
from tests.engine import NOON


def records(world: doubles.World) -> list[StoredMemory]:
    return [make_memory(one.candidate, MemoryId(one.candidate.turns[0]), Scope(owner="x"), NOON) for one in world.said]


@pytest.mark.parametrize("half", doubles.HALVES)
def test_the_same_seed_makes_the_same_space(half: str) -> None:
    """So many of each kind, no text twice, and of any two it is known what they are to each other."""
    world, again = doubles.world(half, 400, 3), doubles.world(half, 400, 3)
    assert [one.candidate for one in world.said] == [one.candidate for one in again.said]
    assert [one.text for one in world.said] != [one.text for one in doubles.world(half, 400, 4).said]
    roles = [one.role for one in world.said]
    assert [roles.count(role) for role in ("base", "double", "change", "miss")] == [244, 60, 16, 80]
    assert len({one.text for one in world.said}) == 400
    pairs = [later.beside(earlier) for later in world.later for earlier in world.earlier]
    assert (pairs.count("same"), pairs.count("supersedes")) == (60, 16)
    assert all(a.person == b.person for a, b in combinations(world.said, 2) if b.beside(a) != "different")


def test_the_halves_have_no_statement_in_common() -> None:
    """What the rules were made better on is not what they are measured on."""
    said = [one.text for half in doubles.HALVES for one in doubles.world(half, 400, 3).said]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize("lang", [None, "zh"])
def test_a_hash_of_the_name_parts_fresh_from_sealed(lang: str | None) -> None:
    """Nobody has chosen which of the families written blind are looked at and which are not."""
    families = yaml.safe_load(doubles.DATA.read_text(encoding="utf-8"))["families"]
    blind = [one for one in families if one["half"] in doubles.BLIND and one.get("lang") == lang]
    blind.sort(key=lambda one: sha256(one["name"].encode()).digest())
    middle = (len(blind) + 1) // 2
    assert [one["half"] for one in blind] == ["fresh"] * middle + ["sealed"] * (len(blind) - middle)


def test_a_change_may_tell_the_value_before() -> None:
    """It is that of the statement it takes the place of."""
    world = doubles.world("fresh", 1_000, 3)
    olds = {one.line: one for one in world.earlier}
    told = [one for one in world.later if one.role == "change" and "instead of" in one.text]
    assert told
    assert all(one.text.split("instead of ")[1].split()[0] in olds[one.line].text for one in told)


def test_somebody_with_a_name_alike_stands_beside_somebody() -> None:
    """In a pool of lists the other one is of the same list; and nobody in one is somebody who is told of."""
    pools = yaml.safe_load(doubles.DATA.read_text(encoding="utf-8"))["pools"]
    alike = {name: names for pool in ("who", "who-zh", "dentist-zh") for names in pools[pool] for name in names}
    said, drive = doubles.world("unseen", 3_000, 3), " shares the drive to the refinery with "
    known = [one.text.split(drive) for one in said.earlier if drive in one.text]
    asides = [one.text.split(drive) for one in said.later if one.how == "apart" and drive in one.text]
    others = [(who, whom) for who, whom in asides if not who.endswith("'s trainee")]
    assert others
    assert all(any([who, one] in known for one in alike[whom] if one != whom) for who, whom in others)
    assert not alike.keys() & {one.person for one in said.said}


def test_a_wrong_merge_is_seen() -> None:
    """A double merged the right way counts; one of two people merged is the worst there is, and is named first."""
    world = doubles.world("tune", 400, 3)
    known = {world.said[n].text: one for n, one in enumerate(records(world))}
    double = next(one for one in world.later if one.role == "double")
    base = next(one for one in world.earlier if one.group == double.group)
    stranger = next(one for one in world.earlier if one.person != double.person)
    before = consolidation.quality(world, list(known.values()))
    assert (before["doubles_merged"], before["changes_superseded"], before["wrong"]) == (0, 0, 0)
    gone = replace(known[base.text], state="superseded", superseded_by=known[double.text].id)
    right = consolidation.quality(world, [*(known | {base.text: gone}).values()])
    assert (right["doubles_merged"], right["wrong"]) == (1, 0)
    gone = replace(known[base.text], state="superseded", superseded_by=known[stranger.text].id)
    wrong = consolidation.quality(world, [*(known | {base.text: gone}).values()])
    assert (wrong["doubles_merged"], wrong["wrong"], wrong["wrong_persons"]) == (0, 1, 1)
    assert wrong["wrong_pairs"] == [[base.text, stranger.text]]


def test_a_tiny_run(cluster_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """By the rules and by a model that never errs: nothing wrong, nothing left, and all of it taken back to the
    byte."""
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", cluster_url)
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash-256")
    assert consolidation.main(["--memories", "160", "--half", "tune", "--errors", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["halves"]["tune"]
    for one in found.values():
        assert (one["wrong"], one["wrong_persons"], one["undone_exactly"], one["duplicates_after"]) == (0, 0, True, 0)
    assert 0 < found["rules"]["doubles_merged"] < found["model"]["doubles_merged"]
    assert found["model"]["requests"] > 0
    assert found["rules"]["requests"] == 0


def test_what_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Too few memories, or a share that is none."""
    for wrong in (["--memories", "3"], ["--errors", "2"]):
        with pytest.raises(SystemExit):
            consolidation.main(wrong)
    assert "wanted" in capsys.readouterr().err
