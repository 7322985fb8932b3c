"""What a page shows, as its address says it: days, parties, domain, currency, status. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from urllib.parse import urlencode

from aex_models.settlement import SettlementStatus
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest, told
from aex_runtime.periods import parse_period

_NAME = re.compile(r"[A-Za-z0-9._:@/+-]{1,128}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_STATUS = re.compile("|".join(SettlementStatus))
_USUAL_DAYS = 30
_RULES = {
    "agent": (_NAME, "must be an agent's id, such as agent_7"),
    "consumer": (_NAME, "must be a consumer's id, such as acme"),
    "domain": (_NAME, "must be a domain, such as general"),
    "currency": (_CURRENCY, "must be an ISO 4217 code, such as USD"),
    "status": (_STATUS, f"must be one of {', '.join(SettlementStatus)}"),
}
_ADDRESS = {"first_day": "from", "last_day": "to"}


@dataclass(frozen=True, slots=True)
class Filter:
    """What is shown; None is any. Days are UTC, both included."""

    first_day: str
    last_day: str
    agent: str | None = None
    consumer: str | None = None
    domain: str | None = None
    currency: str | None = None
    status: str | None = None

    def query(self, **changes: str | None) -> str:
        """As the query of an address, with some of it changed; None leaves a name out."""
        changed = replace(self, **changes)  # type: ignore[arg-type]  # dataclasses.replace knows no field's type
        pairs = {_ADDRESS.get(each.name, each.name): getattr(changed, each.name) for each in fields(changed)}
        return urlencode({name: value for name, value in pairs.items() if value is not None})

    def equal(self) -> dict[str, str]:
        """The dimensions of a breakdown that are fixed."""
        named = {"agent": self.agent, "consumer": self.consumer, "domain": self.domain}
        return {name: value for name, value in named.items() if value is not None}

    def narrowed(self) -> bool:
        """Whether anything but days is asked for."""
        return bool(self.equal()) or self.currency is not None or self.status is not None


@dataclass(frozen=True, slots=True)
class Preset:
    """A period that finance asks for often."""

    text: str
    first_day: str
    last_day: str


def parse_filter(given: Mapping[str, str], today: date) -> Filter:
    """The filter of an address; an empty field is any, and without days the last 30.

    Raises `InvalidRequest`, naming every field that is wrong and what it takes.
    """
    texts = {name: given.get(name, "").strip() or None for name in ("from", "to", *_RULES)}
    problems = [
        Problem(path=f"query/{name}", code="invalid_filter", message=f"{name} {hint}")
        for name, (pattern, hint) in _RULES.items()
        for text in [texts[name]]
        if text is not None and pattern.fullmatch(text) is None
    ]
    if problems:
        raise InvalidRequest("invalid_filter", told(problems), problems)
    parse_period(texts["from"], texts["to"])
    last = texts["to"] or max(today.isoformat(), texts["from"] or "")
    first = texts["from"] or _earlier(date.fromisoformat(last), _USUAL_DAYS - 1).isoformat()
    return Filter(first, last, *(texts[name] for name in _RULES))


def presets(today: date) -> tuple[Preset, ...]:
    """The usual periods, as of a day."""
    this_month = today.replace(day=1)
    before = _earlier(this_month, 1)
    return tuple(
        Preset(text, first.isoformat(), last.isoformat())
        for text, first, last in (
            ("Last 30 days", _earlier(today, _USUAL_DAYS - 1), today),
            ("This month", this_month, today),
            ("Last month", before.replace(day=1), before),
            ("This year", today.replace(month=1, day=1), today),
        )
    )


def day_count(wanted: Filter) -> int:
    """How many days are asked for."""
    return (date.fromisoformat(wanted.last_day) - date.fromisoformat(wanted.first_day)).days + 1


def _earlier(day: date, days: int) -> date:
    """So many days before, or the first day there is."""
    return date.fromordinal(max(day.toordinal() - days, 1))
