"""Custom metrics: what code returns is read by name, and what it does wrong is never the agent's fault."""

from importlib.metadata import version
from typing import Any

import pytest

from aex_models.faults import Fault
from aex_models.results import CUSTOM_METRIC_FAILED, Verdict
from aex_outcomes import AgentFault, CustomExtractor, PlatformFault, VerificationEngine
from aex_outcomes.sandbox.disposable import DisposableSandbox
from aex_outcomes.sandbox.port import Context, Limits, Returned, SandboxUnavailable
from tests.libs.outcomes.engine.builders import Still, criteria, criterion, money, verify

HEAD = "def evaluate(input, output, metadata):\n    "


class Counting:
    """The real sandbox, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[Context] = []

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        self.asked.append(context)
        return await DisposableSandbox().execute(code, context, limits)


class Absent:
    """Where there is no sandbox."""

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        del code, context, limits
        raise SandboxUnavailable("no worker can be started")


async def extracted(codes: dict[str, str], *metrics: str, output: Any = None, **task_input: Any) -> dict[str, Any]:
    extractor = CustomExtractor(limits=Limits(timeout_ms=1_000))
    chosen = extractor.only(frozenset(metrics)) if metrics else extractor
    listed = [{"name": name, "code": code} for name, code in codes.items()]
    return dict(await chosen.extract({"custom_metrics": listed, **task_input}, output or {}, {}))


async def test_the_number_returned_is_the_metric() -> None:
    assert await extracted({"score": f"{HEAD}return 0.5"}, "custom.score") == {"custom.score": 0.5}


async def test_entries_are_named_by_their_keys_and_one_may_be_called_like_the_code() -> None:
    code = {"m": f"{HEAD}return {{'m': 1, 'a': True, 'b.c': 0.5}}"}
    names = ("custom.m", "custom.m.a", "custom.m.b.c")
    assert await extracted(code, *names) == {"custom.m": 1, "custom.m.a": True, "custom.m.b.c": 0.5}


async def test_without_a_choice_there_is_whatever_is_returned() -> None:
    codes = {"m": f"{HEAD}return {{'metrics': {{'m': 1, 'a': 2}}}}", "n": f"{HEAD}return 3"}
    assert await extracted(codes) == {"custom.m": 1, "custom.m.a": 2, "custom.n": 3}


@pytest.mark.parametrize("metric", ["custom.m.b", "custom.m", "custom.other"])
async def test_an_entry_that_is_not_there_is_the_codes_fault(metric: str) -> None:
    found = await extracted({"m": f"{HEAD}return {{'a': 1}}"}, metric)
    assert isinstance(found[metric], PlatformFault)
    assert found[metric].code == CUSTOM_METRIC_FAILED


async def test_a_key_is_not_read_out_of_a_number() -> None:
    found = await extracted({"m": f"{HEAD}return 1"}, "custom.m.a")
    assert isinstance(found["custom.m.a"], PlatformFault)


async def test_one_that_fails_leaves_the_others() -> None:
    codes = {"bad": f"{HEAD}return 1 / 0", "slow": f"{HEAD}while True: pass", "good": f"{HEAD}return 1"}
    found = await extracted(codes, "custom.bad", "custom.slow", "custom.good")
    assert found["custom.good"] == 1
    assert found["custom.bad"].message == "bad: exception: ZeroDivisionError: division by zero (line 2)"
    assert found["custom.slow"].message.startswith("slow: timeout: ")


async def test_code_sees_input_and_evaluation_data_without_the_code() -> None:
    code = {
        "m": f"{HEAD}return {{'keys': len(input), 'code': 'custom_metrics' in input, 'r': len(input['reference'])}}"
    }
    found = await extracted(code, question="?", reference="abc")
    assert found == {"custom.m.keys": 2, "custom.m.code": False, "custom.m.r": 3}


async def test_a_candidate_that_is_no_json_is_the_agents_fault() -> None:
    found = await extracted({"m": f"{HEAD}return 1"}, "custom.m", output={"a": object()})
    assert isinstance(found["custom.m"], AgentFault)


def test_the_version_names_the_interpreter_that_is_installed() -> None:
    assert CustomExtractor.version.endswith(f"pydantic-monty {version('pydantic-monty')}")


async def test_code_that_no_criterion_names_does_not_run_and_no_code_runs_twice() -> None:
    sandbox = Counting()
    extractor = CustomExtractor(sandbox).only(frozenset({"custom.a.x", "custom.a.y"}))
    codes = [{"name": name, "code": f"{HEAD}return {{'x': 1, 'y': 2}}"} for name in "abc"]
    await extractor.extract({"custom_metrics": codes}, {}, {})
    assert len(sandbox.asked) == 1


# in the engine

CODES = {"good": f"{HEAD}return 0.75", "bad": f"{HEAD}return input['hush']", "share": f"{HEAD}return 92"}
EVALUATION = {"custom_metrics": [{"name": name, "code": code} for name, code in CODES.items()]}


def own(name: str, threshold: Any = 0.5, **more: Any) -> Any:
    return criterion(f"custom.{name}", "gte", threshold, penalty="1", **more)


def engine(sandbox: Any = None) -> VerificationEngine:
    return VerificationEngine(clock=Still(), sandbox=sandbox)


async def test_a_custom_metric_decides_like_any_other() -> None:
    found = await verify(criteria(own("good"), own("good", 0.8)), {"text": "a"}, evaluation=EVALUATION, engine=engine())
    assert [each.met for each in found.criterion_results] == [True, False]
    assert (found.verdict, found.metrics, found.success) == (Verdict.REJECTED, {"custom.good": 0.75}, False)
    assert all(each.secret for each in found.criterion_results)


async def test_a_fault_of_the_code_is_indeterminate_and_costs_nobody_anything() -> None:
    named = criteria(own("bad"), own("good", 0.8), criterion("output_length", "gte", 1, bonus="1"))
    found = await verify(named, {"text": "a"}, evaluation=EVALUATION, engine=engine())
    failed, unmet, met = found.criterion_results
    assert failed.error is not None
    assert (failed.error.code, failed.error.fault) == (CUSTOM_METRIC_FAILED, Fault.PLATFORM)
    assert (unmet.met, met.met) == (False, True)
    assert found.verdict is Verdict.INDETERMINATE
    assert money(found) == (0, 0)


async def test_a_sandbox_that_is_not_there_is_the_platforms_fault_and_asked_again() -> None:
    down = engine(Absent())
    for _ in range(2):
        found = await verify(criteria(own("good")), {"text": "a"}, evaluation=EVALUATION, engine=down)
        error = found.criterion_results[0].error
        assert error is not None
        assert (found.verdict, error.code) == (Verdict.INDETERMINATE, "sandbox_unavailable")


@pytest.mark.parametrize(
    ("wanted", "met"),
    [
        (own("share", 90, metric_type="percentage", scale="percent"), True),
        (own("share", 90, metric_type="percentage"), True),
        (own("share", 93, metric_type="percentage"), False),
        (own("share", 0.9, metric_type="percentage"), None),
        (own("good", 1, metric_type="count"), None),
        (criterion("custom.good", "eq", True, metric_type="boolean"), None),
        (criterion("custom.good", "eq", True, metric_type="custom"), None),
        (own("share", 90, metric_type="latency"), True),
        (own("share", 93, metric_type="custom"), False),
    ],
)
async def test_a_value_that_its_type_rules_out_is_the_codes_fault_too(wanted: Any, met: bool | None) -> None:
    found = (await verify(criteria(wanted), {}, evaluation=EVALUATION, engine=engine())).criterion_results[0]
    assert (found.met if found.error is None else None) == met
    if found.error is not None:
        assert (found.error.code, found.error.fault) == (CUSTOM_METRIC_FAILED, Fault.PLATFORM)


async def test_values_are_remembered_and_faults_are_not() -> None:
    sandbox = Counting()
    judge = engine(sandbox)
    for _ in range(2):
        await verify(criteria(own("good")), {"text": "a"}, evaluation=EVALUATION, engine=judge)
    assert len(sandbox.asked) == 1
    for _ in range(2):
        await verify(criteria(own("bad")), {"text": "a"}, evaluation=EVALUATION, engine=judge)
    assert len(sandbox.asked) == 3


async def test_custom_code_cannot_answer_for_a_built_in_metric() -> None:
    code = f"{HEAD}return {{'output_length': 9, 'latency_ms': 0, 'm': 1, 'custom.good': 5}}"
    evaluation = {"custom_metrics": [{"name": "m", "code": code}, *EVALUATION["custom_metrics"]]}
    named = criteria(own("m"), own("good"), criterion("output_length", "gte", 9), criterion("latency_ms", "lte", 1))
    found = await verify(named, {"text": "a"}, evaluation=evaluation, engine=engine())
    assert [each.met for each in found.criterion_results] == [True, True, False, False]
    assert found.metrics == {"custom.m": 1, "custom.good": 0.75, "output_length": 1}
