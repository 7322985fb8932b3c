"""Decide on one attempt, once: a repeated question gets the stored answer."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import structlog

from aex_governance.deps import Deps
from aex_governance.handlers.read_history import History, read_history
from aex_governance.handlers.remembering import Remembered, recall, remember
from aex_governance.measures import FLAGS_TOTAL, VALIDATIONS_TOTAL
from aex_governance.repository.log import VALIDATIONS
from aex_governance.repository.projections import ProjectionHead, read_head
from aex_governance.rules.bounds import bounded, logged
from aex_governance.rules.case import Case, Likeness
from aex_governance.rules.config import RuleConfig
from aex_governance.rules.decide import combined, raised
from aex_governance.rules.likeness import candidates
from aex_governance.rules.projection.documents import BandEntry, HashEntry
from aex_governance.rules.projection.increments import increments
from aex_governance.rules.projection.records import ValidationRecord
from aex_governance.rules.sighting import Sighting
from aex_governance.rules.sketch import Sketch, decoded, encoded, similarity
from aex_governance.rules.table import OF_HISTORY, OF_REQUEST
from aex_governance.rules.text import FreeText, read_text
from aex_models.canonical import canonical_bytes
from aex_models.governance import Action, Flag, ValidationDecision, ValidationRequest
from aex_runtime.long_values import in_a_thread_if_long
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import StoreUnavailable
from aex_runtime.unit_of_work import Unit

T = TypeVar("T")
_MOST_READINGS = 3
"""Of the history, where one rebuild after another replaces it."""
_log = structlog.get_logger("aex_governance.validate_outcome")
_UNDECIDED = ValidationDecision(valid=False, action=Action.HOLD)


@dataclass(frozen=True, slots=True)
class _Question:
    """A request, with all that was found out about it before its transaction."""

    request: ValidationRequest
    kept: ValidationRequest
    """As the log keeps it."""
    text: FreeText | None
    flags: tuple[Flag, ...]
    """Of the rules that look at no history."""
    history: History


async def validate_outcome(deps: Deps, request: ValidationRequest) -> ValidationDecision:
    """The decision on this attempt, made now or before."""
    key = key_of(request.attempt_id)
    stored, head = await asyncio.gather(VALIDATIONS.get(deps.store, key), read_head(deps.store))
    if stored is not None:
        return stored.record.decision
    kept, text, flags = await in_a_thread_if_long(request, lambda: _looked_at(request, deps.rules))
    for _ in range(_MOST_READINGS):
        history = await read_history(deps, kept, head.reading)
        decision = await _decided(deps, _Question(request, kept, text, flags, history), head)
        if decision is not None:
            return decision
        about = {"contract_id": request.contract_id, "attempt_id": request.attempt_id}
        _log.info("history_replaced_while_deciding", generation=head.reading, **about)
        head = await read_head(deps.store)
    raise StoreUnavailable(f"the history was replaced {_MOST_READINGS} times while it was read; ask again")


async def _decided(deps: Deps, question: _Question, head: ProjectionHead) -> ValidationDecision | None:
    """None where the history was of a generation that is read no more: a rebuild may have removed it by then."""
    key = key_of(question.request.attempt_id)

    async def decide_once(unit: Unit) -> ValidationDecision | None:
        record = _undecided(unit, question)
        places = increments(record)  # what is added there depends on the decision, which depends on what is there
        before, now, remembered = await asyncio.gather(
            unit.get(VALIDATIONS, key), read_head(unit.transaction), recall(unit, places, head.generations)
        )
        if before is not None:
            return before.record.decision
        if now.reading != head.reading:
            return None
        if now.generations != head.generations:
            remembered = await recall(unit, places, now.generations)
        case = await _case(unit, question, remembered, now.reading)
        decision = _as_stored(bounded(combined((*question.flags, *raised(case, deps.rules, OF_HISTORY)))))
        record = record.model_copy(update={"decision": decision, "generations": now.generations})
        unit.create(VALIDATIONS, key, record)
        remember(unit, remembered, increments(record), now.generations)
        unit.measures.count(VALIDATIONS_TOTAL, decision.action)
        for flag in decision.flags:
            unit.measures.count(FLAGS_TOTAL, flag.rule)
        return decision

    return await deps.unit_of_work.run(decide_once)


def _as_stored(decision: ValidationDecision) -> ValidationDecision:
    """As it comes back from the store: there -0.0 is 0, and 1e17 an integer."""
    return ValidationDecision.model_validate_json(canonical_bytes(decision))


def _looked_at(
    request: ValidationRequest, rules: Mapping[str, RuleConfig]
) -> tuple[ValidationRequest, FreeText | None, tuple[Flag, ...]]:
    """What can be told from the request alone, once: as it is logged, its text read, the flags of `OF_REQUEST`."""
    text = None if request.output_text is None else read_text(request.output_text)
    return logged(request), text, raised(Case(request, text), rules, OF_REQUEST)


def _undecided(unit: Unit, question: _Question) -> ValidationRecord:
    text = question.text
    return ValidationRecord(
        request=question.kept,
        decision=_UNDECIDED,
        decided_at=unit.now,
        is_free=text is not None and text.is_free,
        sketch=encoded(text.sketch) if text and text.sketch else None,
    )


async def _case(unit: Unit, question: _Question, remembered: Remembered, reading: int) -> Case:
    request, text, history = question.request, question.text, question.history
    copies = [each for entry in remembered.of(HashEntry, reading) for each in entry.sightings]
    likely = candidates(request, remembered.of(BandEntry, reading))
    alike = await _compared(unit, likely, text.sketch) if text and text.sketch else ()
    return Case(
        request,
        text,
        tuple(copies),
        alike,
        history.own,
        history.domain,
        history.pace,
    )


async def _compared(unit: Unit, likely: Sequence[Sighting], sketch: Sketch) -> tuple[Likeness, ...]:
    """How alike they are, by the sketches in the log; the most similar first."""
    found = await unit.get_many(VALIDATIONS, [key_of(each.attempt_id) for each in likely])
    alike = [
        Likeness(sighting, similarity(sketch, decoded(stored.record.sketch)))
        for sighting, stored in zip(likely, found, strict=True)
        if stored is not None and stored.record.sketch is not None
    ]
    return tuple(sorted(alike, key=lambda each: -each.similarity))
