from aex_models.examination import Examination
from aex_models.science import Science
from aex_outcomes.science.peer_review_port import ReviewBrief

SECRETS = ("CANDIDATE-TEXT", "EXPECTED-OUTCOME", "AGENTS-REASONING", "stub-key-that-no-log-may-hold")


def brief(*, reasoning: str = "AGENTS-REASONING", sees_expected: bool = False) -> ReviewBrief:
    demands = Science(
        question="Does it bind?",
        expected_outcome="EXPECTED-OUTCOME",
        reviewer_sees_expected=sees_expected,
        checks=("peer_review",),
    )
    return ReviewBrief(demands, None, {"mean_fitness": -0.39}, reasoning, "CANDIDATE-TEXT", Examination())
