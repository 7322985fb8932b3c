from typing import Any

import pytest

from aex_models.examination import DataProblem, Fault
from aex_models.results import Provenance
from aex_models.science import ScienceResult
from aex_outcomes import RecomputedStatisticsExtractor
from aex_outcomes.extractors.protocol import AgentFault, MetricValue, PlatformFault, Sourced
from aex_outcomes.extractors.science import SCIENCE
from tests.libs.outcomes.engine.examinations import AGENT, LOST, concluded, recomputed


def found_in(science: ScienceResult) -> dict[str, Any]:
    return {SCIENCE: science.model_dump(mode="json")}


async def extracted(science: ScienceResult, *metrics: str) -> dict[str, MetricValue]:
    return await RecomputedStatisticsExtractor().for_metrics(frozenset(metrics)).extract({}, {}, found_in(science))


async def test_owner_of_the_data_determines_provenance_and_secrecy() -> None:
    found = await extracted(concluded(recomputed=(recomputed(),)), "stat.mean_fitness")
    assert found == {"stat.mean_fitness": Sourced(-0.39, Provenance.COMPUTED, secret=True)}
    found = await extracted(concluded(recomputed=(recomputed(owner=AGENT),)), "stat.mean_fitness")
    assert found == {"stat.mean_fitness": Sourced(-0.39, Provenance.SELF_REPORTED, secret=False)}


async def test_selected_statistics_with_valid_names_are_returned() -> None:
    science = concluded(recomputed=(recomputed(), recomputed("std_fitness", 1.1), recomputed("read count_mean", 1.1)))
    assert set(await extracted(science, "stat.std_fitness", "stat.other")) == {"stat.std_fitness"}
    every = await RecomputedStatisticsExtractor().extract({}, {}, found_in(science))
    assert set(every) == {"stat.mean_fitness", "stat.std_fitness"}


@pytest.mark.parametrize(("fault", "kind"), [(Fault.AGENT, AgentFault), (Fault.PLATFORM, PlatformFault)])
async def test_missing_statistic_is_fault_of_the_data_owner(
    fault: Fault, kind: type[AgentFault | PlatformFault]
) -> None:
    problem = DataProblem(code="not_finite", message="3 cells", name="mean_fitness", artifact="raw.csv", fault=fault)
    report = (await extracted(concluded(problems=(problem,)), "stat.mean_fitness"))["stat.mean_fitness"]
    assert isinstance(report, kind)
    assert (report.code, report.message) == ("not_finite", "3 cells")


async def test_a_file_that_cannot_be_read_is_why_its_statistics_are_not_there() -> None:
    broken = DataProblem(code="wrong_delimiter", message="semicolons", artifact="own.csv")
    report = (await extracted(concluded(problems=(broken,)), "stat.mean_fitness"))["stat.mean_fitness"]
    assert isinstance(report, AgentFault)
    report = (await extracted(concluded(problems=(broken, LOST)), "stat.mean_fitness"))["stat.mean_fitness"]
    assert isinstance(report, PlatformFault), "the agent's broken file would not have been read where ours is lost"
