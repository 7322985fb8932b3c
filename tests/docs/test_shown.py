"""The comparison of documents with what is printed."""

import pytest

from tests.docs.shown import is_shown


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("passed\n", "passed"),
        ("{'contract_id': 'ctr_1', 'total': '0.15'}", "{'contract_id': 'ctr_…', 'total': '0.15'}"),
        ("first\nsecond\nthird\nlast\n", "first\n…\nlast\n"),
        ("first\nlast\n", "first\n…\nlast\n"),
        ("a (b) [c]*\n", "a (b) [c]*\n"),
    ],
)
def test_what_is_shown_with_gaps_was_printed(printed: str, shown: str) -> None:
    assert is_shown(printed, shown)


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("rejected\n", "passed\n"),
        ("passed\nand more\n", "passed\n"),
        ("passed\n", "passed\nand more\n"),
        ("'total': '0.16'\n", "…'total': '0.15'…\n"),
        ("one\ntwo\n", "one…two\n"),
        ("", "passed\n"),
    ],
)
def test_what_was_not_printed_is_not_shown(printed: str, shown: str) -> None:
    assert not is_shown(printed, shown)
