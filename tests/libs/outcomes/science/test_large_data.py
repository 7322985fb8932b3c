import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.csv
import pytest
import scipy.stats

from aex_models.science import Science
from aex_outcomes.config import OutcomeConfig
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.examine import examine
from aex_outcomes.science.source_files import SourceFile
from tests.libs.outcomes.science.raw_data import written
from tests.libs.outcomes.science.test_hostile_data import JOB, examined, open_folder, payload

pytestmark = pytest.mark.slow

STATISTICS = ("mean", "std", "var", "min", "max", "median", "sum", "count", "n_unique")
OF_TWO = ("pearson", "spearman", "slope", "r_squared", "bh_max_error")
OF_GROUPS = ("welch_t", "welch_p", "mannwhitney_u", "mannwhitney_p")


async def test_a_million_rows_are_recomputed_within_the_workers_memory(tmp_path: Path) -> None:
    open_folder(tmp_path)
    dice = np.random.default_rng(7)
    change, rate = dice.normal(0, 2, 1_000_000).round(6), dice.uniform(0, 1, 1_000_000).round(6)
    table = pyarrow.table({"gene": [f"ENSG{place:08d}" for place in range(1_000_000)], "log2FC": change, "FDR": rate})
    rows = io.BytesIO()
    pyarrow.csv.write_csv(table, rows)
    file = written(tmp_path, "genes.csv", rows.getvalue())
    where = [{"column": "log2FC", "op": ">", "value": 2, "abs": True}, {"column": "FDR", "op": "<", "value": 0.05}]
    requests: list[dict[str, Any]] = [{"name": stat, "stat": stat, "column": "log2FC"} for stat in STATISTICS]
    columns = {stat: ["FDR", "FDR"] if stat == "bh_max_error" else ["log2FC", "FDR"] for stat in OF_TWO}
    requests += [{"name": stat, "stat": stat, "columns": columns[stat]} for stat in OF_TWO]
    groups = [[{"column": "FDR", "op": op, "value": 0.5}] for op in ("<", ">=")]
    requests += [{"name": stat, "stat": stat, "column": "log2FC", "groups": groups} for stat in OF_GROUPS]
    requests += [{"name": "bh_count", "stat": "bh_count", "column": "FDR", "alpha": 0.05}]
    requests += [{"name": "genes", "stat": "count", "where": where}]
    bounds = OutcomeConfig().extractor_sections()["statistics"].sandbox
    async with WorkerPool(1, bounds.timeout_ms / 1_000, bounds.memory_limit_mb, jobs=[JOB], spares=0) as pool:
        found = await examined(pool, payload(file, statistics=requests))
    assert found.problems == ()
    values = {each.name: each.value for each in found.recomputed}
    assert values["genes"] == int(((abs(change) > 2) & (rate < 0.05)).sum())
    assert values["mean"] == pytest.approx(change.mean(), rel=1e-9)
    assert values["std"] == pytest.approx(change.std(ddof=1), rel=1e-9)
    assert values["median"] == pytest.approx(np.median(change), rel=1e-9)
    assert values["pearson"] == pytest.approx(np.corrcoef(change, rate)[0, 1], rel=1e-9)
    low, high = change[rate < 0.5], change[rate >= 0.5]
    welch, ranks = scipy.stats.ttest_ind(low, high, equal_var=False), scipy.stats.mannwhitneyu(low, high)
    assert (values["welch_t"], values["welch_p"]) == pytest.approx((welch.statistic, welch.pvalue), rel=1e-9)
    assert (values["mannwhitney_u"], values["mannwhitney_p"]) == pytest.approx(tuple(ranks), rel=1e-9)
    adjusted = scipy.stats.false_discovery_control(rate)
    assert values["bh_count"] == (adjusted <= 0.05).sum()
    assert values["bh_max_error"] == pytest.approx(abs(adjusted - rate).max(), rel=1e-9)


def seconds_of(file: SourceFile, **science: Any) -> float:
    started = time.process_time()
    found = examine(Science.model_validate(science), None, {"score_mean": 0}, [file], DataLimits(cpu_seconds=300))
    assert found.problems == ()
    assert {each.name for each in found.recomputed} == {"score_mean"}
    return time.process_time() - started


def test_default_statistics_and_groups_are_read_in_one_pass(tmp_path: Path) -> None:
    dice = np.random.default_rng(7)
    rows = "".join(f"{'ab'[at % 2]},M{at}A,{value:.5f}\n" for at, value in enumerate(dice.normal(0, 1, 300_000)))
    file = written(tmp_path, "scores.csv", f"condition,mutant,score\n{rows}")
    own = [{"name": "score_mean", "stat": "mean", "column": "score"}]
    by_default, demanded = (min(seconds_of(file, **each) for _ in range(2)) for each in ({}, {"statistics": own}))
    assert by_default < 1.8 * demanded, (by_default, demanded)
