import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.sandbox.interpreter import find_script_folders
from aex_outcomes.sandbox.port import Context, ContextNotJson, FaultKind
from tests.libs.outcomes.sandbox.conftest import JOBS, Pooled

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_evaluate_gets_input_output_and_metadata(sandbox: Pooled) -> None:
    code = "def evaluate(input, output, metadata):\n    return {'a': input['x'], 'b': len(output), 'c': metadata['t']}"
    returned = await sandbox.run(code, Context({"x": 1.5}, ["é", None], {"t": True}))
    assert (returned.value, dict(returned.metrics)) == (None, {"a": 1.5, "b": 2, "c": True})


async def test_it_is_called_once_after_the_code_has_run(sandbox: Pooled) -> None:
    code = "calls = []\ndef evaluate(i, o, m):\n    calls.append(1)\n    return len(calls)\ncalls.append(1)"
    assert (await sandbox.run(code)).value == 2


@pytest.mark.parametrize("value", [0, -0.5, True, 2**53 - 1, 5e-324])
async def test_numbers_come_back_as_they_are(sandbox: Pooled, value: float) -> None:
    returned = (await sandbox.run(f"def evaluate(i, o, m): return {value}")).value
    assert (returned, type(returned)) == (value, type(value))


async def test_what_lies_behind_the_codes_end_is_no_line_of_it(sandbox: Pooled) -> None:
    fault = await sandbox.fault("x = 1")
    assert (fault.kind, fault.line) == (FaultKind.EXCEPTION, None)
    assert "evaluate" in fault.message


async def test_time_counts_for_the_module_too(sandbox: Pooled) -> None:
    fault = await sandbox.fault("while True: pass\ndef evaluate(i, o, m): return 1", timeout_ms=100)
    assert fault.kind is FaultKind.TIMEOUT


@pytest.mark.parametrize(
    "endless",
    [
        "while True: pass",
        "return 7 ** 10_000_000 % 2",
        "return sorted(range(3_000_000), key=lambda n: [n])[0]",
    ],
)
async def test_an_interpreter_that_met_its_time_is_replaced(sandbox: Pooled, endless: str) -> None:
    fault = await sandbox.fault(f"def evaluate(i, o, m):\n    {endless}", timeout_ms=150)
    assert fault.kind is FaultKind.TIMEOUT
    assert (await sandbox.run("def evaluate(i, o, m): return 7")).value == 7


async def test_memory_is_bounded(sandbox: Pooled) -> None:
    grows = "def evaluate(i, o, m):\n    return len([0] * 6_000_000)"
    assert (await sandbox.fault(grows, memory_mb=32)).kind is FaultKind.MEMORY
    assert (await sandbox.run(grows, memory_mb=128)).value == 6_000_000


async def test_printing_is_free_up_to_its_limit(sandbox: Pooled) -> None:
    prints = "def evaluate(i, o, m):\n    print('é' * 40, end='')\n    return 1"
    assert (await sandbox.run(prints, stdout_bytes=80)).value == 1
    assert (await sandbox.fault(prints, stdout_bytes=79)).kind is FaultKind.TOO_MUCH_OUTPUT


async def test_code_that_prints_too_much_is_stopped_at_once(sandbox: Pooled) -> None:
    prints = "def evaluate(i, o, m):\n    for i in range(10**12): print('x' * 1000)\n    return 1"
    fault = await sandbox.fault(prints, timeout_ms=20_000)  # all of it would take longer
    assert fault.kind is FaultKind.TOO_MUCH_OUTPUT
    assert (await sandbox.run("def evaluate(i, o, m): return 7")).value == 7


@pytest.mark.parametrize(
    "code",
    [
        "import json\nevaluate = eval(\"lambda i, o, m: json.loads('[' * 100_000)\")",
        "import json\ndef evaluate(i, o, m): return json.loads('[' * 100_000)",
        "import json\nevaluate = lambda i, o, m: json.loads('[' * 100_000)",
        "import json\nevaluate = lambda i, o, m: list(map(json.loads, ['[' * 100_000]))[0]",
        "evaluate = eval('lambda i, o, m: evaluate(i, o, m)')",
        "import json\nraise ValueError('recursion limit exceeded')",
    ],
)
async def test_code_that_recurses_too_deeply_is_to_blame_itself(sandbox: Pooled, code: str) -> None:
    assert (await sandbox.fault(code)).kind in {FaultKind.EXCEPTION, FaultKind.SYNTAX}


@pytest.mark.parametrize("wrapped", [lambda inner: [inner], lambda inner: {"a": inner}, lambda inner: {"a": [inner]}])
async def test_however_deep_a_context_may_be_the_interpreter_reads_it(
    sandbox: Pooled, wrapped: Callable[[object], object]
) -> None:
    deep: object = 1
    with suppress(ContextNotJson):
        while Context({}, wrapped(deep), {}).as_json():
            deep = wrapped(deep)
    assert (await sandbox.run("def evaluate(i, o, m): return len(o)", Context({}, deep, {}))).value == 1


async def test_a_result_that_is_too_large_is_a_fault_of_the_code(sandbox: Pooled) -> None:
    fault = await sandbox.fault("def evaluate(i, o, m): raise ValueError('x' * 100_000_000)", timeout_ms=20_000)
    assert fault.kind is FaultKind.MEMORY
    assert len(fault.message) < 1_000


async def test_every_run_is_like_every_other(sandbox: Pooled) -> None:
    code = (
        "import datetime, random, time\ndef evaluate(i, o, m):\n    time.sleep(1_000)\n"
        "    return {'r': random.random(), 't': time.time(), 'd': datetime.datetime.now().year, 'h': hash('x') % 1000}"
    )
    first, second = (await sandbox.run(code), await sandbox.run(code))
    assert first == second
    assert first.metrics["d"] == 2026


async def test_nothing_survives_a_run(sandbox: Pooled) -> None:
    await sandbox.run("left = 1\nlen = None\ndef evaluate(i, o, m): return left")
    assert "left" in (await sandbox.fault("def evaluate(i, o, m): return left")).message
    assert (await sandbox.run("def evaluate(i, o, m): return len([1])")).value == 1


@pytest.mark.slow
async def test_a_text_of_many_millions_of_characters_is_handed_over(sandbox: Pooled) -> None:
    returned = await sandbox.run("def evaluate(i, o, m): return len(o)", Context({}, "漢" * 12_000_000, {}))
    assert returned.value == 12_000_000


async def test_an_interpreter_that_dies_is_replaced_and_the_run_tried_once_more(pool: WorkerPool) -> None:
    slow = "def evaluate(i, o, m):\n    for n in range(10_000_000): pass\n    return 3"
    assert await pool.run(f"{JOBS}:killed", {"code": slow, "times": 1}, timeout_s=100) == {"value": 3}
    endless = "def evaluate(i, o, m):\n    while True: pass"
    answer = await pool.run(f"{JOBS}:killed", {"code": endless, "times": 2}, timeout_s=100)
    assert answer["kind"] == "memory"


async def test_one_interpreter_serves_many_runs_and_has_nothing_of_the_worker(pool: WorkerPool) -> None:
    found = await pool.run(f"{JOBS}:interpreters", {"times": 3})
    assert found["count"] == 1
    assert found["links"] == ["/dev/null", "pipe", "pipe", "pipe"], "no socket to answer through, and its leash"
    assert found["environment"] == ""
    assert found["status"]["NoNewPrivs"] == "1"
    assert set(found["status"]["CapEff"]) == {"0"}


@pytest.mark.parametrize("ends", ["return 1", "raise ValueError"])
async def test_a_worn_interpreter_is_replaced_however_its_runs_ended(pool: WorkerPool, ends: str) -> None:
    payload = {"code": f"def evaluate(i, o, m): {ends}", "times": 1_010, "busy_s": 20}
    assert (await pool.run(f"{JOBS}:processes", payload))["count"] == 2


@pytest.mark.parametrize("ends", ["return 1", "raise ValueError"])
async def test_an_interpreter_that_was_busy_for_long_is_replaced(pool: WorkerPool, ends: str) -> None:
    busy = f"def evaluate(i, o, m):\n    for n in range(1_000_000): pass\n    {ends}"
    assert (await pool.run(f"{JOBS}:processes", {"code": busy, "times": 3, "busy_s": 0.001}))["count"] == 3
    assert (await pool.run(f"{JOBS}:processes", {"code": busy, "times": 3, "busy_s": 20}))["count"] == 1


async def test_an_interpreter_that_dies_in_between_is_replaced_within_the_same_bounds(pool: WorkerPool) -> None:
    found = await pool.run(f"{JOBS}:idle_one_killed", {"code": "def evaluate(i, o, m): return 1"})
    assert found["value"] == 1
    assert 0 < found["budget_s"] <= 20 + 2 * 5 + 1, "beside what the worker used itself"


BREAKS = """#!{python} -I
import os, subprocess, sys
real = subprocess.Popen([{monty!r}, *sys.argv[1:]], stdin=subprocess.PIPE)
while (read := os.read(0, 65536)) and b"evaluate" not in read:
    os.write(real.stdin.fileno(), read)
real.kill()
real.wait()
os.abort()
"""


async def test_an_interpreter_that_crashes_on_good_code_too_is_the_platforms_fault(
    pool: WorkerPool, tmp_path: Path
) -> None:
    program = tmp_path / "monty"
    program.write_text(
        BREAKS.format(python=sys.executable, monty=str(find_script_folders()[0] / "monty")), encoding="utf-8"
    )
    program.chmod(0o755)
    found = await pool.run(f"{JOBS}:with_program", {"folder": str(tmp_path)})
    assert found == {"unavailable": "the interpreter fails whatever it runs: Crashed"}


async def test_a_program_that_is_no_interpreter_is_the_platforms_fault(pool: WorkerPool, tmp_path: Path) -> None:
    program = tmp_path / "monty"
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    found = await pool.run(f"{JOBS}:with_program", {"folder": str(tmp_path)})
    assert found["unavailable"].startswith("the interpreter does not start")


async def test_an_interpreter_that_is_not_installed_is_named(pool: WorkerPool, tmp_path: Path) -> None:
    found = await pool.run(f"{JOBS}:with_program", {"folder": str(tmp_path)})
    assert found["unavailable"] == f"the program monty is not in {tmp_path}: install pydantic-monty-runtime"
