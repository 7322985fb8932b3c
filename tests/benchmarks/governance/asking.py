"""Questions put to a history in turns: about labels, new prose, copies and near copies of what it holds."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from aex_governance.deps import Deps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import load_rules
from aex_models.governance import ValidationRequest
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.clock import SetClock
from aex_runtime.store.port import Collection, Transaction
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.unit_of_work import UnitOfWork
from tests.benchmarks.governance.drawing import LAST_MOMENT, ORIGINALS, Drawing, request_of
from tests.benchmarks.governance.making import store_file

ASKED = 40
"""Questions in one round."""
_BARE = Collection("benchmark-bare")
_DRAWING = Drawing(1)
Text = Callable[[int], str]
KINDS: Mapping[str, Text] = {
    "labels": lambda number: "positive " * (number % 30 + 1),
    "new prose": _DRAWING.fresh,
    "a copy": lambda number: _DRAWING.original(number % ORIGINALS),
    "a near copy": lambda number: _DRAWING.reworded(number % ORIGINALS, number),
}
"""The output of the question with a number."""
MIX = ("labels",) * 7 + ("new prose",) * 3
"""What is ordinary: three in ten are prose."""


@dataclass
class History:
    """A service's handlers over a history, and a clock that goes on from its end."""

    deps: Deps
    clock: SetClock
    asked: int
    """The number of the last question: another run on the same history goes on from another, or it would be told what
    was decided before."""
    raised: dict[str, int] = field(default_factory=dict)
    """Rule → questions that it was raised for."""

    async def ask(self, kind: str) -> int:
        """A round of questions of one kind, one after the other; how many."""
        for _ in range(ASKED):
            await self._one(KINDS[kind])
        return ASKED

    async def ask_mixed(self) -> int:
        """A round of ordinary questions."""
        for number in range(ASKED):
            await self._one(KINDS[MIX[number % len(MIX)]])
        return ASKED

    async def commit(self) -> int:
        """A round of bare commits: one document of the size of a record, each waited for."""
        body = b'{"x":"' + b"x" * 1_500 + b'"}'
        for number in range(ASKED):

            async def write(transaction: Transaction, key: str = f"{self.asked}-{number}") -> None:
                transaction.put(_BARE, key, body, {})

            await self.deps.store.transact(write)
        self.asked += 1
        return ASKED

    async def _one(self, text: Text) -> None:
        self.asked += 1
        self.clock.advance(timedelta(seconds=1))
        decision = await validate_outcome(self.deps, self._request(text(self.asked)))
        for flag in decision.flags:
            self.raised[flag.rule] = self.raised.get(flag.rule, 0) + 1

    def _request(self, text: str) -> ValidationRequest:
        """The same for the same number on whichever history."""
        name = f"asked-{self.asked}"
        return request_of(random.Random(name), name, text, self.clock.now())


def open_history(folder: Path, asked: int) -> History:
    """The service over the history in a data directory; the first question is number `asked` + 1. Close its store."""
    records = SQLiteStore(store_file(folder))
    store = SpillingStore(records, open_blobs(f"file:///{folder}/blobs"))
    clock = SetClock(LAST_MOMENT)
    return History(
        Deps(UnitOfWork("governance", store, clock, lambda _: None), store, clock, load_rules()), clock, asked
    )
