"""Recomputed statistics are read, each with whose data it comes from; what was not recomputed is never 0."""

from typing import Any

import pytest

from aex_models.examination import DataProblem
from aex_models.faults import Fault
from aex_models.results import Provenance
from aex_models.science import ScienceResult
from aex_outcomes import StatisticsExtractor
from aex_outcomes.extractors.examined import SCIENCE
from aex_outcomes.extractors.protocol import AgentFault, MetricValue, PlatformFault, Sourced
from tests.libs.outcomes.engine.examinations import AGENT, LOST, concluded, recomputed


def found_in(science: ScienceResult) -> dict[str, Any]:
    return {SCIENCE: science.model_dump(mode="json")}


async def extracted(science: ScienceResult, *metrics: str) -> dict[str, MetricValue]:
    return await StatisticsExtractor().only(frozenset(metrics)).extract({}, {}, found_in(science))


async def test_a_value_recomputed_from_the_consumers_data_is_computed_and_secret() -> None:
    found = await extracted(concluded(recomputed=(recomputed(),)), "stat.mean_fitness")
    assert found == {"stat.mean_fitness": Sourced(-0.39, Provenance.COMPUTED, secret=True)}


async def test_one_recomputed_from_the_agents_data_is_self_reported_and_no_secret() -> None:
    found = await extracted(concluded(recomputed=(recomputed(owner=AGENT),)), "stat.mean_fitness")
    assert found == {"stat.mean_fitness": Sourced(-0.39, Provenance.SELF_REPORTED, secret=False)}


async def test_only_wanted_statistics_are_told() -> None:
    science = concluded(recomputed=(recomputed(), recomputed("std_fitness", 1.1)))
    assert set(await extracted(science, "stat.std_fitness")) == {"stat.std_fitness"}
    assert set(await StatisticsExtractor().extract({}, {}, found_in(science))) == {
        "stat.mean_fitness",
        "stat.std_fitness",
    }


async def test_a_value_whose_name_no_metric_can_have_is_no_metric() -> None:
    science = concluded(recomputed=(recomputed(), recomputed("read count_mean", 1.1)))
    assert set(await StatisticsExtractor().extract({}, {}, found_in(science))) == {"stat.mean_fitness"}


async def test_a_statistic_that_nothing_computes_is_missing() -> None:
    assert await extracted(concluded(recomputed=(recomputed(),)), "stat.other") == {}


@pytest.mark.parametrize(("fault", "kind"), [(Fault.AGENT, AgentFault), (Fault.PLATFORM, PlatformFault)])
async def test_one_that_could_not_be_recomputed_has_its_problem_by_whose_data_they_are(
    fault: Fault, kind: type[AgentFault | PlatformFault]
) -> None:
    problem = DataProblem(code="not_finite", message="3 cells", name="mean_fitness", artifact="raw.csv", fault=fault)
    told = (await extracted(concluded(problems=(problem,)), "stat.mean_fitness"))["stat.mean_fitness"]
    assert isinstance(told, kind)
    assert (told.code, told.message) == ("not_finite", "3 cells")


async def test_a_file_that_cannot_be_read_is_why_its_statistics_are_not_there() -> None:
    broken = DataProblem(code="wrong_delimiter", message="semicolons", artifact="own.csv")
    told = (await extracted(concluded(problems=(broken,)), "stat.mean_fitness"))["stat.mean_fitness"]
    assert isinstance(told, AgentFault)
    told = (await extracted(concluded(problems=(broken, LOST)), "stat.mean_fitness"))["stat.mean_fitness"]
    assert isinstance(told, PlatformFault), "the agent's broken file would not have been read where ours is lost"


async def test_without_science_nobody_but_the_platform_is_to_blame() -> None:
    with pytest.raises(PlatformFault) as fault:
        await StatisticsExtractor().extract({}, {}, {})
    assert fault.value.code == "science_missing"
