"""The collections that every service has, whatever it does."""

from aex_runtime.deadletters import dead_letter_messages_table, dead_letters_table
from aex_runtime.http.idempotency import idempotency_table
from aex_runtime.leases import leases_table
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.store.port import Collection
from aex_runtime.timer_entry import timers_table


def machinery(service: str) -> tuple[Collection, ...]:
    """A service's outbox, timers, leases, idempotency keys and dead letters."""
    return (
        outbox_table(service).collection,
        timers_table(service).collection,
        leases_table(service).collection,
        idempotency_table(service).collection,
        dead_letters_table(service).collection,
        dead_letter_messages_table(service).collection,
    )
