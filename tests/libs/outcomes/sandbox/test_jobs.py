import pytest

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.sandbox.jobs import DisposableSandbox
from aex_outcomes.sandbox.port import (
    CodeFault,
    Context,
    ContextNotJson,
    FaultKind,
    Limits,
    Returned,
    SandboxUnavailable,
)
from tests.libs.outcomes.sandbox.conftest import EMPTY, SELF_TEST


@pytest.mark.asyncio(loop_scope="module")
async def test_it_passes_twice(pool: WorkerPool) -> None:
    assert await pool.run(SELF_TEST, {}) == {"ok": True, "failures": []}
    assert await pool.run(SELF_TEST, {}) == {"ok": True, "failures": []}


async def test_a_worker_that_may_not_start_processes_fails_it() -> None:
    async with WorkerPool(1, 30, 512, jobs=[SELF_TEST], spares=0, children=False) as pool:
        answer = await pool.run(SELF_TEST, {})
    assert not answer["ok"]
    assert answer["failures"][0].startswith("unavailable: the interpreter does not start")


async def test_code_runs_and_returns() -> None:
    code = "def evaluate(input, output, metadata): return {'score': len(output['text'])}"
    returned = await DisposableSandbox().execute(code, Context({}, {"text": "é\ud800"}, {}), Limits())
    assert returned == Returned(None, {"score": 2})


async def test_its_faults_are_the_same() -> None:
    with pytest.raises(CodeFault) as caught:
        await DisposableSandbox().execute("x = 1\ndef evaluate(i, o, m): return 1 / 0", EMPTY, Limits())
    assert (caught.value.kind, caught.value.line) == (FaultKind.EXCEPTION, 2)


async def test_time_is_enforced() -> None:
    with pytest.raises(CodeFault) as caught:
        await DisposableSandbox().execute("while True: pass", EMPTY, Limits(timeout_ms=100))
    assert caught.value.kind is FaultKind.TIMEOUT


async def test_code_with_a_lone_surrogate_is_code_like_any() -> None:
    returned = await DisposableSandbox().execute("x = '\ud800'\ndef evaluate(i, o, m): return 1", EMPTY, Limits())
    assert returned.value == 1


async def test_a_candidate_that_is_no_json_is_refused_before_anything_starts() -> None:
    with pytest.raises(ContextNotJson):
        await DisposableSandbox().execute("", Context({}, object(), {}), Limits())


async def test_a_candidate_that_is_nested_too_deeply_is_no_fault_of_the_code() -> None:
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(ContextNotJson, match="nested too deeply"):
        await DisposableSandbox().execute("def evaluate(i, o, m): return 1", Context({}, deep, {}), Limits())
    own = "import json\ndef evaluate(i, o, m): return json.loads('[' * 300)"
    with pytest.raises(CodeFault, match="recursion limit"):
        await DisposableSandbox().execute(own, EMPTY, Limits())


async def test_where_no_worker_can_start_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with pytest.raises(SandboxUnavailable, match="no process"):
        await DisposableSandbox().execute("", EMPTY, Limits())
