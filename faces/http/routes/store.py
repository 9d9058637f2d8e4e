"""The store of items, for hosts of the plugin: versioned, and bound to the tenant, the user and the projects of a
token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response, Security

from muniment.faces.http.access import BEARER, UserHeader, UserParameter, check_name, choose_name
from muniment.faces.http.bodies import StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.faces.http.service import Service, get_service
from muniment.memory.domain.scope import Grant, Permission
from muniment.memory.errors import NotPermitted, ProtocolMismatch
from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.domain.operation import Operation
from muniment.plugin.stores.engine.store import EngineStore
from muniment.plugin.stores.remote.operation_shapes import (
    ChangesShape,
    OperationAnswerShape,
    OperationAnswersShape,
    OperationsShape,
)
from muniment.plugin.stores.remote.shapes import (
    MAX_PAGE,
    MAX_REVISION,
    PROTOCOL,
    PROTOCOL_HEADER,
    TENANT_HEADER,
    CompactedShape,
    CompactShape,
    ForgetShape,
    ForgottenShape,
    HitShape,
    HitsShape,
    ItemShape,
    ItemsShape,
    ListShape,
    PinnedShape,
    PinShape,
    PlaceShape,
    SearchShape,
    Shape,
    StoredItemsShape,
    StoredShape,
    UpsertShape,
)

_ProtocolHeader = Annotated[
    str | None,
    Header(alias=PROTOCOL_HEADER, description=f"The version of these requests and answers: {PROTOCOL}."),
]
_TenantHeader = Annotated[
    str | None,
    Header(
        alias=TENANT_HEADER, description="The tenant that the host asks for: another one than the token's is refused."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCaller:
    """What the token of a request permits, for the user that the request concerns."""

    grant: Grant
    service: Service
    user: str

    @property
    def store(self) -> EngineStore:
        """The items that the token is for."""
        return EngineStore(self.service.memory, self.service.settings.plugin, projects=self.grant.projects)

    def make_owner(self, place: PlaceShape) -> ItemOwner:
        """Return whose items a request concerns, and where it is made. Raises NotPermitted for another project than the
        token's, BadInput for a name that cannot be one."""
        for what, name in (("project", place.project), ("session", place.session)):
            if name is not None:
                check_name(name, what)
        self.grant.make_store_scope(self.user, project=place.project, session=place.session)
        return place.to_owner(self.grant.tenant, self.user)

    def make_item_owner(self, shape: ItemShape) -> ItemOwner:
        """Return whose an item is. Raises NotPermitted, BadInput as `make_owner`."""
        return self.make_owner(PlaceShape(project=shape.project, session=shape.session))


def require_store(permission: Permission) -> Callable[..., Awaitable[StoreCaller]]:
    """Return a dependency that gives the caller of a request, whose token permits this."""

    async def find_caller(
        request: Request,
        _: Annotated[object, Security(BEARER)],
        header: UserHeader = None,
        user: UserParameter = None,
        protocol: _ProtocolHeader = None,
        tenant: _TenantHeader = None,
    ) -> StoreCaller:
        if protocol is not None and protocol.strip() != str(PROTOCOL):
            raise ProtocolMismatch(f"{PROTOCOL_HEADER}: another version asked for; known: {PROTOCOL}", known=[PROTOCOL])
        grant: Grant = request.state.grant
        grant.require_permission(permission)
        if tenant is not None and choose_name("tenant", tenant, None) != grant.tenant:
            raise NotPermitted("The token is of another tenant.")
        scope = grant.make_store_scope(choose_name("user", header, user))
        return StoreCaller(grant=grant, service=get_service(request), user=scope.owner)

    return find_caller


StoreReader = Annotated[StoreCaller, Depends(require_store("read"))]
StoreWriter = Annotated[StoreCaller, Depends(require_store("write"))]
router = APIRouter(prefix="/v1/store", tags=["store"], route_class=StrictRoute, responses=ERROR_RESPONSES)


@router.post("/search", response_model=HitsShape)
async def search_items(body: SearchShape, caller: StoreReader) -> Response:
    """Return the items that answer a text, best first, of those that are found where the request is made."""
    hits = await caller.store.search(body.to_query(caller.make_owner(body)))
    return _make_answer(HitsShape(hits=[HitShape.from_hit(hit) for hit in hits]))


@router.post("/items", response_model=StoredItemsShape)
async def write_items(body: UpsertShape, caller: StoreWriter) -> Response:
    """Write items, each once for its id and content. What was forgotten is not made again."""
    items = [shape.to_item(caller.grant.tenant, caller.make_item_owner(shape).user) for shape in body.items]
    stored = await caller.store.upsert(items)
    return _make_answer(StoredItemsShape(items=[StoredShape.from_stored(each) for each in stored]))


@router.post("/list", response_model=ItemsShape)
async def list_items(body: ListShape, caller: StoreReader) -> Response:
    """Return items, newest change first."""
    items = await caller.store.list(body.to_query(caller.make_owner(body)))
    return _make_answer(ItemsShape(items=[ItemShape.from_item(item) for item in items]))


@router.post("/forget", response_model=ForgottenShape)
async def forget_items(body: ForgetShape, caller: StoreWriter) -> Response:
    """Forget items, and return the ids of those that were there. Nothing makes them again under these ids."""
    found = await caller.store.forget(caller.make_owner(body), [str(id_) for id_ in body.ids])
    return _make_answer(ForgottenShape.model_validate({"ids": list(found)}))


@router.post("/pin", response_model=PinnedShape)
async def pin_item(body: PinShape, caller: StoreWriter) -> Response:
    """Pin or unpin an item, and return whether it was there."""
    return _make_answer(
        PinnedShape(found=await caller.store.pin(caller.make_owner(body), str(body.id), pinned=body.pinned))
    )


@router.post("/compact", response_model=CompactedShape)
async def compact_items(body: CompactShape, caller: StoreWriter) -> Response:
    """Return how many items there are. What the policy removes the service removes by itself, by its own settings."""
    report = await caller.store.compact(caller.make_owner(body), body.to_policy())
    return _make_answer(CompactedShape.from_report(report))


@router.post("/operations", response_model=OperationAnswersShape)
async def apply_operations(body: OperationsShape, caller: StoreWriter) -> Response:
    """Carry out what was done on another machine, in order, each operation once for its id. One that cannot be carried
    out is refused with the reason, and the others go on."""
    operations: list[Operation] = []
    for shape in body.operations:
        owner = caller.make_owner(shape)
        if shape.item is not None:
            caller.make_item_owner(shape.item)
        operations.append(shape.to_operation(owner))
    answers = await caller.store.apply_operations(operations)
    return _make_answer(OperationAnswersShape(results=[OperationAnswerShape.from_answer(each) for each in answers]))


@router.get("/changes", response_model=ChangesShape)
async def read_changes(
    caller: StoreReader,
    since: Annotated[int, Query(ge=0, le=MAX_REVISION, description="The revision after which changes are wanted.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100,
) -> Response:
    """Return how items are after the changes since a revision, oldest first.

    Without an item it is gone: whoever keeps a copy drops it."""
    page = await caller.store.read_changes(ItemOwner(tenant=caller.grant.tenant, user=caller.user), since, limit)
    return _make_answer(ChangesShape.from_page(page))


def _make_answer(shape: Shape) -> Response:
    value: dict[str, Any] = shape.model_dump(mode="json")
    return make_response(value, headers={PROTOCOL_HEADER: str(PROTOCOL)})
