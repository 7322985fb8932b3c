"""Patterns run on RE2."""

import time

import pytest

from aex_outcomes.kernels.patterns import InvalidPattern, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\d{4}", "in 2024", True),
        (r"^total: \d+$", "total: 12", True),
        (r"^total: \d+$", "the total: 12", False),
        (r"(?i)CAT", "cat", True),
        (r"\p{Han}+", "日本", True),
        (r"é", "café", True),
    ],
)  # fmt: skip
def test_a_pattern_is_searched_anywhere(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(pattern).search(text) is not None) is found


@pytest.mark.parametrize(
    "pattern", ["(?=hush)", r"(hush)\1", "(hush", "[hush", "(((hush{1000}){1000}){1000})", "\ud800hush"]
)
def test_what_re2_does_not_take_is_refused_without_quoting_it(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidPattern) as refused:
        compile_pattern(pattern)
    captured = capfd.readouterr()
    assert "hush" not in str(refused.value) + captured.out + captured.err


def test_a_pattern_that_backtracking_engines_stall_on_is_linear() -> None:
    started = time.perf_counter()
    assert compile_pattern("^(a+)+$").search("a" * 100_000 + "b") is None
    assert time.perf_counter() - started < 10
