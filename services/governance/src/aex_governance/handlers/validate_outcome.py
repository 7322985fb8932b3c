"""Validation of one attempt by the fraud rules. A repeated request gets the stored decision."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from aex_governance.deps import Deps
from aex_governance.handlers.history import History, LoadedDocuments, load_increments, read_history, save_increments
from aex_governance.measures import FLAGS_TOTAL, VALIDATIONS_TOTAL
from aex_governance.repository import VALIDATIONS, ProjectionGenerations, read_projection_generations
from aex_governance.rules.case import NearCopy, RuleCase, RuleConfig
from aex_governance.rules.evidence import truncate_decision, truncate_request_for_log
from aex_governance.rules.projection_documents import BandEntry, HashEntry, Sighting, ValidationRecord
from aex_governance.rules.projection_increments import compute_increments
from aex_governance.rules.projection_merging import similar_sightings
from aex_governance.rules.table import HISTORY_RULES, REQUEST_RULES, collect_flags, combine_flags
from aex_governance.text.free_text import (
    FreeText,
    Sketch,
    analyze_text,
    decode_sketch,
    encode_sketch,
    estimate_similarity,
)
from aex_models.canonical import canonical_bytes
from aex_models.governance import Action, Flag, ValidationDecision, ValidationRequest
from aex_runtime.store.port import StoreUnavailable, key_of
from aex_runtime.unit_of_work import Unit
from aex_runtime.yielding import run_in_thread_if_large

_MAX_READS = 3
"""Attempts to read the history and decide before a rebuild replaces the history."""
_log = structlog.get_logger("aex_governance.validate_outcome")
_UNDECIDED = ValidationDecision(valid=False, action=Action.HOLD)


@dataclass(frozen=True, slots=True)
class _Preparation:
    """Request with all that is read and computed before the transaction of its decision."""

    request: ValidationRequest
    loggable: ValidationRequest
    text: FreeText | None
    flags: tuple[Flag, ...]
    """Flags of the rules that need no history."""
    history: History


async def validate_outcome(deps: Deps, request: ValidationRequest) -> ValidationDecision:
    """Decide on an attempt by the fraud rules, store the decision and return it; decide each attempt once.

    The attempt is logged and added to the projections. Raises `RuleBroken` when a rule fails, and `StoreUnavailable`
    when rebuilds replace the history three times.
    """
    key = key_of(request.attempt_id)
    stored, generations = await asyncio.gather(
        VALIDATIONS.get(deps.store, key), read_projection_generations(deps.store)
    )
    if stored is not None:
        return stored.record.decision
    loggable, text, flags = await run_in_thread_if_large(request, lambda: _examine(request, deps.rules))
    for _ in range(_MAX_READS):
        history = await read_history(deps, loggable, generations.reading)
        decision = await _decide(deps, _Preparation(request, loggable, text, flags, history), generations)
        if decision is not None:
            return decision
        ids = {"contract_id": request.contract_id, "attempt_id": request.attempt_id}
        _log.info("generation_changed", generation=generations.reading, **ids)
        generations = await read_projection_generations(deps.store)
    raise StoreUnavailable(f"the history was replaced {_MAX_READS} times while it was read; retry later")


async def _decide(deps: Deps, prepared: _Preparation, generations: ProjectionGenerations) -> ValidationDecision | None:
    """Decide and store in one transaction; return None if readers now use another generation."""
    key = key_of(prepared.request.attempt_id)

    async def decide_once(unit: Unit) -> ValidationDecision | None:
        record = _undecided_record(unit, prepared)
        increments = compute_increments(record)  # the keys do not depend on the decision
        stored, now, loaded = await asyncio.gather(
            unit.get(VALIDATIONS, key),
            read_projection_generations(unit.transaction),
            load_increments(unit, increments, generations.in_use),
        )
        if stored is not None:
            return stored.record.decision
        if now.reading != generations.reading:
            return None
        if now.in_use != generations.in_use:
            loaded = await load_increments(unit, increments, now.in_use)
        case = await _case(unit, prepared, loaded, now.reading)
        flags = (*prepared.flags, *collect_flags(case, deps.rules, HISTORY_RULES))
        # As the store returns it: there -0.0 is 0, and 1e17 an integer.
        decision = ValidationDecision.model_validate_json(canonical_bytes(truncate_decision(combine_flags(flags))))
        record = record.model_copy(update={"decision": decision, "generations": now.in_use})
        unit.create(VALIDATIONS, key, record)
        save_increments(unit, loaded, compute_increments(record), now.in_use)
        unit.measures.count(VALIDATIONS_TOTAL, decision.action)
        for flag in decision.flags:
            unit.measures.count(FLAGS_TOTAL, flag.rule)
        return decision

    return await deps.unit_of_work.run(decide_once)


def _examine(
    request: ValidationRequest, rules: Mapping[str, RuleConfig]
) -> tuple[ValidationRequest, FreeText | None, tuple[Flag, ...]]:
    """Return the request as it is logged, its text, and the flags of `REQUEST_RULES`."""
    text = None if request.output_text is None else analyze_text(request.output_text)
    return truncate_request_for_log(request), text, collect_flags(RuleCase(request, text), rules, REQUEST_RULES)


def _undecided_record(unit: Unit, prepared: _Preparation) -> ValidationRecord:
    text = prepared.text
    return ValidationRecord(
        request=prepared.loggable,
        decision=_UNDECIDED,
        decided_at=unit.now,
        is_free=text is not None and text.is_free,
        sketch=encode_sketch(text.sketch) if text and text.sketch else None,
    )


async def _case(unit: Unit, prepared: _Preparation, loaded: LoadedDocuments, reading: int) -> RuleCase:
    request, text = prepared.request, prepared.text
    copies = [each for entry in loaded.select_records(HashEntry, reading) for each in entry.sightings]
    similar = similar_sightings(request, (entry.sightings for entry in loaded.select_records(BandEntry, reading)))
    near_copies = await _compare_sketches(unit, similar, text.sketch) if text and text.sketch else ()
    own, domain, recent = prepared.history
    return RuleCase(request, text, tuple(copies), near_copies, own, domain, recent)


async def _compare_sketches(unit: Unit, sightings: Sequence[Sighting], sketch: Sketch) -> tuple[NearCopy, ...]:
    """Return each earlier text whose sketch is logged, with its similarity; the most similar first."""
    found = await unit.get_many(VALIDATIONS, [key_of(each.attempt_id) for each in sightings])
    near_copies = [
        NearCopy(sighting, estimate_similarity(sketch, decode_sketch(stored.record.sketch)))
        for sighting, stored in zip(sightings, found, strict=True)
        if stored is not None and stored.record.sketch is not None
    ]
    return tuple(sorted(near_copies, key=lambda each: -each.similarity))
