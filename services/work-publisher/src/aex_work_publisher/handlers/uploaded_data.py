"""Raw data that consumers upload: who may read them, and whether a work names its consumer's own."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aex_models.artifacts import MAX_TOTAL_BYTES
from aex_models.audiences import Audience
from aex_models.work import Problem
from aex_outcomes.submission import Checked
from aex_runtime.artifacts.uploads import Uploads, not_uploaded, total_size
from aex_runtime.identity.principal import Principal
from aex_work_publisher.deps import Deps
from aex_work_publisher.repository import DATA_AREA, UPLOADS

_MAX_FILES = 10
"""More of them are refused for their number."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def uploads_of(deps: Deps) -> Uploads:
    """The service's uploads."""
    return Uploads(UPLOADS, DATA_AREA, deps.blobs, deps.store, deps.unit_of_work)


async def size_of_own(deps: Deps, reader: Principal, digest: str) -> int | None:
    """The size of what the reader uploaded itself."""
    found = await uploads_of(deps).of(reader.role, reader.id, [digest])
    return found[digest].size if found else None


async def with_data_checked(deps: Deps, consumer: Principal, body: Any, checked: Checked) -> Checked:
    """The check of a submission, and whether `science.data` names files that its consumer uploaded."""
    named = _named(body)
    if not named:
        return checked
    found = await uploads_of(deps).of(Audience.CONSUMER, consumer.id, named.values())
    problems = not_uploaded(list(named.items()), found, "/v1/artifacts")
    if total_size(named.values(), found) > MAX_TOTAL_BYTES:
        message = f"At most {MAX_TOTAL_BYTES // 1_000_000} MB of data in all"
        problems.append(Problem(path="/science/data", code="data_too_large", message=message))
    if not problems:
        return checked
    return replace(
        checked,
        submission=None,
        problems=(*checked.problems, *problems),
        warnings=(),
        quote=None,
        only_shape=False,
    )


def _named(body: Any) -> dict[str, str]:
    """The digests that a submission names, by JSON pointer; whatever else is wrong with it is told elsewhere."""
    science = body.get("science") if isinstance(body, Mapping) else None
    data = science.get("data") if isinstance(science, Mapping) else None
    files = enumerate(data[:_MAX_FILES]) if isinstance(data, list) else ()
    digests = {f"/science/data/{at}/sha256": file.get("sha256") for at, file in files if isinstance(file, Mapping)}
    return {path: each for path, each in digests.items() if isinstance(each, str) and _DIGEST.fullmatch(each)}
