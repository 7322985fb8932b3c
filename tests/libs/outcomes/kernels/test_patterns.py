import time

import pytest

from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.kernels.patterns import MAX_COMPLEXITY, InvalidPattern, check_pattern, compile_pattern
from aex_outcomes.kernels.patterns import pattern_complexity as complexity


def test_pattern_is_searched_anywhere_in_linear_time() -> None:
    for pattern, text in ((r"\d{4}", "in 2024"), (r"(?i)CAT", "cat"), (r"\p{Han}+", "日本")):
        assert compile_pattern(pattern).search(text)
    assert not compile_pattern(r"^total: \d+$").search("the total: 12")
    started = time.process_time()
    assert not compile_pattern("^(a+)+$").search("a" * 100_000 + "b")
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "pattern", ["(?=hush)", r"(hush)\1", "(hush", "[hush", "(((hush{1000}){1000}){1000})", "\ud800hush"]
)
def test_what_re2_does_not_take_is_refused_without_quoting_it(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidPattern) as refused:
        compile_pattern(pattern)
    captured = capfd.readouterr()
    assert "hush" not in str(refused.value) + captured.out + captured.err


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("total", 0),
        ("cat|dog|bird", 1),
        (r"\d{1,3}", 3),
        (".{0,200}", 200),
        ("x{7,}", 8),
        (r"a.*b\w+c?", 3),
        ("(a.{10}){5}", 50),
        ("((a|b){3}c){4}", 12),
        ("(?P<year>[0-9]{4})-(?i)x", 4),
        ("(?i:ab.)", 1),
        (r"[\]{9}]{2}", 2),
        (r"[[:alpha:]]{3}", 3),
        (r"\Q.{9}\E.", 1),
        (r"\p{Han}{3}\pL\x{65e5}{2}\x41\.", 6),
        (r"^\bword\b$", 0),
        ("x{", 0),
        (".{2}?.??", 3),
    ],
)
def test_classes_and_repetitions_are_counted_as_they_are_multiplied_out(pattern: str, expected: int) -> None:
    compile_pattern(pattern)
    assert complexity(pattern) == expected


def test_usual_patterns_are_accepted() -> None:
    for pattern in (
        r"^\d{1,3}(,\d{3})*(\.\d{2})?$",
        r"(?i)total.{0,200}eur",
        r"^(\S+\s+){5,100}$",
        r".{1,64}@.{1,255}",
    ):
        check_pattern(pattern)
    check_pattern("|".join(f"keyword{n}" for n in range(500)))


@pytest.mark.parametrize(
    "pattern",
    ["a.{1000}$", "(a[ab]{0,20}){40}z", "a" + "[ab]{0,100}b" * 7, "a" + "[ab]?" * 700, "(a|b)" * 700, "(x.{30}){30}y"],
)
def test_what_would_take_long_is_refused_with_the_fix_and_without_quoting_it(pattern: str) -> None:
    with pytest.raises(InvalidPattern, match=r"maximum is 600\. Lower the counts") as refused:
        check_pattern(pattern)
    assert "[ab]" not in str(refused.value)


def test_problem_at_submission_names_its_path_and_earlier_works_keep_their_pattern() -> None:
    [problem] = ContainsExtractor().check_evaluation({"pattern": "a.{1000}$"})
    assert (problem.path, problem.code) == ("/pattern", "invalid_pattern")
    assert "make 1000 states" in problem.message
    assert compile_pattern("a.{1000}$").search("a" + "b" * 1_000)


def test_most_complex_pattern_is_searched_in_bounded_time() -> None:
    worst = f"a[ab]{{0,{MAX_COMPLEXITY}}}z"
    check_pattern(worst)
    hostile = format(3**126_000 & ((1 << 200_000) - 1), "0b").translate(str.maketrans("01", "ab"))
    started = time.process_time()
    assert compile_pattern(worst).search(hostile) is None
    assert time.process_time() - started < 3
