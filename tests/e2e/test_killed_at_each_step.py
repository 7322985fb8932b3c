"""Verification killed at each step of an attempt: accepted candidates are counted and settled once."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from tests.e2e.dying.deaths import Deaths, Moment
from tests.e2e.dying.steps import Step
from tests.e2e.dying.suite import DyingSuite
from tests.e2e.jobs import CRITERIA, GOOD, POOR, eventually
from tests.e2e.killing import burning, kill
from tests.e2e.live import Live
from tests.e2e.parties import Parties
from tests.e2e.slow_extractor import METRIC, SLOW
from tests.e2e.stories import FINALISED, RETRIED_HOLD, REVISED, USED_UP, Story, insist

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PHASES = {
    "taken in": (Step.TAKE_IN, Step.PUBLISH_JOB, Step.HANDLE_JOB),
    "judged": (Step.REJECT, Step.REJECT_LAST, Step.PASS),
    "decided": (Step.ASK_GOVERNANCE, Step.HOLD, Step.RETRY),
    "ended": (Step.FINALISE, Step.OUTCOME, Step.PUBLISH_OUTCOME),
}
"""Steps with a death each, in order; contracts that one has met continue beside later ones."""
STORIES = {
    Step.REJECT_LAST: USED_UP,
    Step.HOLD: RETRIED_HOLD,
    Step.RETRY: RETRIED_HOLD,
    Step.FINALISE: FINALISED,
}
"""In which a step occurs; elsewhere a candidate is rejected, and the next one passes."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A suite whose verification dies as ordered."""

    live: Live
    deaths: Deaths

    def begin(self, pool: ThreadPoolExecutor, step: Step, moment: Moment) -> Future[None]:
        """Run a story up to the death of verification at this step; the rest continues in the background."""
        story = STORIES.get(step, REVISED)
        parties, contract_id = story.begin(self.live)
        self.deaths.order(step, moment, contract_id)
        rest = pool.submit(self._run_story, story, parties, contract_id)
        eventually(lambda: rest.done() or self.deaths.happened(step, moment) or None, what="the death")
        assert self.deaths.happened(step, moment), rest.result()
        return rest

    def _run_story(self, story: Story, parties: Parties, contract_id: str) -> None:
        story.live_through(parties, contract_id)
        story.check(self.live, parties, contract_id)


@pytest.fixture
def stage(dying: DyingSuite) -> Stage:
    return Stage(dying.live, dying.deaths)


@pytest.mark.parametrize("steps", PHASES.values(), ids=PHASES)
def test_a_contract_has_its_attempts_and_one_end_though_verification_was_killed_before_or_after_a_step(
    stage: Stage, steps: Sequence[Step]
) -> None:
    with ThreadPoolExecutor() as pool:
        stories = [stage.begin(pool, step, moment) for step in steps for moment in Moment]
        for each in stories:
            each.result()


def test_a_candidate_over_which_verification_was_killed_while_it_was_judged_is_judged_once(stage: Stage) -> None:
    def live_through(parties: Parties, contract_id: str) -> None:
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(insist, parties.agent, contract_id, f"{POOR} {SLOW}")
            eventually(lambda: True if burning(stage.live) else None, what="a worker that judges")
            kill(stage.live, "verification")
            assert first.result()["verdict"] == "rejected"
        assert insist(parties.agent, contract_id, GOOD)["verdict"] == "passed"

    letters = {"metric": METRIC, "metric_type": "count", "comparison": "gte", "threshold": 1, "bonus": "0"}
    work = {"success_criteria": {"criteria": [*CRITERIA["criteria"], letters]}}
    story = replace(REVISED, live_through=live_through, work=work)
    parties, contract_id = story.begin(stage.live)
    story.live_through(parties, contract_id)
    story.check(stage.live, parties, contract_id)
