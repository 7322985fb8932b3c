import pytest

from aex_outcomes.sandbox.monty_sandbox import MontySandbox
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, SandboxUnavailable

CODE = "def evaluate(input, output, metadata): return 1"
EMPTY = Context({}, {}, {})


async def test_in_a_process_with_all_of_its_rights_no_interpreter_starts() -> None:
    with MontySandbox() as sandbox, pytest.raises(SandboxUnavailable, match="confined workers alone"):
        await sandbox.execute(CODE, EMPTY, Limits())


async def test_code_that_is_too_long_is_the_codes_fault_before_anything_starts() -> None:
    with MontySandbox() as sandbox:
        with pytest.raises(CodeFault) as refused:
            await sandbox.execute(CODE, EMPTY, Limits(code_bytes=len(CODE) - 1))
        assert refused.value.kind is FaultKind.SYNTAX
        with pytest.raises(SandboxUnavailable):
            await sandbox.execute(CODE, EMPTY, Limits(code_bytes=len(CODE)))
