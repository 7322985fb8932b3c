"""Checking a work: one that is being published, and one that nobody publishes yet."""

import asyncio
from dataclasses import dataclass
from typing import Any

from aex_models.work import WorkValidation
from aex_outcomes.submission import Checked
from aex_runtime.identity.principal import Principal
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.uploaded_data import with_data_checked

_OFF_LOOP_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Body:
    """A submission as it was parsed from JSON, and how long it was."""

    value: Any
    size: int


async def check_work(deps: Deps, consumer: Principal, body: Body) -> Checked:
    """What is wrong and what is odd with a submission, and what it could cost.

    A large one may hold megabytes of schemas and keywords: it is looked at off the event loop. For a small one the
    way to a thread and back would cost more than the look.
    """
    if body.size <= _OFF_LOOP_BYTES:
        checked = deps.check(body.value)
    else:
        checked = await asyncio.to_thread(deps.check, body.value)
    return await with_data_checked(deps, consumer, body.value, checked)


async def validate_work(deps: Deps, consumer: Principal, body: Body) -> WorkValidation:
    """What `submit_work` would say. Stores nothing."""
    found = await check_work(deps, consumer, body)
    return WorkValidation(valid=not found.problems, problems=found.problems, warnings=found.warnings, quote=found.quote)
