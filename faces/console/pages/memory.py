"""One memory: its words, where they come from and who was told them; and what a person does with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.forms import Form
from muniment.faces.console.memories.differences import Part, compare_words
from muniment.faces.console.memories.erasures import describe_losses, find_losses, sum_losses
from muniment.faces.console.memories.picture import HEIGHT, WIDTH, place_spots
from muniment.faces.console.memories.stretches import join_passages
from muniment.faces.console.visits import Visit, make_action, make_page
from muniment.faces.http.routes.erasure import erase_with_receipt
from muniment.memory.domain.console.memories import MemoryVersion, Recall
from muniment.memory.domain.erasure import Traces
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import Neighbour, StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.turn import Passage
from muniment.memory.errors import BadInput, Conflict

_VERSIONS = 50  # that are shown, the newest
_PASSAGES = 3  # turns that are shown in their place, the latest
_AROUND = 2  # turns before and after each
_RECALLS = 20
_SHORT_ID = 8
_REV_DIGITS = 18  # of a revision, which is a bigint
_COMPARED = ("category", "importance", "state", "trust", "pinned", "aliases", "expires_at")
_RESTORED = ("text", "category", "importance", "aliases")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVersion:
    """A version of a memory, with what it made of the one before it."""

    version: MemoryVersion
    words: Sequence[Part] = ()  # empty where the words stayed
    changes: Sequence[tuple[str, object, object]] = ()  # what else is new: its name, before and after
    can_return: bool = False  # whether the memory may say this again


async def show_memory(visit: Visit) -> Response:
    """Show a memory with all that is known about it."""
    memory = await visit.caller.find_memory(visit.request.path_params["memory_id"])
    versions = await visit.reads.memories.list_versions(visit.reader, memory.id, _VERSIONS)
    related = await _find_related(visit, memory)
    heir = await _find_heir(visit, memory)
    return visit.render_page(
        "memory.html",
        memory=memory,
        heir=heir,
        short_id=str(memory.id)[:_SHORT_ID],
        versions=_compare_versions(memory, versions),
        related=related,
        spots=place_spots([each.sim for each in related]),
        picture=(WIDTH, HEIGHT),
        stretches=join_passages(await _find_passages(visit, memory)),
        recalls=await _find_recalls(visit, memory, versions),
        sees_turns=not visit.grant.agents,
        can_write=visit.grant.permits("write"),
    )


async def show_edit(visit: Visit) -> Response:
    """Show the form that changes a memory by hand."""
    memory = await visit.caller.find_memory(visit.request.path_params["memory_id"])
    return _render_edit(visit, memory)


async def edit_memory(visit: Visit, form: Form) -> Response:
    """Change a memory by hand. What cannot be kept is told beside the words, and nothing is changed."""
    memory = await visit.caller.find_memory(visit.request.path_params["memory_id"])
    category = form.get("category") or memory.category
    visit.caller.check_categories((category,))
    scope, engine = visit.caller.scope, visit.service.memory
    try:
        receipt = await engine.edits.change_memory(
            scope,
            memory.id,
            text=form.get("text").strip(),
            category=category,
            importance=_parse_number(form, "importance"),
            aliases=[line for line in form.get("aliases").split("\n") if line.strip()],
            expected_rev=Revision(_parse_number(form, "rev")),
        )
    except BadInput as error:
        return _render_edit(visit, memory, form, problem=str(error), status=422)
    except Conflict:
        return _render_edit(visit, await visit.caller.find_memory(str(memory.id)), form, has_changed=True, status=409)
    await _approve_own(visit, receipt)
    notice = "edited" if receipt.changes else "unchanged"
    notice = "redacted" if receipt.left_out else "not_kept" if receipt.skipped else notice
    return visit.redirect_to(f"/memories/{memory.id}", f"memory.notice.{notice}")


async def restore_version(visit: Visit, form: Form) -> Response:
    """Let a memory say again what it said in a former version."""
    memory = await visit.caller.find_memory(visit.request.path_params["memory_id"])
    version = Revision(_parse_number(form, "version"))
    former = await visit.service.memory.get(visit.caller.scope, memory.id, as_of=version)
    visit.caller.check_categories((former.category,))
    receipt = await visit.service.memory.edits.restore_version(visit.caller.scope, memory.id, version)
    await _approve_own(visit, receipt)
    return visit.redirect_to(f"/memories/{memory.id}", "memory.notice.version")


async def pin_memory(visit: Visit, form: Form) -> Response:
    """Pin a memory, or take the pin off."""
    id_, pinned = await _find_id(visit), form.get("pinned") == "yes"
    await visit.service.memory.pin(visit.caller.scope, id_, pinned=pinned)
    return visit.redirect_to(f"/memories/{id_}", "memory.notice.pinned" if pinned else "memory.notice.unpinned")


async def forget_memory(visit: Visit, _: Form) -> Response:
    """Forget a memory, which can be restored until it is purged."""
    id_ = await _find_id(visit)
    await visit.service.memory.forget(visit.caller.scope, id_)
    return visit.redirect_to(f"/memories/{id_}", "memory.notice.forgotten")


async def restore_memory(visit: Visit, _: Form) -> Response:
    """Bring a forgotten or replaced memory back."""
    id_ = await _find_id(visit)
    await visit.service.memory.restore(visit.caller.scope, id_)
    return visit.redirect_to(f"/memories/{id_}", "memory.notice.restored")


async def show_erasure(visit: Visit) -> Response:
    """Show what would go for good with a memory."""
    memory = await visit.caller.find_memory(visit.request.path_params["memory_id"])
    return _render_erasure(visit, memory, await find_losses(visit, [memory]))


async def erase_memory(visit: Visit, form: Form) -> Response:
    """Erase a memory for good, with its traces, and show the receipt; where these are others by now than those that
    were shown, show them again."""
    memory = await visit.caller.find_memory(visit.request.path_params["memory_id"])
    traces = await find_losses(visit, [memory])
    if form.get("seen") != describe_losses([memory], traces):
        return _render_erasure(visit, memory, traces, has_changed=True, status=409)
    receipt = await erase_with_receipt(visit.caller, memory.id)
    return visit.render_page("memory_receipt.html", receipt=receipt)


async def _find_id(visit: Visit) -> MemoryId:
    return await visit.caller.find_id(visit.request.path_params["memory_id"])


async def _approve_own(visit: Visit, receipt: Receipt) -> None:
    """Approve what a change by hand proposes for the profile: the person who made it has said it."""
    if asked := [request.id for request in receipt.consent_requests]:
        await visit.service.memory.decide_consents(visit.caller.scope, asked, approve=True)


async def _find_related(visit: Visit, memory: StoredMemory) -> list[Neighbour]:
    found = await visit.service.memory.find_related(visit.caller.scope, memory.id)
    return [each for each in found if each.memory.category in visit.caller.allowed]


async def _find_heir(visit: Visit, memory: StoredMemory) -> StoredMemory | None:
    """Return the memory that took the place of this one, where the visitor may read it."""
    if memory.superseded_by is None:
        return None
    found = await visit.service.memory.admin.get_many(visit.caller.scope, [memory.superseded_by])
    heir = found.get(memory.superseded_by)
    return heir if heir is not None and heir.category in visit.caller.allowed else None


async def _find_passages(visit: Visit, memory: StoredMemory) -> list[Passage]:
    """Return the latest turns that a memory comes from, each among those around it; none for a token of some agents,
    since turns are of every category."""
    if visit.grant.agents:
        return []
    found = [
        await visit.reads.ledger.get_passage(visit.caller.scope, turn, before=_AROUND, after=_AROUND)
        for turn in memory.turns[-_PASSAGES:]
    ]
    return [passage for passage in found if passage is not None]


async def _find_recalls(visit: Visit, memory: StoredMemory, versions: Sequence[MemoryVersion]) -> Sequence[Recall]:
    """Return when a text that a memory has or had was put before a model; none for a token of some agents."""
    if visit.grant.agents:
        return ()
    texts = dict.fromkeys((memory.text, *(each.memory.text for each in versions if each.memory)))
    hashes = [visit.service.memory.conversation.shingle_hashes(text) for text in texts]
    return await visit.reads.memories.list_recalls(visit.caller.scope, hashes, _RECALLS)


def _compare_versions(memory: StoredMemory, versions: Sequence[MemoryVersion]) -> list[ShownVersion]:
    """Return versions, newest first, each with what it changed of the one before it that is known."""
    shown: list[ShownVersion] = []
    older: StoredMemory | None = None
    now = _list_restored(memory)
    for version in reversed(versions):
        words: Sequence[Part] = ()
        changes: Sequence[tuple[str, object, object]] = ()
        if version.memory is not None and older is not None:
            words = compare_words(older.text, version.memory.text) if older.text != version.memory.text else ()
            changes = [
                (name, getattr(older, name), getattr(version.memory, name))
                for name in _COMPARED
                if getattr(older, name) != getattr(version.memory, name)
            ]
        elif version.memory is not None:
            words = [("same", version.memory.text)]
        can_return = (
            version.memory is not None
            and memory.state in ("active", "pending")
            and _list_restored(version.memory) != now
        )
        shown.append(ShownVersion(version=version, words=words, changes=changes, can_return=can_return))
        older = version.memory or older
    return shown[::-1]


def _list_restored(memory: StoredMemory) -> tuple[object, ...]:
    return tuple(getattr(memory, name) for name in _RESTORED)


def _render_erasure(
    visit: Visit, memory: StoredMemory, traces: Sequence[Traces], *, has_changed: bool = False, status: int = 200
) -> Response:
    return visit.render_page(
        "memory_erase.html",
        status,
        memory=memory,
        loss=sum_losses([memory], traces),
        seen=describe_losses([memory], traces),
        has_changed=has_changed,
        short_id=str(memory.id)[:_SHORT_ID],
    )


def _render_edit(
    visit: Visit,
    memory: StoredMemory,
    form: Form | None = None,
    *,
    problem: str = "",
    has_changed: bool = False,
    status: int = 200,
) -> Response:
    """Show the form with what was written in it, or else with what the memory says."""
    names = ("text", "category", "importance", "aliases")
    if form is None:
        values = {"text": memory.text, "category": memory.category, "importance": str(memory.importance)}
        values["aliases"] = "\n".join(memory.aliases)
    else:
        values = {name: form.get(name) for name in names}
    return visit.render_page(
        "memory_edit.html",
        status,
        memory=memory,
        values=values,
        problem=problem,
        has_changed=has_changed,
        categories=sorted(visit.caller.allowed),
        short_id=str(memory.id)[:_SHORT_ID],
    )


def _parse_number(form: Form, name: str) -> int:
    """Return a whole number of a form. Raises BadInput for what is none."""
    text = form.get(name)
    if not (text.isascii() and text.isdigit() and len(text) <= _REV_DIGITS):
        raise BadInput(f"{name}: is no whole number")
    return int(text)


_ONE = "/memories/{memory_id}"
routes: list[Route] = [
    make_page(_ONE, show_memory),
    make_page(f"{_ONE}/edit", show_edit, permission="write"),
    make_action(f"{_ONE}/edit", edit_memory),
    make_action(f"{_ONE}/version", restore_version),
    make_action(f"{_ONE}/pin", pin_memory),
    make_action(f"{_ONE}/forget", forget_memory),
    make_action(f"{_ONE}/restore", restore_memory),
    make_page(f"{_ONE}/erase", show_erasure, permission="write"),
    make_action(f"{_ONE}/erase", erase_memory),
]
