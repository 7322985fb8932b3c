"""Job that examines a candidate in a confined worker; its payload and result are JSON values."""

from typing import Any

import duckdb

from aex_models.domains import Domain
from aex_models.examination import DataOwner
from aex_models.numbers import JsonFloat
from aex_models.science import Science
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.examine import examine
from aex_outcomes.science.source_files import SourceFile

JOB = f"{__name__}:examine_candidate"
_WARMED = duckdb.__version__
"""Imports DuckDB with this module, because a worker's memory limit counts from its state before the first job."""


def examine_candidate(payload: dict[str, Any]) -> dict[str, Any]:
    """Examine the claims of one candidate, and return `{"examination": …}`.

    `payload`: `science`, `domain` (or None), `claimed_values` (`{name: the number's text, or "null"}`), `files`
    (`name`, `media_type`, `path`, `owner`), `limits` (the fields of `DataLimits`). Unreadable files are problems in the
    result; a malformed payload raises.
    """
    domain = payload["domain"]
    found = examine(
        Science.model_validate(payload["science"]),
        None if domain is None else Domain.model_validate(domain),
        {name: _parse_number(text) for name, text in payload["claimed_values"].items()},
        [SourceFile(**{**each, "owner": DataOwner(each["owner"])}) for each in payload["files"]],
        DataLimits(**payload["limits"]),
    )
    return {"examination": found.model_dump(mode="json")}


def _parse_number(text: Any) -> int | float:
    """Return the number, which keeps its text; NaN, which fails every check, for a text that is no number."""
    written = text if isinstance(text, str) else repr(text)
    try:
        return int(written) if written.lstrip("+-").isdigit() else JsonFloat(written)
    except ValueError:
        return float("nan")
