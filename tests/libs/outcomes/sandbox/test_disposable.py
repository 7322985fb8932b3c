"""Whoever has no pool gets a worker for each run."""

import pytest

from aex_outcomes.sandbox.disposable import DisposableSandbox
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, NotJson, Returned, SandboxUnavailable
from tests.libs.outcomes.sandbox.conftest import EMPTY


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
    with pytest.raises(NotJson):
        await DisposableSandbox().execute("", Context({}, object(), {}), Limits())


async def test_a_candidate_that_is_nested_too_deeply_is_no_fault_of_the_code() -> None:
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(NotJson, match="nested too deeply"):
        await DisposableSandbox().execute("def evaluate(i, o, m): return 1", Context({}, deep, {}), Limits())
    own = "import json\ndef evaluate(i, o, m): return json.loads('[' * 300)"
    with pytest.raises(CodeFault, match="recursion limit"):
        await DisposableSandbox().execute(own, EMPTY, Limits())


async def test_where_no_worker_can_start_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with pytest.raises(SandboxUnavailable, match="no process"):
        await DisposableSandbox().execute("", EMPTY, Limits())
