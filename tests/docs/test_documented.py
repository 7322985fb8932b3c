"""The comparison of documents with what is printed."""

import pytest

from tests.docs.reader import matches_output


@pytest.mark.parametrize(
    ("printed", "documented", "expected"),
    [
        ("passed\n", "passed", True),
        ("{'contract_id': 'ctr_1', 'total': '0.15'}", "{'contract_id': 'ctr_…', 'total': '0.15'}", True),
        ("first\nsecond\nthird\nlast\n", "first\n…\nlast\n", True),
        ("first\nlast\n", "first\n…\nlast\n", True),
        ("a (b) [c]*\n", "a (b) [c]*\n", True),
        ("passed\nand more\n", "passed\n", False),
        ("passed\n", "passed\nand more\n", False),
        ("'total': '0.16'\n", "…'total': '0.15'…\n", False),
        ("one\ntwo\n", "one…two\n", False),
        ("", "passed\n", False),
    ],
)
def test_printed_output_is_compared_with_the_documented_gaps(printed: str, documented: str, expected: bool) -> None:
    assert matches_output(printed, documented) is expected
