"""Validations of labels, new prose, copies and near copies against a history."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from aex_governance.deps import Deps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import load_rule_configs
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.clock import SetClock
from aex_runtime.store.port import Collection, Transaction
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.unit_of_work import UnitOfWork
from tests.benchmarks.governance.drawing import LAST_MOMENT, ORIGINALS, Drawing, draw_request
from tests.benchmarks.governance.making import store_file
from tests.benchmarks.harness import Side, repeat_call

REQUESTS = 40
"""In one round."""
BARE = Collection("benchmark-bare")
_DRAWING = Drawing(1)
TEXTS: Mapping[str, Callable[[int], str]] = {
    "labels": lambda number: "positive " * (number % 30 + 1),
    "new prose": _DRAWING.fresh,
    "a copy": lambda number: _DRAWING.original(number % ORIGINALS),
    "a near copy": lambda number: _DRAWING.near_copy(number % ORIGINALS, number),
}
"""The output of the request with a number, by kind."""


class HistoryClient:
    """The service's handlers over a history, with a clock that starts at its end.

    `number` is that of the last request; it differs between runs, because the service repeats former decisions.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self.clock, self.number, self.flags = SetClock(LAST_MOMENT), number, Counter[str]()
        store = SpillingStore(SQLiteStore(store_file(folder)), open_blobs(f"file:///{folder}/blobs"))
        unit_of_work = UnitOfWork("governance", store, self.clock, lambda _: None)
        self.deps = Deps(unit_of_work, store, self.clock, load_rule_configs())

    def side(self, *kinds: str) -> Side:
        """Return rounds of requests of these kinds in turn."""
        return repeat_call(self._validate, [TEXTS[kind] for kind in kinds], REQUESTS)

    async def commit(self) -> int:
        """Commit one document of the size of a record, `REQUESTS` times."""
        body = b'{"x":"' + b"x" * 1_500 + b'"}'
        self.number += 1
        for index in range(REQUESTS):

            async def write(transaction: Transaction, key: str = f"{self.number}-{index}") -> None:
                transaction.put(BARE, key, body, {})

            await self.deps.store.transact(write)
        return REQUESTS

    async def _validate(self, text: Callable[[int], str]) -> None:
        self.number += 1
        self.clock.advance(timedelta(seconds=1))
        name = f"request-{self.number}"
        request = draw_request(random.Random(name), name, text(self.number), self.clock.now())
        decision = await validate_outcome(self.deps, request)
        self.flags.update(flag.rule for flag in decision.flags)
