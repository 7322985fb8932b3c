import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.examination import Fault
from aex_models.science import Science
from aex_models.tables import DerivedColumn, Join
from aex_outcomes import recompute
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.examine import examine
from aex_outcomes.science.recompute import Recomputation
from aex_outcomes.science.source_files import SourceFile
from tests.examples import examples
from tests.libs.outcomes.science.raw_data import AGENT, CONSUMER, parquet, spec, written

GENES = "gene,chrom,x\nA,1,10\nB,1,20\nC,2,30\n,2,40\n"
COUNTS = "gene,x,n\nA,1,5\nC,2,7\nD,3,9\n,4,100\n"


def join(**fields: Any) -> Join:
    return Join.model_validate({"name": "both", "left": "genes.csv", "right": "counts.csv", "on": ["gene"], **fields})


def of_join(stat: str = "sum", column: Any = "n", name: str = "it", **more: Any) -> Any:
    return spec(stat, column, name, artifact="both", **more)


def files_of(tmp_path: Path, left: Any = GENES, right: Any = COUNTS) -> list[SourceFile]:
    return [written(tmp_path, "genes.csv", left), written(tmp_path, "counts.csv", right)]


def values(found: Recomputation) -> dict[str, float]:
    assert found.problems == ()
    return {each.name: each.value for each in found.values}


def codes(found: Recomputation) -> list[tuple[str | None, str, Fault]]:
    return [(each.name, each.code, each.fault) for each in found.problems if each.name]


def test_inner_join_has_the_rows_that_agree(tmp_path: Path) -> None:
    found = recompute(
        files_of(tmp_path),
        [
            of_join(),
            of_join("count", None, "rows"),
            of_join("sum", "x", "left"),
            of_join("sum", "right.x", "right"),
            of_join("pearson", ("x", "right.x"), "r"),
            of_join("n_unique", "gene", "genes"),
            of_join("sum", "n", "of_two", where=[{"column": "chrom", "op": "eq", "value": 2}]),
            spec("sum", "n", "of_file", artifact="counts.csv"),
            spec("sum", "n", "unnamed"),
        ],
        joins=[join()],
    )
    assert values(found) == {
        "it": 12, "rows": 2, "left": 40, "right": 3, "r": 1, "genes": 2, "of_two": 7, "of_file": 121, "unnamed": 121,
    }  # fmt: skip
    assert {each.artifact for each in found.values} == {"both", "counts.csv"}


def test_left_join_keeps_every_row_of_the_left_file(tmp_path: Path) -> None:
    specs = [of_join(), of_join("count", None, "rows"), of_join("count", "n", "n"), of_join("sum", "x", "x")]
    found = recompute(files_of(tmp_path), specs, joins=[join(how="left")])
    assert values(found) == {"it": 12, "rows": 4, "n": 2, "x": 100}
    repeated = recompute(files_of(tmp_path, "gene,x\nA,1\nA,2\n"), specs, joins=[join(how="left")])
    assert values(repeated) == {"it": 10, "rows": 2, "n": 2, "x": 3}


def test_right_keys_must_be_unique(tmp_path: Path) -> None:
    found = recompute(files_of(tmp_path, right="gene,n\nA,1\nA,2\nB,3\nB,3\n,1\n,1\n"), [of_join()], joins=[join()])
    assert codes(found) == [("it", "join_not_unique", Fault.AGENT)]
    message = '2 keys ("gene") stand in more than one row of "counts.csv": give one row a key'
    assert message in {each.message for each in found.problems}
    by_two = recompute(
        files_of(tmp_path, "gene,x,y\nA,1,3\n", "gene,x,n\nA,1,4\nA,2,5\n"), [of_join()], joins=[join(on=["gene", "x"])]
    )
    assert values(by_two) == {"it": 4}


def test_keys_agree_as_numbers_or_as_texts(tmp_path: Path) -> None:
    left = "gene,x\n1,1\n2.50,2\nnan,4\nTrue,8\n0,16\n1e3,32\n"
    right = "gene,n\n1.0,1\n2.5,2\nnan,4\ntrue,8\n-0,16\n1000,32\n"
    assert values(recompute(files_of(tmp_path, left, right), [of_join()], joins=[join()])) == {"it": 55}
    large = [2**60 + each for each in range(3)]
    files = [
        written(tmp_path, "genes.csv.parquet", parquet({"gene": large, "x": [1, 2, 3]})),
        written(tmp_path, "counts.parquet", parquet({"gene": large[1:], "n": [4, 5]})),
    ]
    of_parquet = join(left="genes.csv.parquet", right="counts.parquet")
    assert values(recompute(files, [of_join(), of_join("sum", "x", "x")], joins=[of_parquet])) == {"it": 9, "x": 5}


def test_keys_that_are_neither_are_refused(tmp_path: Path) -> None:
    files = [written(tmp_path, "a.jsonl", '{"gene": [1], "x": 1}\n'), written(tmp_path, "counts.csv", COUNTS)]
    found = recompute(files, [of_join()], joins=[join(left="a.jsonl")])
    assert codes(found) == [("it", "not_comparable", Fault.AGENT)]


def test_join_may_read_a_join_above_it(tmp_path: Path) -> None:
    files = [*files_of(tmp_path), written(tmp_path, "chroms.csv", "chrom,x,n\n1,100,1\n2,200,2\n")]
    second = join(name="three", left="both", right="chroms.csv", on=["chrom"])
    specs = [spec("sum", name, name, artifact="three") for name in ("x", "right.x", "right.right.x", "n", "right.n")]
    found = recompute(files, specs, joins=[join(), second])
    assert [each.value for each in found.values] == [40, 3, 300, 12, 3]
    swapped = join(name="three", left="chroms.csv", right="both", on=["chrom"])
    found = recompute(files, [spec("sum", "right.right.x", artifact="three")], joins=[join(), swapped])
    assert values(found) == {"it": 3}


def test_joins_and_derived_columns_stand_on_each_other(tmp_path: Path) -> None:
    derived = [
        DerivedColumn(column="double", expression="x * 2", artifact="genes.csv"),
        DerivedColumn(column="key", expression="x + 0", artifact="counts.csv"),
        DerivedColumn(column="ratio", expression='double / col("right.x")', artifact="both"),
    ]
    specs = [of_join("sum", "ratio"), of_join("sum", "double", "double"), of_join("count", "key", "key")]
    found = recompute(files_of(tmp_path), specs, joins=[join()], derived=derived)
    assert values(found) == {"it": 50, "double": 80, "key": 2}
    by_derived = recompute(
        files_of(tmp_path, "key,x\n1,5\n3,6\n"), [of_join()], joins=[join(on=["key"])], derived=derived
    )
    assert values(by_derived) == {"it": 14}


def test_join_is_read_by_its_name_alone(tmp_path: Path) -> None:
    found = recompute(files_of(tmp_path), [spec("sum", "right.x"), spec("sum", "n", "n")], joins=[join()])
    assert [(each.name, each.artifact) for each in found.values] == [("n", "counts.csv")]
    assert codes(found) == [("it", "column_missing", Fault.AGENT)]
    forged = [*files_of(tmp_path), written(tmp_path, "both", "n\n1000\n")]
    assert values(recompute(forged, [of_join()], joins=[join()])) == {"it": 12}


def test_join_of_a_missing_file_or_key_says_what_to_send(tmp_path: Path) -> None:
    found = recompute(files_of(tmp_path)[:1], [of_join()], joins=[join()])
    assert codes(found) == [("it", "artifact_missing", Fault.AGENT)]
    assert 'the join reads "counts.csv", and no file is called so: send it' in found.problems[-1].message
    found = recompute(files_of(tmp_path), [of_join()], joins=[join(on=["chrom"])])
    assert codes(found) == [("it", "column_missing", Fault.AGENT)]
    assert found.problems[-1].message == 'no column "chrom" in "counts.csv"; there are "gene", "x", "n"'
    found = recompute(files_of(tmp_path), [of_join("sum", "m")], joins=[join()])
    assert 'no column "m"; there are "gene", "chrom", "x", "right.x", "n"' in found.problems[-1].message
    found = recompute(files_of(tmp_path, right="gene,n\nZ,1\n"), [of_join()], joins=[join()])
    assert codes(found) == [("it", "no_rows", Fault.AGENT)]
    found = recompute(files_of(tmp_path, right="gene,n\nA,1,2\n"), [of_join()], joins=[join()])
    assert codes(found) == [("it", "ragged_rows", Fault.AGENT)]
    assert recompute([], [of_join()], joins=[join()]).values == ()


def test_join_of_the_consumers_files_is_the_consumers(tmp_path: Path) -> None:
    own = [written(tmp_path, "genes.csv", GENES, CONSUMER), written(tmp_path, "counts.csv", COUNTS, CONSUMER)]
    found = recompute([*own, *files_of(tmp_path, "gene\nA\n", "gene,n\nA,99\n")], [of_join()], joins=[join()])
    assert [(each.value, each.owner, each.is_secret) for each in found.values] == [(12, CONSUMER, True)]
    broken = written(tmp_path, "counts.csv", "gene,n\nA,1\nA,2\n", CONSUMER)
    found = recompute([own[0], broken], [of_join()], joins=[join()])
    assert codes(found) == [("it", "join_not_unique", Fault.PLATFORM)]


def test_join_with_an_agents_file_is_the_agents_word_and_secret(tmp_path: Path) -> None:
    own = written(tmp_path, "genes.csv", GENES + "D,high,50\n", CONSUMER)
    sent = written(tmp_path, "counts.csv", COUNTS)
    mixed = recompute([own, sent], [of_join("sum", "x")], joins=[join()])
    assert [(each.value, each.owner, each.is_secret) for each in mixed.values] == [(90, AGENT, True)]
    found = recompute([own, sent], [of_join("sum", "chrom"), of_join("sum", "m", "m")], joins=[join()])
    [missing, of_own] = found.problems
    assert (of_own.code, of_own.fault, of_own.secret) == ("not_numeric", Fault.PLATFORM, True)
    assert (missing.code, missing.fault, missing.secret) == ("column_missing", Fault.AGENT, True)
    assert "chrom" not in missing.message
    repeated = written(tmp_path, "counts.csv", COUNTS + "A,1,1\n")
    found = recompute([own, repeated], [of_join()], joins=[join()])
    assert [(each.code, each.fault, each.secret) for each in found.problems if each.name] == [
        ("join_not_unique", Fault.AGENT, False)
    ]
    words = written(tmp_path, "counts.csv", "gene,n\nA,many\n")
    derived = [DerivedColumn(column="twice", expression="n * 2", artifact="both")]
    found = recompute([own, words], [of_join("sum", "twice")], joins=[join()], derived=derived)
    assert codes(found) == [("it", "not_numeric", Fault.AGENT)]


def test_joins_hold_the_caps_of_rows_and_columns(tmp_path: Path) -> None:
    for limits in ({"max_rows": 3}, {"max_columns": 4}):
        found = recompute(files_of(tmp_path), [of_join()], joins=[join()], limits=DataLimits(**limits))
        assert {code for _, code, _ in codes(found)} <= {"too_many_rows", "too_many_columns"}
        assert found.values == ()


def test_joins_are_part_of_the_works_science(tmp_path: Path) -> None:
    science = Science.model_validate(
        {
            "statistics": [{"name": "total", "stat": "sum", "column": "n", "artifact": "both"}],
            "joins": [{"name": "both", "left": "genes.csv", "right": "counts.csv", "on": ["gene"]}],
        }
    )
    found = examine(science, None, {"total": 12}, files_of(tmp_path), DataLimits())
    assert [(each.name, each.status.value) for each in found.reconciliation] == [("total", "match")]


KEYS = st.none() | st.integers(0, 6).map(str) | st.sampled_from(["a", "b", "c d"])


@given(
    st.lists(st.tuples(KEYS, st.integers(0, 9)), min_size=1, max_size=20),
    st.dictionaries(KEYS, st.none() | st.integers(0, 9), min_size=1, max_size=8),
    st.sampled_from(["inner", "left"]),
)
@settings(max_examples=examples(200), deadline=None)
@pytest.mark.slow
def test_joins_equal_dictionaries(
    left: list[tuple[str | None, int]], right: dict[str | None, int | None], how: str
) -> None:
    def cell(value: object) -> str:
        return "" if value is None else str(value)

    kept = [(x, right.get(key) if key else None) for key, x in left if how == "left" or (key and key in right)]
    with TemporaryDirectory() as folder:
        files = files_of(
            Path(folder),
            "\n".join(["gene,x", *(f"{cell(key)},{x}" for key, x in left), ""]),
            "\n".join(["gene,n", *(f"{cell(key)},{cell(n)}" for key, n in right.items()), ""]),
        )
        specs = [of_join("count", None, "rows"), of_join("sum", "x", "x"), of_join("count", "n", "n")]
        found = recompute(files, specs, joins=[join(how=how)])
    expected = {"rows": len(kept), "x": sum(x for x, _ in kept), "n": sum(n is not None for _, n in kept)}
    assert {each.name: each.value for each in found.values} == (expected if kept else {})


@pytest.mark.slow
def test_half_a_million_rows_are_joined_within_the_limits(tmp_path: Path) -> None:
    rows = 500_000
    dice = np.random.default_rng(3)
    keys = dice.permutation(rows)
    files = [
        written(tmp_path, "a.parquet", parquet({"key": np.arange(rows), "x": dice.normal(0, 1, rows)})),
        written(tmp_path, "b.parquet", parquet({"key": keys, "y": keys * 2.0})),
    ]
    started = time.process_time()
    found = recompute(
        files,
        [of_join("pearson", ("key", "y")), of_join("count", None, "rows")],
        joins=[join(left="a.parquet", right="b.parquet", on=["key"])],
    )
    assert values(found) == {"it": pytest.approx(1), "rows": rows}
    assert time.process_time() - started < 15
