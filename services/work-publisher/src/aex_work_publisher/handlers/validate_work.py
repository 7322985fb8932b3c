"""Checking a work that nobody has published yet."""

import asyncio
from typing import Any

from aex_models.work import WorkValidation
from aex_work_publisher.deps import Deps


async def validate_work(deps: Deps, body: Any) -> WorkValidation:
    """What is wrong and what is odd with a submission, and what it could cost. Stores nothing."""
    found = await asyncio.to_thread(deps.check, body)
    return WorkValidation(valid=not found.problems, problems=found.problems, warnings=found.warnings, quote=found.quote)
