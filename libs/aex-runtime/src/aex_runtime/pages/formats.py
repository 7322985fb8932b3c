"""Amounts and counts in the format of the reader's locale; days and times are ISO and UTC."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel import Locale

FALLBACK = "en"
_TAG = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?")
_MAX_HEADER, _MAX_TAGS = 300, 10
_GENERAL = "¤#,##0.00####"


@dataclass(frozen=True, slots=True)
class Formats:
    """Formats values as text in one locale, for templates."""

    locale: "Locale"

    @property
    def tag(self) -> str:
        """Name of the locale as browsers write it, such as `de-CH`."""
        return str(self.locale).replace("_", "-")

    def money(self, amount: Decimal | str, currency: str) -> str:
        """Return an amount with its currency, with two to six decimals and never rounded."""
        from babel.numbers import format_currency  # noqa: PLC0415 slow import, made with the first page

        standard = self.locale.currency_formats["standard"].pattern
        pattern = standard.replace("0.00", "0.00####") if "0.00" in standard else _GENERAL
        return format_currency(Decimal(amount), currency, pattern, self.locale, currency_digits=False)

    def count(self, number: int) -> str:
        """Return an integer with the digit grouping of the locale."""
        from babel.numbers import format_decimal  # noqa: PLC0415 slow import, made with the first page

        return format_decimal(number, locale=self.locale)

    def number(self, value: object) -> str:
        """Return the value or threshold of a metric as text, a float with 12 significant digits."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:.12g}" if isinstance(value, float) else str(value)

    def instant(self, moment: datetime | str) -> str:
        """Return a time as text, to the second and in UTC."""
        at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def formats_for(accept_language: str | None) -> Formats:
    """Return the formats of the first known locale in an `Accept-Language` header, else of English."""
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 slow import, made with the first page

    for tag in _preferred_tags(accept_language or ""):
        try:
            return Formats(Locale.parse(tag, sep="_"))
        except (UnknownLocaleError, ValueError):
            continue
    return Formats(Locale.parse(FALLBACK))


def _preferred_tags(header: str) -> Iterator[str]:
    """Yield the locale tags of the header by their weight; equal weights in their order."""
    weighed = []
    for position, entry in enumerate(header[:_MAX_HEADER].split(",")[:_MAX_TAGS]):
        tag, _, weight = (part.strip() for part in entry.partition(";"))
        if _TAG.fullmatch(tag):
            weighed.append((-_quality(weight), position, tag.replace("-", "_")))
    yield from (tag for quality, _, tag in sorted(weighed) if quality)


def _quality(text: str) -> float:
    name, _, value = text.partition("=")
    return float(value) if name.strip() == "q" and re.fullmatch(r"[01](\.[0-9]{0,3})?", value) else 1.0
