"""What every log line says that is about a contract: whose, by the ids that its message or timer names."""

from collections.abc import Mapping
from typing import Any

from aex_runtime.tracing.subjects import about_message


def log_context(subject: str, data: Mapping[str, Any] | None = None) -> dict[str, str]:
    """`contract_id`, `work_id`, `attempt_id`, `hold_id`, as far as an event or a timer names them. Ids alone: whatever
    else stands in their place is left out."""
    return {name.removeprefix("aex."): value for name, value in about_message(subject, data or {}).items()}
