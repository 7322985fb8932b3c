"""The comparison of documents with what is printed."""

import pytest

from tests.docs.documented import matches_output


@pytest.mark.parametrize(
    ("printed", "documented"),
    [
        ("passed\n", "passed"),
        ("{'contract_id': 'ctr_1', 'total': '0.15'}", "{'contract_id': 'ctr_…', 'total': '0.15'}"),
        ("first\nsecond\nthird\nlast\n", "first\n…\nlast\n"),
        ("first\nlast\n", "first\n…\nlast\n"),
        ("a (b) [c]*\n", "a (b) [c]*\n"),
    ],
)
def test_documented_output_with_gaps_matches_the_printed_one(printed: str, documented: str) -> None:
    assert matches_output(printed, documented)


@pytest.mark.parametrize(
    ("printed", "documented"),
    [
        ("rejected\n", "passed\n"),
        ("passed\nand more\n", "passed\n"),
        ("passed\n", "passed\nand more\n"),
        ("'total': '0.16'\n", "…'total': '0.15'…\n"),
        ("one\ntwo\n", "one…two\n"),
        ("", "passed\n"),
    ],
)
def test_missing_output_does_not_match(printed: str, documented: str) -> None:
    assert not matches_output(printed, documented)
