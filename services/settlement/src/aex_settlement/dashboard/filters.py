"""Filter in the query string of a dashboard page: days, parties, domain, currency and status."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from urllib.parse import urlencode

from aex_models.settlement import SettlementStatus
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest, summarize_problems
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
FILTER_NAMES = ("from", "to", *_RULES)


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Filter of settlements; None matches any value. Days are UTC, and both are included."""

    first_day: str
    last_day: str
    agent: str | None = None
    consumer: str | None = None
    domain: str | None = None
    currency: str | None = None
    status: str | None = None

    def to_query_string(self, **changes: str | None) -> str:
        """Return the filter as a query string with some fields changed; None removes a field."""
        changed = replace(self, **changes)  # type: ignore[arg-type]  # dataclasses.replace knows no field's type
        pairs = {_ADDRESS.get(each.name, each.name): getattr(changed, each.name) for each in fields(changed)}
        return urlencode({name: value for name, value in pairs.items() if value is not None})

    def fixed_dimensions(self) -> dict[str, str]:
        """Return the agent, consumer and domain that the filter requires, by dimension name."""
        named = {"agent": self.agent, "consumer": self.consumer, "domain": self.domain}
        return {name: value for name, value in named.items() if value is not None}

    def has_filter_besides_days(self) -> bool:
        """Return whether the filter requires anything besides the days."""
        return bool(self.fixed_dimensions()) or self.currency is not None or self.status is not None


@dataclass(frozen=True, slots=True)
class Preset:
    """Period that a page offers as a link, such as the last 30 days."""

    text: str
    first_day: str
    last_day: str


def parse_page_filter(query: Mapping[str, str], today: date) -> PageFilter:
    """Return the filter in a query string; an empty field matches any value.

    Without days, the last 30 days match. Raises `InvalidRequest` with each invalid field.
    """
    texts = {name: query.get(name, "").strip() or None for name in FILTER_NAMES}
    problems = [
        Problem(path=f"query/{name}", code="invalid_filter", message=f"{name} {hint}")
        for name, (pattern, hint) in _RULES.items()
        for text in [texts[name]]
        if text is not None and pattern.fullmatch(text) is None
    ]
    if problems:
        raise InvalidRequest("invalid_filter", summarize_problems(problems), problems)
    parse_period(texts["from"], texts["to"])
    last = texts["to"] or max(today.isoformat(), texts["from"] or "")
    first = texts["from"] or _subtract_days(date.fromisoformat(last), _USUAL_DAYS - 1).isoformat()
    return PageFilter(first, last, *(texts[name] for name in _RULES))


def build_period_presets(today: date) -> tuple[Preset, ...]:
    """Return the periods that pages offer: 30 days, this month, last month, this year."""
    this_month = today.replace(day=1)
    before = _subtract_days(this_month, 1)
    return tuple(
        Preset(text, first.isoformat(), last.isoformat())
        for text, first, last in (
            ("Last 30 days", _subtract_days(today, _USUAL_DAYS - 1), today),
            ("This month", this_month, today),
            ("Last month", before.replace(day=1), before),
            ("This year", today.replace(month=1, day=1), today),
        )
    )


def count_days(selection: PageFilter) -> int:
    """Return the number of days of the filter's period."""
    return (date.fromisoformat(selection.last_day) - date.fromisoformat(selection.first_day)).days + 1


def _subtract_days(day: date, days: int) -> date:
    return date.fromordinal(max(day.toordinal() - days, 1))
