from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.pages.formats import formats_for


@pytest.mark.parametrize(
    ("language", "amount", "currency", "written"),
    [
        ("en", "1234.5", "USD", "$1,234.50"),
        ("en", "0.085", "USD", "$0.085"),
        ("en", "-0.000001", "EUR", "-€0.000001"),
        ("en", "12", "JPY", "¥12.00"),
        ("de", "1234.5", "EUR", "1.234,50\xa0€"),
        ("de-CH", "1234567.125", "CHF", "CHF\xa01’234’567.125"),
        ("fr", "1234.5", "EUR", "1\u202f234,50\xa0€"),
        ("en-IN", "1234567.5", "INR", "₹12,34,567.50"),
    ],
)
def test_amounts_follow_the_locale(language: str, amount: str, currency: str, written: str) -> None:
    assert formats_for(language).money(amount, currency) == written


@given(st.integers(-(10**18), 10**18))
def test_no_amount_is_ever_rounded(micros: int) -> None:
    amount = Decimal(micros).scaleb(-6)
    written = formats_for("en").money(amount, "USD")
    assert Decimal(written.replace("$", "").replace(",", "")) == amount
    assert len(written.partition(".")[2]) >= 2


TAGS: dict[str, list[str | None]] = {
    "en": [None, "", "*", ",".join(["xx"] * 50), "x" * 10_000, "en_\0"],
    "de": ["de", "xx, de;q=0.5", "en;q=0.1, de;q=0.9", "de;q=nan, fr"],
    "fr": ["de;q=0, fr"],
    "pt-BR": ["../../etc/passwd, pt-BR"],
    "zh-Hant-TW": ["zh-Hant-TW"],
}


@pytest.mark.parametrize(("tag", "header"), [(tag, header) for tag, headers in TAGS.items() for header in headers])
def test_first_known_locale_is_used(header: str | None, tag: str) -> None:
    assert formats_for(header).tag == tag


def test_times_are_in_utc() -> None:
    formats = formats_for("de")
    assert formats.instant("2025-03-01T13:00:00.999+01:00") == "2025-03-01 12:00:00 UTC"
    assert formats.instant(datetime(2025, 3, 1, 12, tzinfo=UTC)) == "2025-03-01 12:00:00 UTC"
