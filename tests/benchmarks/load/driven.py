"""What became of one contract of the load, as its parties saw it."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Self


@dataclass(slots=True)
class Driven:
    """Filled in as it goes. Moments are seconds since 1970, lengths of time seconds; None: it did not come so far."""

    number: int
    begun: float
    """When its work was to be posted: in an open loop the moment that was drawn, however late the request went out."""
    contract_id: str | None = None
    work_s: float | None = None
    """`POST /v1/work`, until its answer."""
    verdicts_s: list[float] = field(default_factory=list)
    """For each candidate the time from its post to the verdict."""
    posted: float | None = None
    """When the last candidate was posted."""
    settled: float | None = None
    """The moment that the settlement bears. Its commit comes on top."""
    asked_again: list[str] = field(default_factory=list)
    """Requests that had to be repeated, and why."""
    error: str | None = None
    """What ended it before it was settled."""

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def of(cls, line: str) -> Self:
        """What `line` wrote."""
        return cls(**json.loads(line))
