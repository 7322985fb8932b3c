from importlib.metadata import version
from typing import Any

from aex_models.examination import Fault
from aex_models.results import CUSTOM_METRIC_FAILED, Verdict
from aex_outcomes import AgentFault, CustomExtractor, PlatformFault, VerificationEngine
from aex_outcomes.sandbox.jobs import DisposableSandbox
from aex_outcomes.sandbox.port import Context, Limits, Returned, SandboxUnavailable
from tests.libs.outcomes.engine.builders import Still, criteria, criterion, money, verify

HEAD = "def evaluate(input, output, metadata):\n    "


class Counting:
    def __init__(self) -> None:
        self.requests: list[Context] = []

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        self.requests.append(context)
        return await DisposableSandbox().execute(code, context, limits)


class Absent:
    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        del code, context, limits
        raise SandboxUnavailable("no worker can be started")


async def extracted(codes: dict[str, str], *metrics: str, output: Any = None, **task_input: Any) -> dict[str, Any]:
    extractor = CustomExtractor(limits=Limits(timeout_ms=30_000))
    chosen = extractor.for_metrics(frozenset(metrics)) if metrics else extractor
    listed = [{"name": name, "code": code} for name, code in codes.items()]
    return dict(await chosen.extract({"custom_metrics": listed, **task_input}, output or {}, {}))


async def test_returned_numbers_and_entries_are_metrics() -> None:
    codes = {"m": f"{HEAD}return {{'metrics': {{'m': 1, 'a': True, 'b.c': 0.5}}}}", "n": f"{HEAD}return 3"}
    every = {"custom.m": 1, "custom.m.a": True, "custom.m.b.c": 0.5, "custom.n": 3}
    assert await extracted(codes) == await extracted(codes, *every) == every


async def test_missing_entries_are_faults_of_the_code() -> None:
    codes = {"m": f"{HEAD}return {{'a': 1}}", "n": f"{HEAD}return 1"}
    found = await extracted(codes, "custom.m.b", "custom.m", "custom.other", "custom.n.a")
    assert all(isinstance(each, PlatformFault) and each.code == CUSTOM_METRIC_FAILED for each in found.values())
    assert len(found) == 4


async def test_one_that_fails_leaves_the_others() -> None:
    codes = {"bad": f"{HEAD}return 1 / 0", "good": f"{HEAD}return 1"}
    found = await extracted(codes, "custom.bad", "custom.good")
    assert found["custom.good"] == 1
    assert found["custom.bad"].message == "bad: exception: ZeroDivisionError: division by zero (line 2)"


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
    extractor = CustomExtractor(sandbox).for_metrics(frozenset({"custom.a.x", "custom.a.y"}))
    codes = [{"name": name, "code": f"{HEAD}return {{'x': 1, 'y': 2}}"} for name in "abc"]
    await extractor.extract({"custom_metrics": codes}, {}, {})
    assert len(sandbox.requests) == 1


# in the engine

CODES = {"good": f"{HEAD}return 0.75", "bad": f"{HEAD}return input['hush']", "share": f"{HEAD}return 92"}
EVALUATION = {"custom_metrics": [{"name": name, "code": code} for name, code in CODES.items()]}


def own(name: str, threshold: Any = 0.5, **more: Any) -> Any:
    return criterion(f"custom.{name}", "gte", threshold, penalty="1", **more)


def engine(sandbox: Any = None) -> VerificationEngine:
    return VerificationEngine(clock=Still(), sandbox=sandbox)


async def test_code_fault_is_indeterminate_and_free() -> None:
    named = criteria(own("bad"), own("good", 0.8), criterion("output_length", "gte", 1, bonus="1"))
    found = await verify(named, {"text": "a"}, evaluation=EVALUATION, engine=engine())
    failed, unmet, met = found.criterion_results
    assert failed.error is not None
    assert (failed.error.code, failed.error.fault) == (CUSTOM_METRIC_FAILED, Fault.PLATFORM)
    assert (unmet.met, met.met) == (False, True)
    assert found.verdict is Verdict.INDETERMINATE
    assert money(found) == (0, 0)


async def test_missing_sandbox_is_platform_fault_and_retried() -> None:
    down = engine(Absent())
    for _ in range(2):
        found = await verify(criteria(own("good")), {"text": "a"}, evaluation=EVALUATION, engine=down)
        error = found.criterion_results[0].error
        assert error is not None
        assert (found.verdict, error.code) == (Verdict.INDETERMINATE, "sandbox_unavailable")


async def test_value_of_another_type_is_a_fault_of_the_code() -> None:
    expected: list[tuple[Any, bool | None]] = [
        (own("share", 90, metric_type="percentage"), True),
        (own("share", 93, metric_type="percentage"), False),
        (own("share", 0.9, metric_type="percentage"), None),
        (own("good", 1, metric_type="count"), None),
        (criterion("custom.good", "eq", True, metric_type="boolean"), None),
        (criterion("custom.good", "eq", False, metric_type="custom"), None),
        (own("share", 94, metric_type="custom"), False),
    ]
    named = criteria(*(each for each, _ in expected))
    found = (await verify(named, {}, evaluation=EVALUATION, engine=engine())).criterion_results
    assert [each.met if each.error is None else None for each in found] == [met for _, met in expected]
    errors = {(each.error.code, each.error.fault) for each in found if each.error is not None}
    assert errors == {(CUSTOM_METRIC_FAILED, Fault.PLATFORM)}


async def test_values_are_remembered_and_faults_are_not() -> None:
    sandbox = Counting()
    judge = engine(sandbox)
    for _ in range(2):
        await verify(criteria(own("good")), {"text": "a"}, evaluation=EVALUATION, engine=judge)
    assert len(sandbox.requests) == 1
    for _ in range(2):
        await verify(criteria(own("bad")), {"text": "a"}, evaluation=EVALUATION, engine=judge)
    assert len(sandbox.requests) == 3
