"""Assignment of tests to pytest workers: the tests of a group share a suite and see all its data."""

from xdist.scheduler import LoadScopeScheduling

from tests.e2e.backend import EMULATED

_SHARED_SUITE = "shared suite"
_GROUPS = {
    "tests/e2e/test_one_at_a_time.py::test_of_fifty_candidates_at_once_one_is_verified_at_a_time[": _SHARED_SUITE,
    "tests/e2e/test_one_at_a_time.py::test_one_candidate_fifty_times_at_once_is_one_attempt[": _SHARED_SUITE,
    "tests/e2e/test_one_at_a_time": "replicated suite",
    "tests/e2e/test_contract_events": "replicated suite",
    "tests/e2e/test_replicas": "replicated suite",
    "tests/e2e/test_killed_at_each_step": "dying suite",
    "tests/e2e/test_killed_over_commits": "dying suite",
    "tests/e2e/test_outage": "own emulators",
    "tests/e2e/test_google_tokens": "suite with Google's tokens",
    "tests/e2e/test_peer_review": "reviewed suite",
    "tests/e2e/test_rate_limit": "limited suite",
    "tests/e2e/test_stuck_metric": "stuck suite",
    "tests/e2e/": _SHARED_SUITE,
    "tests/libs/client/test_live_loop": _SHARED_SUITE,
    "tests/libs/client/test_main_job": _SHARED_SUITE,
    "tests/docs/test_guides.py::test_a_guide_that": _SHARED_SUITE,
    "tests/bus/test_pubsub_outages": "own emulators",
    "tests/libs/runtime/store/test_firestore_outage": "own emulators",
    "tests/security/test_": "attacked suite",
    "tests/browser/": "browser",
    "tests/deploy/images/": "images",
}
"""By how the test's id begins; the first that fits counts. Other tests are grouped by file."""
_APART = (
    "tests/e2e/test_governance_down",
    "tests/e2e/test_killed_under_load",
    "tests/e2e/test_measured",
    "tests/e2e/test_poison",
    "tests/e2e/test_up",
    "tests/docs/test_guides.py::test_a_reader",
    "tests/simulation/",
)
"""Long tests that share nothing."""


def group_of(nodeid: str) -> str:
    """Return the name of the test's group."""
    if nodeid.startswith(_APART):
        return nodeid
    group = next((group for prefix, group in _GROUPS.items() if nodeid.startswith(prefix)), nodeid.partition("::")[0])
    return f"{group} on {EMULATED}" if group.endswith("suite") and EMULATED in nodeid else group


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Distribution by `group_of`."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
