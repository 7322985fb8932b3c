"""The real store, but for commits that the process does not survive."""

from collections.abc import Awaitable, Callable, Sequence

from aex_runtime.store.port import Store, T, Transaction, Write
from aex_runtime.store.transactions import BufferedTransaction
from tests.e2e.dying.deaths import Deaths, Moment
from tests.parts.passing import ForwardingStore

StepOf = Callable[[Sequence[Write]], tuple[str, str] | None]
"""Function from writes to the step and the contract of a commit; None if no test names it."""


class DyingStore(ForwardingStore):
    """Asks before and after each commit whether the process is to die over it."""

    def __init__(self, store: Store, step_of: StepOf, deaths: Deaths) -> None:
        super().__init__(store)
        self._step_of, self._deaths = step_of, deaths

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        step: tuple[str, str] | None = None

        async def watched(transaction: Transaction) -> T:
            nonlocal step
            result = await fn(transaction)
            if not isinstance(transaction, BufferedTransaction):
                raise TypeError(f"{type(transaction).__name__} does not tell what it writes")
            step = self._step_of(transaction.writes)
            self._ask(step, Moment.BEFORE)
            return result

        result = await super().transact(watched)
        self._ask(step, Moment.AFTER)
        return result

    def _ask(self, step: tuple[str, str] | None, moment: Moment) -> None:
        if step is not None:
            name, contract_id = step
            self._deaths.at(name, moment, contract_id)
