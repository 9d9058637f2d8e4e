"""Consent: what waits for a person's yes, what does not need one, and what became of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.consolidation import Finding, Pair
from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import Conflict, NotFound
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, said, scope, settings, statement


async def profile(memory: Memory, as_of: Revision | None = None) -> list[str]:
    """The fields of the structured profile as a prompt has them."""
    lines = (await memory.brief(scope(thread="P"), "supervisor", "Hello!", as_of=as_of)).stable.splitlines()
    return [line.removeprefix("- ") for line in lines if not line.startswith("- [")]


async def waiting(memory: Memory) -> list[tuple[str, str]]:
    return sorted((one.field, one.value) for one in await memory.list_consents(scope()))


async def decisions(memory: Memory) -> list[tuple[Any, ...]]:
    """What the history says of consent, oldest first."""
    lines = [one.meta for one in await memory.history(scope()) if "consent" in one.meta]
    return [(one["consent"], one.get("field"), one.get("value"), one["by"]) for one in lines][::-1]


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("Call me Ana.", "preferred_name", "Ana"),
        ("My pronouns are she/her.", "pronouns", "she/her"),
        ("I live in Porto.", "city", "Porto"),
        ("Please answer in French.", "language", "French"),
        ("叫我小明。", "preferred_name", "小明"),
        ("我住在北京。", "city", "北京"),
        ("请用中文回答我。", "language", "中文"),
    ],
)
async def test_a_sensitive_field_needs_a_yes(database_url: str, text: str, field: str, value: str) -> None:
    """However often it is said, the field stays as it is until a person approves; the statement is remembered at
    once."""
    async with engine(database_url) as memory:
        first = await memory.learn(scope(), said(text))
        assert [(one.field, one.value, one.old) for one in first.consent_requests] == [(field, value, None)]
        assert len(first.changes) == 1
        for _ in range(3):
            await memory.learn(scope(), said(text))
        assert await profile(memory) == []
        (request,) = await memory.list_consents(scope())
        assert len(request.turns) == 4
        await memory.decide_consents(scope(), [request.id], approve=True, by="ana")
        assert await profile(memory) == [f"{field}: {value}"]
        assert await waiting(memory) == []
        assert await decisions(memory) == [("approved", field, value, "ana")]


async def test_a_no_is_kept_and_not_asked_again(database_url: str) -> None:
    """A rejected value is in the history, its statement is gone, and it is not proposed again for thirty days."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        (request,) = (await memory.learn(scope(), said("I live in Porto."))).consent_requests
        await memory.decide_consents(scope(), [request.id], approve=False)
        assert await memory.list(scope()) == []
        assert (await memory.brief(scope(thread="P"), "supervisor", "Where do I live?")).stable == ""
        assert (await memory.learn(scope(), said("I live in Porto."))).consent_requests == ()
        assert await profile(memory) == []
        assert await decisions(memory) == [("rejected", "city", "Porto", "ana")]
        clock.advance(timedelta(days=30).total_seconds() - 1)
        assert (await memory.learn(scope(), said("I live in Porto.", at=clock.now()))).consent_requests == ()
        clock.advance(2)
        assert len((await memory.learn(scope(), said("I live in Porto.", at=clock.now()))).consent_requests) == 1


async def test_seven_days_are_the_end_of_it(database_url: str) -> None:
    """A request lives for seven days, then it is expired, in the history too, and cannot be approved."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        (request,) = (await memory.learn(scope(), said("Call me Ana."))).consent_requests
        assert request.expires_at == NOON + timedelta(days=7)
        clock.advance(timedelta(days=7).total_seconds() - 1)
        assert await memory.jobs.expire_consents(scope()) == 0
        assert await waiting(memory) == [("preferred_name", "Ana")]
        clock.advance(1)
        with pytest.raises(NotFound):
            await memory.decide_consents(scope(), [request.id], approve=True)
        assert await waiting(memory) == []
        assert await decisions(memory) == [("expired", "preferred_name", "Ana", "time")]
        assert [one.decision for one in await memory.list_consents(scope(), decided=True)] == ["expired"]
        assert await profile(memory) == []
        assert len((await memory.learn(scope(), said("Call me Ana.", at=clock.now()))).consent_requests) == 1


async def test_the_job_ends_it_too(database_url: str) -> None:
    """A job that is due after the last request's time does what reading would have done."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.learn(scope(), said("Call me Ana."))
        assert (await memory.engine.store.jobs.count_jobs())["expire"]
        clock.advance(timedelta(days=9).total_seconds())
        await memory.jobs.perform_job(Job(name="expire", scope=scope(), key="2026-05-11"))
        assert await decisions(memory) == [("expired", "preferred_name", "Ana", "time")]


@pytest.mark.parametrize(
    ("texts", "fields"),
    [
        (["Keep answers brief."], []),
        (["Keep answers brief."] * 2, ["tone: brief"]),
        (["I want to learn Rust.", "Hello!", "I want to learn Rust. It looks fun."], ["goals: learn Rust"]),
        (["I want to learn Rust.", "I want to learn Go."], []),
        (["我想学吉他。", "我想学吉他。"], ["goals: 学吉他"]),
    ],
)
async def test_benign_fields_apply_after_two_signals(database_url: str, texts: list[str], fields: list[str]) -> None:
    """Tone and goals change by themselves once two turns say the same, and the history tells why."""
    async with engine(database_url) as memory:
        for text in texts:
            receipt = await memory.learn(scope(), said(text))
        assert await profile(memory) == fields
        assert [line[0::3] for line in await decisions(memory)] == [("approved", "signals")] * len(fields)
        assert not fields or receipt.consent_requests == ()


async def test_the_same_turn_twice_is_one_signal(database_url: str) -> None:
    """A turn that is learned again, after a crash, does not speak for itself."""
    async with engine(database_url) as memory:
        turn = said("Keep answers brief.", key="1")
        for _ in range(3):
            await memory.learn(scope(), turn)
        assert await profile(memory) == []


async def test_a_newer_value_takes_the_place_of_what_waits(database_url: str) -> None:
    """One value waits for a field at a time; an approved one gives way to the next approved, which knows it."""
    async with engine(database_url) as memory:
        for place in ("Porto", "Lisbon"):
            (request,) = (await memory.learn(scope(), said(f"I live in {place}."))).consent_requests
            assert await waiting(memory) == [("city", place)]
        await memory.decide_consents(scope(), [request.id], approve=True)
        (third,) = (await memory.learn(scope(), said("I live in Braga."))).consent_requests
        assert third.old == "Lisbon"
        assert await profile(memory) == []  # the newer statement stands alone
        await memory.decide_consents(scope(), [third.id], approve=True)
        assert await profile(memory) == ["city: Braga"]
        assert (await memory.learn(scope(), said("I live in Braga."))).consent_requests == ()
        kept = await memory.list_consents(scope(), decided=True)
        assert sorted((one.value, one.decision) for one in kept) == [
            ("Braga", "approved"),
            ("Lisbon", "replaced"),
            ("Porto", "replaced"),
        ]


async def test_a_decision_is_no_news_of_a_memory(database_url: str) -> None:
    """The memory that supports a field stays as recent as it was, and no thread is told that it changed."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        receipt = await memory.learn(scope(), said("I live in Porto."))
        brief = await memory.brief(scope(thread="B"), "supervisor", "Hello!")
        await memory.conversation.mark_seen(scope(thread="B"), brief.rev)
        clock.advance(3600)
        await memory.decide_consents(scope(), [one.id for one in receipt.consent_requests], approve=True)
        after = await memory.brief(scope(thread="B"), "supervisor", "Hello!")
        assert (after.header, after.rev) == ("", brief.rev + 1)
        assert after.stable.splitlines() == ["- city: Porto", "- [profile] The user lives in Porto"]
        assert (await memory.get(scope(), receipt.changes[0].after.id)).updated_at == NOON


async def test_what_is_forgotten_is_in_no_field(database_url: str) -> None:
    """The field goes and comes with the memory that it rests on; said anew after that, it is asked about anew."""
    async with engine(database_url) as memory:
        held = (await memory.learn(scope(), said("I live in Porto."))).changes[0].after.id
        (request,) = await memory.list_consents(scope())
        await memory.decide_consents(scope(), [request.id], approve=True, by="ana")
        await memory.forget(scope(), held)
        assert await profile(memory) == []
        await memory.restore(scope(), held)
        assert await profile(memory) == ["city: Porto"]
        await memory.learn(scope(), said("Forget that I live in Porto."))
        again = await memory.learn(scope(), said("I live in Porto."))
        assert [(one.value, one.old) for one in again.consent_requests] == [("Porto", None)]
        await memory.decide_consents(scope(), [again.consent_requests[0].id], approve=True, by="ana")
        assert await profile(memory) == ["city: Porto"]


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("I live in Porto.", "by hand"),
        ("I live in Porto.", "in words"),
        ("I live in Porto.", "corrected"),
        ("I want to learn Rust.", "by time"),
    ],
)
async def test_what_rests_on_nothing_waits_no_longer(database_url: str, text: str, way: str) -> None:
    """A request is withdrawn with the memory that it rests on, however that goes, and the history says so; it cannot be
    approved, not even when the memory is back, and is asked anew when it is said again."""
    clock, tuned = FixedClock(NOON), settings(database_url)
    forgetting = tuned.forgetting.model_copy(update={"scopes": {"user": 6}})
    async with engine(database_url, clock=clock, tuned=tuned.model_copy(update={"forgetting": forgetting})) as memory:
        held = (await memory.learn(scope(), said(text))).changes[0].after
        (request,) = await memory.list_consents(scope())
        if way == "by hand":
            assert [one.action for one in (await memory.forget(scope(), held.id)).changes] == ["DELETE"]
        elif way == "in words":
            assert len((await memory.learn(scope(), said("Forget where I live."))).changes) == 1
        elif way == "by time":
            clock.advance(timedelta(days=6).total_seconds())
            assert (await memory.admin.maintain(scope())).forgotten == 1
        else:
            assert held.fact is not None
            where = replace(held.fact, object="a house by the sea that has no address and no name")
            elsewhere = replace(statement(f"The user lives in {where.object}", held.category), fact=where)
            (change,) = (await memory.keep_candidates(scope(), (elsewhere,), (said("It has no address."),))).changes
            assert change.after.id == held.id
        by = "another memory" if way == "corrected" else "forgetting"
        (left,) = await memory.list_consents(scope(), decided=True)
        assert (left.decision, left.decided_by, left.decided_at) == ("withdrawn", by, clock.now())
        assert await decisions(memory) == [("withdrawn", request.field, request.value, by)]
        await memory.restore(scope(), held.id)
        with pytest.raises(NotFound):
            await memory.decide_consents(scope(), [request.id], approve=True)
        assert await profile(memory) == []
        assert len((await memory.learn(scope(), said(text, at=clock.now()))).consent_requests) == 1


async def test_a_consolidation_withdraws_and_is_undone_all_the_same(database_url: str) -> None:
    """What gives way takes its request along, also where it was an heir before; undone, all are back, and nobody is
    asked."""
    async with engine(database_url) as memory:
        held = (await memory.learn(scope(), said("I live in Porto."))).changes[0].after
        for end in (".", ".."):
            twin = Candidate(text=f"The user lives in Porto{end}", category="profile", turns=(TurnId(uuid4()),))
            await memory.ingest(scope(), [twin])
        others = sorted((one for one in await memory.list(scope()) if one.id != held.id), key=lambda one: one.text)
        await memory.pin(scope(), others[1].id)
        run = await memory.admin.begin_run(scope())
        for other in others:
            now = await memory.admin.get_many(scope(), [held.id, other.id])
            pair = Pair(older=now[held.id], newer=now[other.id], sim=1.0)
            assert run is not None
            run = await memory.admin.apply_run(run, [Finding(pair=pair, judgement="same", source="rules")])
        assert run is not None
        run = await memory.admin.end_run(run)
        assert (await memory.get(scope(), held.id)).superseded_by == others[1].id
        assert await waiting(memory) == []
        assert await decisions(memory) == [("withdrawn", "city", "Porto", "another memory")]
        undone = await memory.admin.undo_consolidation(scope(), run.id)
        assert (undone.restored, undone.left) == (3, 0)
        assert (await memory.get(scope(), held.id)).state == "active"
        assert await waiting(memory) == []


async def test_what_waits_for_a_forgotten_memory_is_not_approved(database_url: str) -> None:
    """Also where it waits since before it was withdrawn with it; a no is taken."""
    async with engine(database_url) as memory:
        held = (await memory.learn(scope(), said("I live in Porto."))).changes[0].after.id
        (request,) = await memory.list_consents(scope())
        await memory.forget(scope(), held)
        with psycopg.connect(database_url) as admin:
            admin.execute("update muniment.consent_requests set decision = 'pending'")
        with pytest.raises(NotFound, match="say it again"):
            await memory.decide_consents(scope(), [request.id], approve=True)
        assert await waiting(memory) == [("city", "Porto")]
        await memory.decide_consents(scope(), [request.id], approve=False)
        assert await waiting(memory) == []


async def test_the_profile_is_for_those_who_may_read_it(database_url: str) -> None:
    """An agent without the category sees no field, and another user none at all."""
    async with engine(database_url) as memory:
        receipt = await memory.learn(scope(), said("I live in Porto."))
        await memory.decide_consents(scope(), [one.id for one in receipt.consent_requests], approve=True)
        assert (await memory.brief(scope(), "planner", "Hello!")).stable == ""
        assert (await memory.brief(scope("ben"), "supervisor", "Hello!")).stable == ""
        assert await memory.list_consents(scope("ben"), decided=True) == []


async def test_all_or_none(database_url: str) -> None:
    """Several requests are decided together; an unknown one among them leaves all as they are."""
    async with engine(database_url) as memory:
        receipt = await memory.learn(scope(), said("Call me Ana. I live in Porto. My pronouns are she/her."))
        ids = [one.id for one in receipt.consent_requests]
        assert len(ids) == 3
        with pytest.raises(NotFound):
            await memory.decide_consents(scope(), [*ids, uuid4()], approve=True)
        with pytest.raises(NotFound):
            await memory.decide_consents(scope("ben"), ids, approve=True)
        assert len(await waiting(memory)) == 3
        await memory.decide_consents(scope(), [*ids, ids[0]], approve=True)
        assert await profile(memory) == ["preferred_name: Ana", "pronouns: she/her", "city: Porto"]
        with pytest.raises(NotFound):
            await memory.decide_consents(scope(), ids[:1], approve=False)


async def test_two_deciders_make_one_decision(database_url: str) -> None:
    """A plan that decides what another has decided in the meantime is a conflict, and nothing of it is kept."""
    async with engine(database_url) as memory:
        (request,) = (await memory.learn(scope(), said("Call me Ana."))).consent_requests
        await memory.decide_consents(scope(), [request.id], approve=True, by="first")
        late = replace(request, decision="rejected", decided_at=NOON, decided_by="second")
        rev = (await memory.brief(scope(), "supervisor", "Hello!")).rev
        plan = WritePlan(scope=scope(), expected_rev=rev, node="face", at=NOON, decisions=(late,))
        with pytest.raises(Conflict):
            await memory.engine.store.writes.commit(plan)
        assert [line[::3] for line in await decisions(memory)] == [("approved", "first")]
        assert await profile(memory) == ["preferred_name: Ana"]
