from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aex_models.contract import Candidate
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Rejection, Ruling
from aex_outcomes.lifecycle.signature import InvalidVerifier
from aex_outcomes.lifecycle.verifier import CheckedVerifier
from tests.libs.outcomes.engine.builders import result
from tests.libs.outcomes.lifecycle import string_annotations

AGENT = AgentContext(query="q")


class Report(BaseModel):
    """A strict output: JSON has its dates as text all the same."""

    model_config = ConfigDict(strict=True, extra="forbid")
    day: date
    lines: tuple[str, ...] = Field(max_length=60)


GOOD = {"day": "2026-01-31", "lines": ["a", "b"]}


def raises(error: BaseException) -> Any:
    def verify(_output: Any) -> None:
        raise error

    return verify


NEVER = raises(AssertionError("the verifier was asked"))


async def ruled(verify: Any, output: Any, output_type: Any = Any) -> Ruling:
    return await CheckedVerifier(verify, output_type).decide_ruling(Candidate(output=output), AGENT, None)


async def test_what_a_verifier_returns_is_the_final_result_and_it_is_given_the_validated_output() -> None:
    ruling = await ruled(lambda report: (report.day.year, report.lines), GOOD, Report)
    assert ruling == Accepted(final_result=(2026, ("a", "b")))


async def test_a_rejection_by_criteria_keeps_their_result() -> None:
    found = result(False)
    error = VerificationRejected("no")
    error.result = found  # type: ignore[attr-defined]
    ruling = await ruled(raises(error), 1)
    assert isinstance(ruling, Rejected)
    assert ruling.result == found


async def test_a_fatal_error_is_a_rejection_for_good() -> None:
    ruling = await ruled(raises(FatalAgentError("stop")), 1)
    assert ruling == Rejected(rejection=Rejection(message="stop", code="fatal"), fatal=True)


@pytest.mark.parametrize("error", [RuntimeError("x"), KeyError("x"), TimeoutError(), ExceptionGroup("x", [OSError()])])
async def test_any_other_exception_comes_out_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)):
        await ruled(raises(error), 1)


async def test_a_validation_error_of_the_verifiers_own_is_no_invalid_output() -> None:
    with pytest.raises(ValidationError):
        await ruled(lambda _output: Report.model_validate({}), 1)


async def test_an_invalid_output_is_reported_with_pointers_without_a_call_of_the_verifier() -> None:
    ruling = await ruled(NEVER, {"day": "soon", "lines": ["a", 7], "a/b": 1}, Report)
    assert isinstance(ruling, Invalid)
    assert [(each.path, each.code) for each in ruling.errors] == [
        ("/output/day", "date_parsing"),
        ("/output/lines/1", "string_type"),
        ("/output/a~1b", "extra_forbidden"),
    ]


@pytest.mark.parametrize(
    ("output", "path"), [({"n": [1, float("nan")]}, "/output/n/1"), (2**60, "/output"), ({"t": "\ud800"}, "/output/t")]
)
async def test_what_i_json_cannot_hold_is_invalid_at_its_path(output: Any, path: str) -> None:
    ruling = await ruled(NEVER, output)
    assert isinstance(ruling, Invalid)
    assert [(each.path, each.code) for each in ruling.errors] == [(path, "not_canonical_json")]


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Cage(BaseModel):
    animal: Cat | Dog = Field(discriminator="kind")


async def test_errors_are_few_short_and_quote_no_input() -> None:
    hush = "hush" * 1_000
    wide = await ruled(NEVER, [hush] * 1_000, list[int])
    tagged = await ruled(NEVER, {"animal": {"kind": f"{hush} expected tags: {hush}"}}, Cage)
    hostile = await ruled(NEVER, GOOD | {hush: 1}, Report)
    assert isinstance(wide, Invalid)
    assert isinstance(tagged, Invalid)
    assert isinstance(hostile, Invalid)
    assert len(wide.errors) == 50
    assert tagged.errors[0].message == "Input tag does not match any of the expected tags: 'cat', 'dog'"
    assert all(len(each.path) <= 301 for each in hostile.errors)
    assert not any("hush" in each.message for each in (*wide.errors, *tagged.errors, *hostile.errors))


async def test_a_verifier_may_change_the_output_it_was_given() -> None:
    candidate = Candidate(output={"list": [1]})
    verifier = CheckedVerifier(lambda output: output["list"].append(2), dict[str, Any])
    await verifier.decide_ruling(candidate, AGENT, None)
    assert candidate.output == {"list": [1]}


@pytest.mark.parametrize(
    ("output_type", "expected_message"),
    [
        (None, "output_type is missing: give the type that the output has"),
        ("Report", "output_type 'Report' is no type that pydantic can validate: name 'Report' is not defined"),
        (5, "output_type 5 is no type that pydantic can validate"),
    ],
)
def test_an_output_type_that_cannot_be_used_is_refused_at_construction(output_type: Any, expected_message: str) -> None:
    with pytest.raises(InvalidVerifier, match=expected_message):
        CheckedVerifier(NEVER, output_type)


@pytest.mark.parametrize(
    ("verify", "expected_message"),
    [
        (lambda output: output, "'output' has no annotation to take the output type from: annotate it, or declare"),
        (string_annotations.of_a_type_that_is_not_there, "annotation 'Decimal' .* 'output' cannot be resolved"),
        (len, "has no annotation"),
    ],
)
def test_without_a_usable_annotation_the_output_type_has_to_be_declared(verify: Any, expected_message: str) -> None:
    with pytest.raises(InvalidVerifier, match=expected_message):
        CheckedVerifier.from_annotated_function(verify)
