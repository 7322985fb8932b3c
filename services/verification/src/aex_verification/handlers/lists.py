"""Lists of contracts, attempts and outcomes, each with the records that the reader may see."""

from collections.abc import Mapping
from typing import Any

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import ContractStatus
from aex_models.large_thresholds import has_omitted_thresholds
from aex_models.outcome import OutcomeRecord
from aex_models.work import Work
from aex_runtime.exports import merge_party_filters_unless_foreign
from aex_runtime.http.auth import Principal
from aex_runtime.http.large_pages import PageReader
from aex_runtime.http.listing import Listing, Partial, read_page_as_json
from aex_runtime.http.pagination import PageRequest, collect_filters
from aex_runtime.store.port import Fields, key_of
from aex_verification.deps import Deps
from aex_verification.handlers.read import (
    has_secret_feedback,
    has_visible_result,
    make_contract_view,
    own_party_filter,
    render_loaded_attempt,
    render_outcome,
)
from aex_verification.repository import ATTEMPTS, AWARDS, CANDIDATES, CONTRACTS, IS_PAID, OUTCOMES, PARTIES
from aex_verification.rules.outcomes import is_paid_or_successful
from aex_verification.rules.records import AttemptRow, ContractRow

_ORDER = "created_at"
_HIDDEN_FEEDBACK, _HIDDEN_DELIVERY = 4_096, 16_384
"""Bytes that an unpaid record counts for its hidden parts. They let pages of 200 contracts and of 50 others through."""
Json = dict[str, Any]


async def list_contracts(
    deps: Deps, reader: Principal, paging: PageRequest, work_id: str | None, status: ContractStatus | None
) -> bytes:
    """Return a page of contracts as JSON, newest first: all for an operator, else the reader's own.

    `work_id` and `status` None match any value.
    """
    requested = {} if status is None else {"status": status.value}
    own = own_party_filter(reader)
    sets = ({**own, **requested},) if work_id is None else _sets_with(own, "work_id", work_id)

    def matches(row: ContractRow) -> bool:
        return work_id in {None, row.work_id} and status in {None, row.state.status}

    async def render(pages: PageReader, row: ContractRow) -> Json | Partial[Json]:
        is_secret = has_secret_feedback(row, reader)
        is_visible = not is_secret or (row.state.is_final and await _is_paid(pages, row.contract_id))
        view = project(make_contract_view(row), reader.role, Disclosure(output=is_visible))
        return view if is_visible else Partial(view)

    hidden = _HIDDEN_FEEDBACK if reader.role is Audience.CONSUMER else None
    listing = Listing(CONTRACTS, sets, _ORDER, matches=matches, hidden_bytes=hidden)
    return await read_page_as_json(deps.store, listing, paging, render)


async def list_attempts(deps: Deps, reader: Principal, contract_id: str, paging: PageRequest) -> bytes:
    """Return a page of a contract's attempts as JSON, oldest first."""
    is_consumer, is_operator = reader.role is Audience.CONSUMER, reader.role is Audience.OPERATOR
    paid: bool | None = None
    work: Work | None = None
    work_size = 0

    async def render(pages: PageReader, row: AttemptRow) -> Json | Partial[Json]:
        nonlocal paid, work, work_size
        if paid is None:
            paid = is_consumer and await _is_paid(pages, contract_id)
        shows_candidate = paid or not is_consumer
        candidate = await pages.count_and_load_record(CANDIDATES, row.candidate_key) if shows_candidate else None
        if has_visible_result(row, with_unreleased_result=is_operator):
            if work is None:
                before = pages.size
                awarded = await pages.count_and_load_record(AWARDS, key_of(contract_id))
                work, work_size = awarded.work if awarded else None, pages.size - before
            elif row.result is not None and has_omitted_thresholds(row.result.criterion_results):
                await pages.count_bytes_and_acquire_slot_if_large(work_size)  # its rendering repeats them
        view = await pages.run_in_thread_if_large(
            lambda: render_loaded_attempt(deps, reader, row, candidate, work, paid=bool(paid))
        )
        return view if shows_candidate else Partial(view)

    hidden = _HIDDEN_DELIVERY if is_consumer else None
    listing = Listing(ATTEMPTS, ({"contract_id": contract_id},), _ORDER, "asc", hidden_bytes=hidden)
    return await read_page_as_json(deps.store, listing, paging, render)


async def list_outcomes(deps: Deps, reader: Principal, paging: PageRequest, filters: Mapping[str, str | None]) -> bytes:
    """Return a page of outcomes as JSON, newest first; finance and operators read all.

    Consumers and agents read their own. Raises `Unprocessable` for too many filters.
    """
    requested = collect_filters(filters)
    own = own_party_filter(reader)
    equal = merge_party_filters_unless_foreign(own, {name: requested.get(name) for name in filters})

    def matches(record: OutcomeRecord) -> bool:
        return all(getattr(record, name) == value for name, value in (equal or {}).items())

    async def render(pages: PageReader, record: OutcomeRecord) -> Json | Partial[Json]:
        view = await pages.run_in_thread_if_large(lambda: render_outcome(reader, record))
        return Partial(view) if reader.role is Audience.CONSUMER and not is_paid_or_successful(record) else view

    sets = () if equal is None else _outcome_sets(own, equal)
    hidden = _HIDDEN_DELIVERY if reader.role is Audience.CONSUMER else None
    return await read_page_as_json(
        deps.store, Listing(OUTCOMES, sets, _ORDER, matches=matches, hidden_bytes=hidden), paging, render
    )


def _outcome_sets(own: Fields, equal: Mapping[str, str]) -> tuple[Fields, ...]:
    if "work_id" in equal:
        return _sets_with(own, "work_id", equal["work_id"])
    parties = {name: value for name, value in equal.items() if name in PARTIES}
    return _sets_with(parties, "domain", equal["domain"]) if "domain" in equal else (parties,)


def _sets_with(equal: Fields, name: str, value: str) -> tuple[Fields, ...]:
    """Return two queries: records with this value of the field, and older records that lack the field."""
    return {**equal, name: value}, {**equal, name: None}


async def _is_paid(pages: PageReader, contract_id: str) -> bool:
    """Return whether the consumer pays for the outcome; load a record that lacks the index field."""
    document = await pages.unloaded.get(OUTCOMES.collection, key_of(contract_id))
    known = None if document is None else document.fields.get(IS_PAID)
    if document is None or isinstance(known, bool):
        return bool(known)
    loaded = await pages.count_and_load_body(OUTCOMES.collection, document)
    if loaded is None:
        return False
    record, values = await pages.decode_and_extract_long_values(OUTCOMES, loaded)
    pages.free_unused_values(values, b"")
    return is_paid_or_successful(record)
