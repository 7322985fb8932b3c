"""Decide on one attempt, once: a repeated question gets the stored answer."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from aex_governance.deps import Deps
from aex_governance.handlers.read_history import History, read_history
from aex_governance.handlers.remembering import Remembered, recall, remember
from aex_governance.repository.log import VALIDATIONS
from aex_governance.repository.projections import read_head
from aex_governance.rules.bounds import bounded, logged
from aex_governance.rules.case import Case, Likeness
from aex_governance.rules.decide import decide
from aex_governance.rules.likeness import candidates
from aex_governance.rules.projection.documents import BandEntry, HashEntry
from aex_governance.rules.projection.increments import increments
from aex_governance.rules.projection.records import ValidationRecord
from aex_governance.rules.sighting import Sighting
from aex_governance.rules.sketch import Sketch, decoded, encoded, similarity
from aex_governance.rules.text import FreeText, read_text
from aex_models.governance import Action, ValidationDecision, ValidationRequest
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit

T = TypeVar("T")
_SHORT = 4_000
_UNDECIDED = ValidationDecision(valid=False, action=Action.HOLD)


@dataclass(frozen=True, slots=True)
class _Question:
    """A request, with all that was found out about it before its transaction."""

    request: ValidationRequest
    kept: ValidationRequest
    """As the log keeps it."""
    text: FreeText | None
    history: History


async def validate_outcome(deps: Deps, request: ValidationRequest) -> ValidationDecision:
    """The decision on this attempt, made now or before."""
    key = key_of(request.attempt_id)
    stored, head = await asyncio.gather(VALIDATIONS.get(deps.store, key), read_head(deps.store))
    if stored is not None:
        return stored.record.decision
    kept = logged(request)
    text, history = await asyncio.gather(_read(request), read_history(deps, kept, head.reading))
    question = _Question(request, kept, text, history)

    async def decide_once(unit: Unit) -> ValidationDecision:
        record = _undecided(unit, question)
        places = increments(record)  # what is added there depends on the decision, which depends on what is there
        before, now, remembered = await asyncio.gather(
            unit.get(VALIDATIONS, key), read_head(unit.transaction), recall(unit, places, head.generations)
        )
        if before is not None:
            return before.record.decision
        if now.generations != head.generations:
            remembered = await recall(unit, places, now.generations)
        case = await _case(unit, question, remembered, now.reading)
        decision = await _in_a_thread_if_long(request, lambda: bounded(decide(case, deps.rules)))
        record = record.model_copy(update={"decision": decision, "generations": now.generations})
        unit.create(VALIDATIONS, key, record)
        remember(unit, remembered, increments(record), now.generations)
        return decision

    return await deps.unit_of_work.run(decide_once)


async def _in_a_thread_if_long(request: ValidationRequest, work: Callable[[], T]) -> T:
    """Long texts, and those made to be slow, delay nobody else; for short ones a thread is the longer way."""
    texts = len(request.output_text or "") + len(request.other_text or "")
    return work() if texts <= _SHORT else await asyncio.to_thread(work)


async def _read(request: ValidationRequest) -> FreeText | None:
    text = request.output_text
    return None if text is None else await _in_a_thread_if_long(request, lambda: read_text(text))


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
        tuple(each for each in copies if each.contract_id != request.contract_id),
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
