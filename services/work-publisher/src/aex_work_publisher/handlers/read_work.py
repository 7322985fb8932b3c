"""Reads of works and awards. A caller without access gets `NotFound`, as if there were none."""

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
from aex_work_publisher.repository import ORDER, WORKS, find_award, find_committed_work, load_evaluation_data
from aex_work_publisher.rules.publication import build_awarded_event, with_secrets
from aex_work_publisher.rules.records import WorkRecord, may_see, visible_index_filters


def require_visible_work(found: Stored[WorkRecord] | None, reader: Principal) -> Stored[WorkRecord]:
    """Return the work if it exists and `reader` may see it. Raises `NotFound` otherwise."""
    if found is not None and not may_see(found.record, reader):
        found = None
    return require_existing_work(found)


def require_existing_work(found: Stored[WorkRecord] | None) -> Stored[WorkRecord]:
    """Return the work if it exists. Raises `NotFound` otherwise."""
    if found is None:
        raise NotFound("work_not_found", "There is no such work")
    return found


async def get_work(deps: Deps, reader: Principal, work_id: str) -> Work:
    """Return a work; for its consumer with the secret evaluation data and the findings of its check.

    Raises `NotFound` also if the reader may not see the work.
    """
    record = require_visible_work(await find_committed_work(deps.store, work_id), reader).record
    if reader.role is not Audience.CONSUMER or record.evaluation is None:
        return record.work
    return with_secrets(record, await load_evaluation_data(deps.blobs, record.evaluation))


async def list_works(deps: Deps, reader: Principal, status: WorkStatus | None, paging: PageRequest) -> bytes:
    """Return a page of the works that `reader` may see as JSON, newest first.

    Evaluation data and science are left out. `status` None means any status.
    """

    async def render(pages: PageReader, record: WorkRecord) -> dict[str, Any]:
        return await pages.run_in_thread_if_large(lambda: _without_secrets(project(record.work, reader.role)))

    return await read_page_as_json(
        deps.store, Listing(WORKS, visible_index_filters(reader, status), ORDER), paging, render
    )


def _without_secrets(item: dict[str, Any]) -> dict[str, Any]:
    """Return the item without `evaluation` and `science`, whose secret parts a list does not load."""
    return {name: value for name, value in item.items() if name not in {"evaluation", "science"}}


async def get_award(deps: Deps, party: Principal, contract_id: str) -> Award:
    """Return the award of a contract to its consumer or its agent. Raises `NotFound` for any other caller."""
    award = await find_award(deps.store, contract_id)
    if award is None or party.id not in {award.consumer.id, award.agent_id}:
        raise NotFound("award_not_found", "There is no such award")
    return award


async def get_award_event_and_trace(deps: Deps, contract_id: str) -> tuple[ContractAwarded, str | None]:
    """Return the data of a contract's `contract.awarded` event, and the award's W3C trace context or None.

    Verification calls this when it needs a contract before the event has arrived. Raises `NotFound`.
    """
    award = await find_award(deps.store, contract_id)
    found = await find_committed_work(deps.store, award.work_id) if award else None
    if award is None or found is None:
        raise NotFound("award_not_found", "There is no such award")
    return build_awarded_event(found.record, award), found.record.traceparent
