"""Reading of works and awards by authorised readers."""

from typing import Any

from aex_models.audiences import Audience, project
from aex_models.contract import Award
from aex_models.events import ContractAwarded
from aex_models.work import Work, WorkStatus
from aex_runtime.errors import NotFound
from aex_runtime.http.large_pages import PageReader
from aex_runtime.http.listing import Listing, read_page_as_json
from aex_runtime.http.pagination import PageRequest
from aex_runtime.identity.principals import Principal
from aex_runtime.store.table import Stored
from aex_work_publisher.deps import Deps
from aex_work_publisher.repository import ORDER, WORKS, find_award, find_work, get_evaluation
from aex_work_publisher.rules.publication import awarded_contract, with_secrets
from aex_work_publisher.rules.records import WorkRecord, may_see, visible_sets


def require_visible(found: Stored[WorkRecord] | None, reader: Principal) -> Stored[WorkRecord]:
    """Return the work, where it is there and `reader` may know of it. Raises `NotFound`."""
    if found is not None and not may_see(found.record, reader):
        found = None
    return require_found(found)


def require_found(found: Stored[WorkRecord] | None) -> Stored[WorkRecord]:
    """Return the work, where it is there. Raises `NotFound`."""
    if found is None:
        raise NotFound("work_not_found", "There is no such work")
    return found


async def get_work(deps: Deps, reader: Principal, work_id: str) -> Work:
    """Return a work; with its evaluation data for its consumer alone."""
    record = require_visible(await find_work(deps.store, work_id), reader).record
    if reader.role is not Audience.CONSUMER or record.evaluation is None:
        return record.work
    return with_secrets(record, await get_evaluation(deps.blobs, record.evaluation))


async def list_works(deps: Deps, reader: Principal, status: WorkStatus | None, paging: PageRequest) -> bytes:
    """Return a page, as JSON, of the works that `reader` may see, newest first, without evaluation data."""

    async def render(pages: PageReader, record: WorkRecord) -> dict[str, Any]:
        return await pages.run_in_thread_if_large(lambda: _without_secrets(project(record.work, reader.role)))

    return await read_page_as_json(deps.store, Listing(WORKS, visible_sets(reader, status), ORDER), paging, render)


def _without_secrets(item: dict[str, Any]) -> dict[str, Any]:
    """Remove fields whose secrets the list does not load: they would look empty or incomplete."""
    return {name: value for name, value in item.items() if name not in {"evaluation", "science"}}


async def get_award(deps: Deps, party: Principal, contract_id: str) -> Award:
    """Return an award, for the two that it binds. Raises `NotFound`."""
    award = await find_award(deps.store, contract_id)
    if award is None or party.id not in {award.consumer.id, award.agent_id}:
        raise NotFound("award_not_found", "There is no such award")
    return award


async def get_awarded_contract(deps: Deps, contract_id: str) -> tuple[ContractAwarded, str | None]:
    """Return the data of `contract.awarded` and the award's trace, for services ahead of the event.

    Raises `NotFound`.
    """
    award = await find_award(deps.store, contract_id)
    found = await find_work(deps.store, award.work_id) if award else None
    if award is None or found is None:
        raise NotFound("award_not_found", "There is no such award")
    return awarded_contract(found.record, award), found.record.traceparent
