import json
import random
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.examination import Examination, MixingRule
from aex_models.science import Science
from aex_outcomes import DataLimits, DomainRegistry, SourceFile
from aex_outcomes.science.examine import examine
from aex_outcomes.science.gate import decide_science_result
from aex_outcomes.science.job import examine_candidate
from tests.libs.outcomes.science.conditions import MEANS, MIXED_MEAN, ONE, TWO, csv_of, scores
from tests.libs.outcomes.science.raw_data import CONSUMER, parquet, recomputed, spec, written

DMS = DomainRegistry.load().get("bioinformatics/DMS")
DEFAULT = ("value_ranges", "recompute_statistics")
PER_GROUP = {"mean_fitness[condition=A]": "-0.714", "mean_fitness[condition=B]": "23.6"}


def examined(claims: dict[str, Any], *files: SourceFile, domain: Any = DMS, **science: Any) -> Examination:
    payload = {
        "science": science,
        "domain": domain.model_dump(mode="json") if domain else None,
        "claimed_values": claims,
        "files": [asdict(each) for each in files],
        "limits": asdict(DataLimits()),
    }
    return Examination.model_validate(json.loads(json.dumps(examine_candidate(payload)))["examination"])


def result(found: Examination, **science: Any) -> tuple[bool | None, list[str]]:
    concluded = decide_science_result(Science.model_validate(science), found, None)
    return concluded.passed, [each.code for each in concluded.reasons]


def statuses(found: Examination, *names: str) -> dict[str, str]:
    return {each.name: each.status.value for each in found.reconciliation if each.name in names}


def test_mean_over_two_conditions_does_not_pass_and_the_answer_names_column_and_groups(tmp_path: Path) -> None:
    found = examined({"mean_fitness": str(MIXED_MEAN)}, written(tmp_path, "scores.csv", TWO))
    passed, reasons = result(found)
    assert (passed, "mixed_groups" in reasons) == (False, True)
    assert statuses(found, "mean_fitness") == {"mean_fitness": "not_recomputed"}
    [problem] = [each for each in found.problems if each.name == "mean_fitness"]
    assert (problem.code, '"mut_score" has groups by "condition"' in problem.message) == ("mixed_groups", True)
    [mixed] = found.mixed_groups
    assert (mixed.rule, mixed.measured, mixed.column, mixed.artifact) == (
        MixingRule.RANGE, "mut_score", "condition", "scores.csv",
    )  # fmt: skip
    assert [(each.value, each.n, round(each.mean, 3)) for each in mixed.groups] == [
        ("A", 709, -0.714),
        ("B", 709, 23.6),
    ]
    assert [each.median for each in mixed.groups] == pytest.approx([statistics.median(scores(each)) for each in "AB"])
    assert [each.model_dump(mode="json") for each in mixed.where] == [
        {"column": "condition", "op": "eq", "value": "A", "abs": False}
    ]


def test_means_of_each_condition_pass(tmp_path: Path) -> None:
    found = examined(PER_GROUP, written(tmp_path, "scores.csv", TWO))
    assert result(found) == (True, [])
    assert statuses(found, *PER_GROUP) == dict.fromkeys(PER_GROUP, "match")
    values = {each.name: each.value for each in found.recomputed}
    assert values["mean_fitness[condition=A]"] == pytest.approx(statistics.fmean(scores("A")), rel=1e-12)
    assert values["max_fitness[condition=B]"] == max(scores("B"))
    wrong = examined({"mean_fitness[condition=A]": "23.6"}, written(tmp_path, "scores.csv", TWO))
    assert result(wrong) == (False, ["value_mismatch"])


def test_statistics_in_words_of_their_own_are_computed_for_a_group(tmp_path: Path) -> None:
    claims = {
        "median_fitness[condition=A]": repr(statistics.median(scores("A"))),
        "fitness_p50[condition=B]": repr(statistics.median(scores("B"))),
        "Mean_Fitness[condition=B]": "23.60",
        "mean_fitness[condition=C]": "1",
        "mean_fitness[mutant=M1A]": "1",
        "[condition=A]": "1",
    }
    found = examined(claims, written(tmp_path, "scores.csv", TWO))
    assert list(statuses(found, *claims).values()) == ["match"] * 3 + ["not_recomputed"] * 3


def test_one_condition_raises_no_issue(tmp_path: Path) -> None:
    found = examined({"mean_fitness": "-0.714"}, written(tmp_path, "scores.csv", ONE))
    assert (found.mixed_groups, result(found)) == ((), (True, []))


def spread() -> str:
    dice = random.Random(3)
    return "kind,mut_score\n" + "".join(
        f"{kind},{dice.gauss(at, 0.1)}\n" for at, kind in enumerate("ab") for _ in range(20)
    )


def test_spread_alone_is_reported_and_forbids_only_as_a_check(tmp_path: Path) -> None:
    file = written(tmp_path, "scores.csv", spread())
    mean = str(round(statistics.fmean(float(line.split(",")[1]) for line in spread().splitlines()[1:]), 4))
    found = examined({"mean_fitness": mean}, file)
    assert ([each.rule for each in found.mixed_groups], result(found)) == ([MixingRule.SPREAD], (True, []))
    demands = {"checks": [*DEFAULT, "mixed_groups"]}
    refused = examined({"mean_fitness": mean}, file, **demands)
    assert result(refused, **demands) == (False, ["mixed_groups", "nothing_recomputed"])
    per_group = examined({"mean_fitness[kind=b]": "1.0"}, file, **demands)
    assert statuses(per_group, "mean_fitness[kind=b]") == {"mean_fitness[kind=b]": "match"}
    assert result(per_group, **demands) == (True, [])


def test_other_claims_do_not_let_a_mixture_pass(tmp_path: Path) -> None:
    table = spread().replace("mut_score", "mut_score,depth").replace("\n", ",7\n").replace("depth,7", "depth")
    demands = {"checks": [*DEFAULT, "mixed_groups"]}
    found = examined({"mean_fitness": "0.5", "depth_mean": "7"}, written(tmp_path, "a.csv", table), **demands)
    assert result(found, **demands) == (False, ["mixed_groups"])


def test_statistics_of_the_work_are_computed_over_the_mixture(tmp_path: Path) -> None:
    mean = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}
    one = {**mean, "name": "of_a", "where": [{"column": "condition", "op": "eq", "value": "A"}]}
    file, claims = written(tmp_path, "scores.csv", TWO), {"mean_fitness": str(MIXED_MEAN), "of_a": "-0.714"}
    demands: dict[str, Any] = {"statistics": [mean, one], "checks": ["recompute_statistics"]}
    found = examined(claims, file, **demands)
    assert statuses(found, *claims) == dict.fromkeys(claims, "match")
    assert ([each.statistics for each in found.mixed_groups], result(found, **demands)) == (
        [("mean_fitness",)], (True, []),
    )  # fmt: skip
    checked = demands | {"checks": ["recompute_statistics", "mixed_groups"]}
    assert result(examined(claims, file, **checked), **checked) == (False, ["mixed_groups"])
    own = written(tmp_path, "own.csv", TWO, CONSUMER)
    assert result(examined(claims, own, **checked), **checked) == (True, [])


def test_groups_of_the_consumers_data_are_secret_and_named_in_no_reason(tmp_path: Path) -> None:
    file = written(tmp_path, "own.csv", TWO.replace(",A,", ",canary,"), CONSUMER)
    found = examined({"mean_fitness": str(MIXED_MEAN)}, file)
    assert [each.secret for each in found.mixed_groups] == [True]
    concluded = decide_science_result(Science(), found, None)
    assert concluded.passed is False
    assert "canary" not in str(concluded.reasons)
    assert "canary" not in str(found.problems)
    [nothing] = [each for each in concluded.reasons if each.code == "nothing_recomputed"]
    assert nothing.names[0] == "mean_fitness[condition=…]"
    assert "canary" in str(concluded.mixed_groups)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("values", [("a", "b"), (1, 2), ("true", "false")])
def test_every_format_has_the_same_groups(tmp_path: Path, kind: str, values: tuple[int | str, int | str]) -> None:
    rows = [{"g": value, "mut_score": at % 7 / 7 + 20.0 * by} for by, value in enumerate(values) for at in range(30)]
    content: str | bytes = "g,mut_score\n" + "".join(f"{each['g']},{each['mut_score']}\n" for each in rows)
    if kind == "jsonl":
        content = "".join(json.dumps(each) + "\n" for each in rows)
    elif kind == "parquet":
        content = parquet({name: [each[name] for each in rows] for name in ("g", "mut_score")})
    found = examine(Science(), DMS, {f"mean_fitness[g={values[0]}]": 0.405}, [written(tmp_path, f"a.{kind}", content)],
                    DataLimits())  # fmt: skip
    [mixed] = found.mixed_groups
    assert sorted((each.value, each.n) for each in mixed.groups) == sorted((value, 30) for value in values)
    assert [each.status.value for each in found.reconciliation if each.claimed] == ["match"]


@pytest.mark.parametrize(
    "column",
    [
        [f"v{at % 13}" for at in range(130)],  # too many values
        [f"v{at % 2}" if at < 120 else "" for at in range(130)],  # too many missing
        [at % 2 + 0.5 for at in range(130)],  # no integers
        ["a" if at else "b" for at in range(130)],  # a group of one
        ["x" * (101 + at % 2) for at in range(130)],  # too long
        [f"{at}" for at in range(130)],  # all different
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_are_no_groups_are_ignored(tmp_path: Path, column: list[Any], kind: str) -> None:
    scored = [100.0 * (at % 2) + at / 1_000 for at in range(130)]
    content: str | bytes = "g,mut_score\n" + "".join(f"{g},{x}\n" for g, x in zip(column, scored, strict=True))
    if kind == "parquet":
        content = parquet({"g": column, "mut_score": scored})
    found = examined({}, written(tmp_path, f"a.{kind}", content))
    assert found.mixed_groups == ()
    assert {each.name for each in found.recomputed} >= {"mean_fitness"}


@pytest.mark.parametrize(("one", "other"), [("A", "A "), ("1", "1.0"), ("1", "01"), ("1", " +1")])
def test_spellings_of_a_value_are_one_group(tmp_path: Path, one: str, other: str) -> None:
    content = TWO.replace(",A,", f",{one},").replace(",B,", ",2,").replace(f",{one},", f",{other},", 3)
    found = examined({f"mean_fitness[condition={one}]": "-0.714"}, written(tmp_path, "a.csv", content))
    assert sorted((str(each.value), each.n) for each in found.mixed_groups[0].groups) == sorted(
        [(one, 709), ("2", 709)]
    )
    assert [each.status.value for each in found.reconciliation if each.claimed] == ["match"]


def test_integers_that_parquet_stores_as_floats_are_groups(tmp_path: Path) -> None:
    groups = [*([1.0] * 709), *([2.0] * 709), None, float("nan"), -0.0, 0.0]
    content = parquet({"g": groups, "mut_score": [*scores("A"), *scores("B"), 1.0, 1.0, 1.0, 1.0]})
    found = examined({"mean_fitness[g=1]": "-0.714"}, written(tmp_path, "a.parquet", content))
    assert [(each.value, each.n) for each in found.mixed_groups[0].groups] == [(1, 709), (2, 709)]
    assert [each.status.value for each in found.reconciliation if each.claimed] == ["match"]


def test_few_rows_outside_the_groups_do_not_hide_them(tmp_path: Path) -> None:
    extra = "".join(f"X{at}A,{other},0\n" for at, other in enumerate(["", "NA", "C", "D"]))
    found = examined({}, written(tmp_path, "a.csv", TWO + extra))
    assert [each.value for each in found.mixed_groups[0].groups] == ["A", "B"]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(-1e300, 1e300)), min_size=15, max_size=60),
    st.sampled_from(["mean", "std", "median", "max"]),
)
def test_summaries_and_statistics_of_groups_are_those_of_their_rows(rows: list[tuple[str, float]], stat: str) -> None:
    table = "g,mut_score\n" + "".join(f"{name},{value!r}\n" for name, value in rows)
    own = recomputed(table, *(spec(stat, "mut_score", name=n, where=[{"column": "g", "op": "eq", "value": n}])
                              for n in sorted({name for name, _ in rows})))  # fmt: skip
    assert own.mixed_groups == ()
    over = recomputed(table, spec("mean", "mut_score"))
    for mixed in over.mixed_groups:
        for each in mixed.groups:
            values = [value for name, value in rows if name == each.value]
            assert each.n == len(values)
            assert each.median == pytest.approx(statistics.median(values), rel=1e-9)


def test_integers_beyond_doubles_and_huge_values_have_groups(tmp_path: Path) -> None:
    table = {
        "g": ["a"] * 10 + ["b"] * 10,
        "mut_score": [2**60 + at for at in range(10)] + [2**61 + at for at in range(10)],
    }
    [mixed] = examined({}, written(tmp_path, "a.parquet", parquet(table))).mixed_groups
    assert [each.median for each in mixed.groups] == pytest.approx([2**60, 2**61])
    huge = "g,mut_score\n" + "".join(f"{'ab'[at % 2]},{(-1) ** at}.0e308\n" for at in range(20))
    [mixed] = examined({}, written(tmp_path, "b.csv", huge)).mixed_groups
    assert [each.mean for each in mixed.groups] == [1e308, -1e308]


def test_a_score_column_called_like_a_claim_of_a_group_is_read(tmp_path: Path) -> None:
    table = csv_of("A", "B", column="cell [line]")
    found = examined({"mean_fitness[cell [line]=A]": str(MEANS["A"])}, written(tmp_path, "a.csv", table))
    assert result(found) == (True, [])
