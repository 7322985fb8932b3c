"""Plans are made smaller for as long as they fail, and within a bound."""

from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.runs.plan import Plan, PlannedStep
from tests.simulation.runs.shrinking import shrink_plan


def plan_of(*moments: int) -> Plan:
    """Steps named by their places, in these moments."""
    return Plan(1, tuple(PlannedStep(str(location), location, moment) for location, moment in enumerate(moments)))


def names(plan: Plan) -> list[str]:
    return [step.action for step in plan.steps]


@given(st.integers(1, 60), st.data())
def test_shrunk_plan_has_exactly_the_needed_steps(size: int, data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=3))

    def fails(plan: Plan) -> bool:
        return needed <= {int(name) for name in names(plan)}

    assert names(shrink_plan(plan_of(*range(size)), fails, most_runs=1_000)) == [str(each) for each in sorted(needed)]


def test_concurrent_actions_stay_concurrent_within_the_allowed_runs() -> None:
    ran: list[Plan] = []

    def fails(plan: Plan) -> bool:
        ran.append(plan)
        return any({"1", "3"} <= {step.action for step in together} for together in plan.moments())

    assert names(shrink_plan(plan_of(0, 1, 1, 1, 2), fails)) == ["1", "3"]
    ran.clear()
    assert fails(shrink_plan(plan_of(0, 1, 1, 1, 2), fails, most_runs=2))
    assert len(ran) == 3


@given(st.integers(0, 2**48), st.integers(1, 200))
def test_plan_is_read_back_from_its_json(seed: int, steps: int) -> None:
    weights = {"deliver": 3, "seal": 1}
    plan = Plan.draw(seed, steps, weights)
    assert Plan.from_json(plan.to_json(), weights) == plan
    assert len(plan.steps) >= steps
