"""Checks of the checker: each planted bug is caught, and its report reproduces it."""

from pathlib import Path

import pytest

from aex_models.events import Event
from aex_runtime.records import Timer
from tests.simulation.__main__ import main
from tests.simulation.planted import PLANTS
from tests.simulation.planted.plant import Handlers, Plant, Timers
from tests.simulation.runs.plan import Plan
from tests.simulation.runs.running import RunResult, draw_plan, run_plan
from tests.simulation.services import Service
from tests.simulation.world import WEIGHTS

QUICKLY = ("posts_twice", "settles_what_is_cancelled", "forgets_its_event")
SEEDS = 300


FIRST = {"writes_blindly": 33, "gives_an_attempt_back": 14, "accepts_late_output": 10, "acks_before_the_commit": 9}
"""The seed at which the search begins; those before it find nothing."""


def caught(name: str, seeds: int) -> RunResult | None:
    """Return the first run in which a planted bug broke a promise."""
    runs = (run_plan(draw_plan(seed), PLANTS[name]) for seed in range(FIRST.get(name, 0), seeds))
    return next((result for result in runs if result.broken is not None), None)


@pytest.mark.parametrize("name", QUICKLY)
def test_planted_bug_is_caught_within_fifteen_seeds(name: str) -> None:
    assert caught(name, 15), f"15 seeds did not find that {PLANTS[name].story}"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PLANTS) - set(QUICKLY)))
def test_every_bug_that_is_planted_is_caught(name: str) -> None:
    assert caught(name, SEEDS), f"{SEEDS} seeds did not find that {PLANTS[name].story}"


@pytest.mark.slow
def test_command_prints_promise_seed_and_smallest_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        main(["--seeds", "9", "--first", "15", "--steps", "25", "--jobs", "1", "--plant", "settles_what_is_cancelled"])
        == 1
    )
    printed = capsys.readouterr().out
    assert "BROKEN: what is cancelled costs nothing" in printed
    assert "again: make simulate PLAN=" in printed
    repeated = printed.rpartition("PLAN=")[2].split()[0]
    assert main(["--plan", repeated, "--plant", "settles_what_is_cancelled"]) == 1
    assert main(["--plan", repeated]) == 0, "without the bug the same plan breaks nothing"
    plan = Plan.from_json(Path(repeated).read_text(), WEIGHTS)
    assert len(plan.steps) < len(draw_plan(plan.seed, 25).steps) / 3
    assert main(["--plan", "nowhere.json"]) == 2


def failing_handlers(service: Service, handlers: Handlers) -> Handlers:
    async def fail_once(event: Event) -> None:
        if event.id not in failed:
            failed.add(event.id)
            raise KeyError("a defect")
        await handlers["outcome.verified"](event)

    failed: set[str] = set()
    return {**handlers, "outcome.verified": fail_once} if service.name == "settlement" else handlers


def failing_timers(_: Service, timers: Timers) -> Timers:
    async def fail_once(timer: Timer) -> None:
        if (timer.kind, timer.subject) not in failed:
            failed.add((timer.kind, timer.subject))
            raise KeyError("a defect")
        await timers[timer.kind](timer)

    failed: set[tuple[str, str]] = set()
    return dict.fromkeys(timers, fail_once)


@pytest.mark.parametrize(
    "plant",
    [
        Plant("a_handler", "a handler fails once by itself", handlers=failing_handlers),
        Plant("a_timer", "a timer fails once by itself", timers=failing_timers),
    ],
    ids=lambda plant: plant.name,
)
def test_defect_hidden_by_a_retry_is_detected(plant: Plant) -> None:
    broken = [found.promise for seed in range(5) if (found := run_plan(draw_plan(seed), plant).broken)]
    assert "handlers fail for outages alone" in broken


def never_ending(_: Service, handlers: Handlers) -> Handlers:
    async def spin(_: Event) -> None:
        while True:
            pass

    return dict.fromkeys(handlers, spin)


def test_endless_run_is_a_failure() -> None:
    endless = Plant("endless", "a handler never returns", handlers=never_ending)
    result = run_plan(draw_plan(0), endless, limit_s=1.0)
    assert result.broken is not None
    assert "took more than" in result.broken.detail
