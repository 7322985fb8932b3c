"""What several routes take, and how their answers are shown."""

from typing import Annotated, Any

from fastapi import Depends, Path, Query
from pydantic import BaseModel

from aex_models.audiences import Audience, project
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.periods import DAY, INSTANT
from aex_settlement.rules.visibility import READERS

Json = dict[str, Any]
Reader = Annotated[Principal, Depends(Allow(*READERS))]
Finance = Annotated[Principal, Depends(Allow(Audience.FINANCE))]
Once = Annotated[IdempotentRequest, Depends(idempotent_request)]
Page = Annotated[PageRequest, Depends(page_request)]
FirstDay = Annotated[
    str | None, Query(alias="from", description="First UTC day, such as 2025-01-01", json_schema_extra=DAY)
]
LastDay = Annotated[str | None, Query(alias="to", description="Last UTC day, included", json_schema_extra=DAY)]
AsOf = Annotated[
    str | None,
    Query(description="RFC 3339 instant, such as 2025-01-31T12:00:00Z; default now", json_schema_extra=INSTANT),
]
CurrencyCode = Annotated[str | None, Query(pattern="^[A-Z]{3}$", description="ISO 4217, such as USD")]
Name = Annotated[str | None, Query(max_length=128, pattern="^[A-Za-z0-9._:@/+-]+$")]
ContractId = Annotated[str, Path(max_length=128)]
AccountId = Annotated[str, Path(max_length=160, description="Such as consumer:acme or platform:fees")]


def shown(answer: BaseModel, reader: Principal) -> Json:
    """What this reader may see of an answer; a settlement carries its own feedback level."""
    return project(answer, reader.role)
