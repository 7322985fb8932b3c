"""verification is killed at each step of an attempt: what was taken in is judged and counted once, and settled once."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from tests.e2e.backend import BACKENDS, requested
from tests.e2e.burning import burning
from tests.e2e.dying import governance, verification
from tests.e2e.dying.deaths import Deaths, Moment
from tests.e2e.dying.steps import Step
from tests.e2e.jobs import CRITERIA, GOOD, POOR, eventually
from tests.e2e.killing import kill
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Parties
from tests.e2e.slow_extractor import METRIC, SLOW
from tests.e2e.stories import FINALISED, REVISED, USED_UP, VERIFIED_ANEW, Story, insist

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]
REPLACED = {module.main.SERVICE: module.__name__ for module in (verification, governance)}
CONFIG = """
extractors:
  letters:
    class: tests.e2e.slow_extractor:LetterExtractor
"""
PHASES = {
    "taken in": (Step.TAKE_IN, Step.PUBLISH_JOB, Step.HANDLE_JOB),
    "judged": (Step.REJECT, Step.REJECT_LAST, Step.PASS),
    "decided": (Step.ASK_GOVERNANCE, Step.HOLD, Step.RETRY),
    "ended": (Step.FINALISE, Step.OUTCOME, Step.PUBLISH_OUTCOME),
}
"""One death follows the other; the contracts that were met by one go on beside those that come after them."""
STORIES = {
    Step.REJECT_LAST: USED_UP,
    Step.HOLD: VERIFIED_ANEW,
    Step.RETRY: VERIFIED_ANEW,
    Step.FINALISE: FINALISED,
}
"""In which a step occurs; elsewhere a candidate is rejected, and the next one passes."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A suite whose verification dies as it is told."""

    live: Live
    deaths: Deaths

    def begin(self, pool: ThreadPoolExecutor, step: Step, moment: Moment) -> Future[None]:
        """One contract's story, told up to the death of verification at this step; the rest goes on meanwhile."""
        story = STORIES.get(step, REVISED)
        parties, contract_id = story.begin(self.live)
        self.deaths.order(step, moment, contract_id)
        rest = pool.submit(self._tell, story, parties, contract_id)
        eventually(lambda: rest.done() or self.deaths.happened(step, moment) or None, what="the death")
        assert self.deaths.happened(step, moment), rest.result()
        return rest

    def _tell(self, story: Story, parties: Parties, contract_id: str) -> None:
        story.live_through(parties, contract_id)
        story.check(self.live, parties, contract_id)


@pytest.fixture(scope="module", params=BACKENDS)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("steps")
    config = folder / "outcome-verification.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    environment = Deaths.ordered_in(folder / "deaths")
    with live_suite(
        folder / ".aex", requested(request), environment=environment, config=config, replaced=REPLACED
    ) as live:
        yield Stage(live, Deaths(folder / "deaths"))
        assert live.breakdowns() == []


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
