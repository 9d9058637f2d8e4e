"""What waits for a yes of the user, and the answers."""

from __future__ import annotations

from fastapi import APIRouter, Response

from muniment.faces.http.access import Reader, Writer
from muniment.faces.http.answers import ConsentsAnswer, ReceiptAnswer
from muniment.faces.http.bodies import DecisionBody, StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.memory import codec

router = APIRouter(prefix="/consents", tags=["consents"], route_class=StrictRoute, responses=ERROR_RESPONSES)
_MAX_PENDING = 1000


@router.get("", response_model=ConsentsAnswer)
async def list_consents(caller: Reader, decided: bool = False) -> Response:
    """Return the requests for consent that wait, or with `decided` all, and the memories that wait for a yes."""
    caller.check_unlimited()
    memory = caller.service.memory
    requests = await memory.list_consents(caller.scope, decided=decided)
    pending = await memory.list(caller.scope, states=("pending",), limit=_MAX_PENDING)
    return make_response(
        {
            "requests": [codec.encode_record(each) for each in requests],
            "memories": [codec.encode_record(each) for each in pending],
        }
    )


@router.post("/decisions", response_model=ReceiptAnswer)
async def decide_consents(body: DecisionBody, caller: Writer) -> Response:
    """Approve or reject requests and memories that wait, all or none."""
    caller.check_unlimited()
    receipt = await caller.write_once(caller.service.memory.decide_consents, body.ids, approve=body.approve)
    return make_response(codec.encode_receipt(receipt))
