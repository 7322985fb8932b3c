"""Verification killed at each step of an attempt: accepted candidates are counted and settled once."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.e2e.backend import EMBEDDED, EMULATED
from tests.e2e.dying.deaths import Moment
from tests.e2e.dying.steps import Step
from tests.e2e.dying.suite import DyingSuite
from tests.e2e.jobs import CRITERIA, GOOD, POOR, eventually
from tests.e2e.killing import burning, kill
from tests.e2e.parties import Parties
from tests.e2e.slow_extractor import METRIC, SLOW
from tests.e2e.stories import FINALISED, RETRIED_HOLD, REVISED, USED_UP, insist

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]
PHASES = {
    "taken in": (Step.TAKE_IN, Step.PUBLISH_JOB, Step.HANDLE_JOB),
    "judged": (Step.REJECT, Step.REJECT_LAST, Step.PASS),
    "decided": (Step.ASK_GOVERNANCE, Step.HOLD, Step.RETRY),
    "ended": (Step.FINALISE, Step.OUTCOME, Step.PUBLISH_OUTCOME),
    "on emulators": (Step.TAKE_IN, Step.HANDLE_JOB, Step.OUTCOME, Step.PUBLISH_OUTCOME),
}
"""Steps with a death each, in order; contracts that one has met continue beside later ones."""
STORIES = {
    Step.REJECT_LAST: USED_UP,
    Step.HOLD: RETRIED_HOLD,
    Step.RETRY: RETRIED_HOLD,
    Step.FINALISE: FINALISED,
}
"""In which a step occurs; elsewhere a candidate is rejected, and the next one passes."""

ON_EMULATORS = "on emulators"
"""Commits, publications and a delivery; the simulator crashes at each commit of every handler."""
CASES = [
    *(pytest.param(EMBEDDED.name, phase, id=f"{EMBEDDED.name}-{phase}") for phase in PHASES if phase != ON_EMULATORS),
    pytest.param(EMULATED, ON_EMULATORS, marks=pytest.mark.emulator, id=EMULATED),
]


def begin(dying: DyingSuite, pool: ThreadPoolExecutor, step: Step, moment: Moment) -> Future[None]:
    """Run a story up to the death of verification at this step; the rest continues in the background."""
    story = STORIES.get(step, REVISED)
    parties, contract_id = story.begin(dying.live)
    dying.deaths.order(step, moment, contract_id)

    def run_story() -> None:
        story.live_through(parties, contract_id)
        story.check(dying.live, parties, contract_id)

    rest = pool.submit(run_story)
    eventually(lambda: rest.done() or dying.deaths.happened(step, moment) or None, what="the death")
    assert dying.deaths.happened(step, moment), rest.result()
    return rest


@pytest.mark.parametrize(("dying", "phase"), CASES, indirect=["dying"])
def test_kills_before_and_after_each_step_leave_one_end(dying: DyingSuite, phase: str) -> None:
    with ThreadPoolExecutor() as pool:
        stories = [begin(dying, pool, step, moment) for step in PHASES[phase] for moment in Moment]
        for each in stories:
            each.result()


@pytest.mark.parametrize("dying", [EMBEDDED.name], indirect=True)
def test_candidate_is_judged_once_after_a_kill_during_its_grading(dying: DyingSuite) -> None:
    def live_through(parties: Parties, contract_id: str) -> None:
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(insist, parties.agent, contract_id, f"{POOR} {SLOW}")
            eventually(lambda: burning(dying.live) or None, what="a worker that judges")
            kill(dying.live, "verification")
            assert first.result()["verdict"] == "rejected"
        assert insist(parties.agent, contract_id, GOOD)["verdict"] == "passed"

    letters = {"metric": METRIC, "metric_type": "count", "comparison": "gte", "threshold": 1, "bonus": "0"}
    work = {"success_criteria": {"criteria": [*CRITERIA["criteria"], letters]}}
    story = replace(REVISED, live_through=live_through, work=work)
    parties, contract_id = story.begin(dying.live)
    story.live_through(parties, contract_id)
    story.check(dying.live, parties, contract_id)
