"""Counters of work-publisher. Each is incremented in the same transaction as the event that it counts."""

from aex_runtime.measures import CounterSpec, Spec

SUBMITTED_TOTAL = CounterSpec("aex_works_submitted_total", "Works that were published")
AWARDED_TOTAL = CounterSpec("aex_contracts_awarded_total", "Works that were given to an agent, by award or claim")
MEASURES: tuple[Spec, ...] = (SUBMITTED_TOTAL, AWARDED_TOTAL)
