"""Governance as it runs: its handler and its packaged rules over a store, and a clock that stories move."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from aex_governance.deps import Deps
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.config import RuleConfig
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_runtime.clock import SetClock
from aex_runtime.store.factory import open_store
from aex_runtime.unit_of_work import Committed, UnitOfWork
from tests.benchmarks.fraud.population import START, Limits

Validate = Callable[[ValidationRequest, datetime], Awaitable[ValidationDecision]]
"""Decides on a request that comes in at this time."""
Serve = Callable[[], AbstractAsyncContextManager[Validate]]
STORES = ("memory", "sqlite")


def limits_of(rules: Mapping[str, RuleConfig]) -> Limits:
    """What is too much in which time, as the rule `velocity` has it."""
    found = rules["velocity"].thresholds
    return Limits(found["max_agent_outcomes"], found["max_pair_outcomes"], found["window_s"] / 60)


def serving(rules: Mapping[str, RuleConfig], store: str) -> Serve:
    """The service with these rules, over a new store of this kind."""

    @asynccontextmanager
    async def serve() -> AsyncIterator[Validate]:
        with TemporaryDirectory(prefix="aex-governance-report-") as place:
            url = "memory:" if store == "memory" else f"sqlite:///{Path(place) / 'governance.db'}"
            opened, clock = open_store(url), SetClock(START)
            deps = Deps(UnitOfWork("governance", opened, clock, _nobody), opened, clock, rules)

            async def validate(request: ValidationRequest, at: datetime) -> ValidationDecision:
                clock.advance(at - clock.now())
                return await validate_outcome(deps, request)

            try:
                yield validate
            finally:
                await opened.close()

    return serve


def _nobody(_: Committed) -> None:
    """Nobody waits for events here."""
