from collections.abc import Mapping
from typing import Any

import pytest

from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.sandbox.dry_run import collect_dry_run_findings
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Returned

Answer = Returned | CodeFault


class Scripted:
    def __init__(self, answers: Mapping[str, Answer | tuple[Answer, Answer]]) -> None:
        self._answers = answers
        self.requests: list[tuple[str, Context, Limits]] = []

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """The answer in the script: the first of two for an empty candidate."""
        self.requests.append((code, context, limits))
        answer = self._answers[code]
        if isinstance(answer, tuple):
            answer = answer[bool(context.output)]
        if isinstance(answer, CodeFault):
            raise answer
        return answer


FINE = Returned(1, {})
REFERENCE = {"reference": "abc"}


async def tried(sandbox: Scripted, *codes: str, **more: Any) -> dict[str, Any]:
    metrics = [{"name": f"m{number}", "code": code} for number, code in enumerate(codes)]
    return await collect_dry_run_findings(
        {"custom_metrics": metrics, **more}, VerificationEngine(sandbox=sandbox), sandbox
    )


def criteria(metric: str, metric_type: str = "numeric") -> dict[str, Any]:
    return {"criteria": [{"metric": metric, "metric_type": metric_type, "comparison": "gte", "threshold": 1}]}


async def test_without_code_and_criteria_nothing_is_run_or_found() -> None:
    sandbox = Scripted({})
    assert await tried(sandbox) == {"problems": [], "warnings": []}
    assert sandbox.requests == []


async def test_each_code_runs_on_an_empty_candidate_and_on_the_reference_with_the_works_own_input() -> None:
    sandbox = Scripted({"a": FINE, "b": FINE})
    await tried(sandbox, "a", "b", input={"text": "long"}, evaluation=REFERENCE)
    assert [(code, bool(context.output)) for code, context, _ in sandbox.requests] == [
        ("a", False),
        ("a", True),
        ("b", False),
        ("b", True),
    ]
    assert all(context.input == {"text": "long", **REFERENCE} for _, context, _ in sandbox.requests)


@pytest.mark.parametrize("kind", [FaultKind.TIMEOUT, FaultKind.MEMORY])
async def test_after_code_that_takes_all_of_its_time_or_memory_no_other_is_run(kind: FaultKind) -> None:
    sandbox = Scripted({"a": FINE, "b": CodeFault(kind, "hush", 3), "c": FINE})
    found = await tried(sandbox, "a", "b", "c", evaluation=REFERENCE)
    assert [(each["code"], each["path"]) for each in found["problems"]] == [
        (f"custom_metric_{kind}", "/evaluation/custom_metrics/1/code")
    ]
    assert found["problems"][0]["message"].endswith("on an empty candidate (line 3)")
    assert [code for code, _, _ in sandbox.requests] == ["a", "a", "b"]


async def test_code_that_is_no_python_is_reported_once_and_the_others_are_run() -> None:
    sandbox = Scripted({"a": CodeFault(FaultKind.SYNTAX, "hush", None), "b": FINE})
    found = await tried(sandbox, "a", "b", evaluation=REFERENCE)
    assert [each["message"] for each in found["problems"]] == [
        "The code is not in the sandbox's Python on an empty candidate"
    ]
    assert [code for code, _, _ in sandbox.requests] == ["a", "b", "b"]


@pytest.mark.parametrize(
    ("fault", "feedback"),
    [
        (CodeFault(FaultKind.EXCEPTION, "KeyError: hush", 2), "raises KeyError on an empty candidate (line 2)"),
        (CodeFault(FaultKind.BAD_RESULT, "hush", None), "returns what is no metric on an empty candidate"),
        (CodeFault(FaultKind.TOO_MUCH_OUTPUT, "hush", None), "prints more than is taken on an empty candidate"),
    ],
)
async def test_what_another_candidate_may_mend_is_a_warning_without_the_codes_own_words(
    fault: CodeFault, feedback: str
) -> None:
    found = await tried(Scripted({"a": (fault, FINE)}), "a", evaluation=REFERENCE)
    assert found["problems"] == []
    assert [each["message"] for each in found["warnings"]] == [f"The code {feedback}"]


@pytest.mark.parametrize(
    ("metric", "metric_type", "returned", "feedback"),
    [
        ("custom.m0", "numeric", FINE, None),
        ("custom.m0.depth", "numeric", Returned(None, {"depth": 2}), None),
        ("custom.m0.depth", "numeric", Returned(None, {"width": 2}), "returns no entry depth"),
        ("custom.m0.depth", "numeric", FINE, "returns no entry depth"),
        ("custom.m0", "numeric", Returned(None, {"width": 2}), "returns no entry m0"),
        ("custom.m0", "percentage", Returned(-5, {}), "returns for custom.m0 what the type percentage rules out"),
        ("custom.m0", "count", Returned(47.11, {}), "returns for custom.m0 what the type count rules out"),
        ("custom.m0", "numeric", Returned(True, {}), "returns for custom.m0 what the type numeric rules out"),
        ("word_count", "count", Returned(None, {"width": 2}), None),
    ],
)
async def test_a_result_that_a_criterion_cannot_use_is_a_warning(
    metric: str, metric_type: str, returned: Returned, feedback: str | None
) -> None:
    found = await tried(Scripted({"a": returned}), "a", success_criteria=criteria(metric, metric_type))
    assert found["problems"] == []
    expected = [] if feedback is None else [f"The code {feedback} on an empty candidate"]
    assert [each["message"] for each in found["warnings"]] == expected


async def test_a_reference_that_the_criteria_refuse_is_reported_beside_what_the_code_does() -> None:
    found = await tried(
        Scripted({"a": Returned(0, {})}), "a", evaluation=REFERENCE, success_criteria=criteria("custom.m0")
    )
    assert [each["code"] for each in found["warnings"]] == ["reference_fails_criteria"]
