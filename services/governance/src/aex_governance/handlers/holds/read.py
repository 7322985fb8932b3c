"""Holds as an operator's tools list them."""

from typing import Any

from aex_governance.deps import Deps
from aex_governance.repository.holds import HOLDS
from aex_models.audiences import project
from aex_models.governance import Hold, HoldStatus
from aex_runtime.errors import NotFound
from aex_runtime.http.auth import Principal
from aex_runtime.http.listing import list_page
from aex_runtime.http.pagination import PageRequest
from aex_runtime.store.keys import key_of


async def list_holds(
    deps: Deps, reader: Principal, paging: PageRequest, status: HoldStatus | None, contract_id: str | None = None
) -> dict[str, Any]:
    """A page of holds, newest first: all, or those in one status, of one contract, or both."""

    async def render(hold: Hold) -> dict[str, Any]:
        return project(hold, reader.role)

    wanted = {"status": status.value if status else None, "contract_id": contract_id}
    equal = {name: value for name, value in wanted.items() if value is not None}
    return await list_page(deps.store, HOLDS, paging, render, equal=equal, order="held_at")


async def get_hold(deps: Deps, hold_id: str) -> Hold:
    """One hold. Raises `NotFound`."""
    stored = await HOLDS.get(deps.store, key_of(hold_id))
    if stored is None:
        raise NotFound("hold_not_found", "No such hold")
    return stored.record
