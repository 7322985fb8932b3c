"""What a pattern costs to search, and which patterns are too much."""

import time

import pytest

from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.kernels.pattern_places import places
from aex_outcomes.kernels.patterns import MAX_PLACES, InvalidPattern, check_pattern, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("total", 0),
        ("cat|dog|bird", 1),
        (r"\d{1,3}", 3),
        (r"[A-Z]{2,50}", 50),
        (".{0,200}", 200),
        ("x{7}", 7),
        ("x{7,}", 8),
        (r"a.*b\w+c?", 3),
        ("(a.{10}){5}", 50),
        ("(?:a|b){5}", 5),
        ("((a|b){3}c){4}", 12),
        ("(?P<year>[0-9]{4})-(?i)x", 4),
        ("(?i:ab.)", 1),
        (r"[\]{9}]{2}", 2),
        (r"[]{9}]{2}", 2),
        (r"[[:alpha:]]{3}", 3),
        (r"\{5}", 0),
        (r"\Q.{9}\E.", 1),
        (r"\Q.{9}", 0),
        (r"\p{Han}{3}\pL\x{65e5}{2}\x41\.", 6),
        (r"^\bword\b$", 0),
        ("x{", 0),
        ("x{a}", 0),
        (".{2}?.??", 3),
    ],
)
def test_classes_and_repetitions_are_counted_as_they_are_multiplied_out(pattern: str, expected: int) -> None:
    compile_pattern(pattern)
    assert places(pattern) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{1,3}(,\d{3})*(\.\d{2})?$",
        r"[A-Z]{2,50}",
        r"(?i)total.{0,200}eur",
        r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
        r"^(\S+\s+){5,100}$",
        "|".join(f"keyword{n}" for n in range(500)),
        r"[0-9a-f]{64}|[0-9a-f]{128}",
        r"^.{100,500}$",
        r".{1,64}@.{1,255}",
    ],
)
def test_honest_patterns_are_taken(pattern: str) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["a.{1000}$", "(a[ab]{0,20}){40}z", "a" + "[ab]{0,100}b" * 7, "a" + "[ab]?" * 700, "(a|b)" * 700, "(x.{30}){30}y"],
)
def test_what_would_take_long_is_refused_with_the_fix_and_without_quoting_it(pattern: str) -> None:
    with pytest.raises(InvalidPattern, match=r"at most 600 .* lower the counts") as refused:
        check_pattern(pattern)
    assert "[ab]" not in str(refused.value)


def test_at_submission_the_problem_names_its_path() -> None:
    [problem] = ContainsExtractor().check_evaluation({"pattern": "a.{1000}$"})
    assert (problem.path, problem.code) == ("/pattern", "invalid_pattern")
    assert "come to 1000 places" in problem.message


def test_a_pattern_of_a_work_that_was_taken_before_still_gives_a_verdict() -> None:
    assert compile_pattern("a.{1000}$").search("a" + "b" * 1_000)


def test_the_most_that_is_taken_is_searched_in_a_bounded_time() -> None:
    worst = f"a[ab]{{0,{MAX_PLACES}}}z"
    check_pattern(worst)
    hostile = format(3**630_000 & ((1 << 1_000_000) - 1), "0b").translate(str.maketrans("01", "ab"))
    started = time.process_time()
    assert compile_pattern(worst).search(hostile) is None
    assert time.process_time() - started < 15
