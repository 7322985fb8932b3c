"""The demo's fourth agent against the real engine, offline."""

import pytest

from aex_cli.examples import FOLDER, read_example_work
from aex_cli.offline.documents import read_document
from aex_models.results import Verdict
from aex_outcomes import VerificationEngine

WORK = read_example_work("durations")


@pytest.mark.parametrize(
    ("file", "verdict", "passed"),
    [("first_program.json", Verdict.REJECTED, 1), ("revision.json", Verdict.PASSED, 4)],
)
async def test_example_programs_have_their_verdicts(file: str, verdict: Verdict, passed: int) -> None:
    result = await VerificationEngine().verify(
        contract_id="ctr_demo",
        work_input=WORK.input,
        work_output=read_document("--output", str(FOLDER / "durations" / file)).value,
        success_criteria=WORK.success_criteria,
        evaluation=WORK.evaluation,
    )
    assert result.verdict is verdict
    assert sum(each["outcome"] == "passed" for each in result.details["tests_all_passed"]) == passed
