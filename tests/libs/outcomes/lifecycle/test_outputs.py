"""Outputs that are models, as the JSON that their own class reads back."""

from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr, field_serializer

from aex_outcomes import Passed, RevisionLoop
from aex_outcomes.lifecycle.outputs import output_json


class WrittenUnderAnotherName(BaseModel):
    title: str = Field(serialization_alias="Title")


class ReadUnderAnotherName(BaseModel):
    title: str = Field(validation_alias="Title")


class BothNames(BaseModel):
    title: str = Field(alias="Title")


class Secretive(BaseModel):
    key: SecretStr


class OneWay(BaseModel):
    words: int

    @field_serializer("words")
    def in_letters(self, words: int) -> str:
        return "many" if words else "none"


@pytest.mark.parametrize(
    ("output", "written"),
    [
        (WrittenUnderAnotherName(title="t"), {"title": "t"}),
        (BothNames(Title="t"), {"Title": "t"}),
        ([WrittenUnderAnotherName(title="t")], [{"Title": "t"}]),
        ({"at": 1.5}, {"at": 1.5}),
    ],
)
def test_a_model_is_written_under_the_names_that_its_class_reads(output: Any, written: Any) -> None:
    assert output_json(output) == written


async def test_a_verifier_is_given_what_the_producer_gave() -> None:
    loop = RevisionLoop(
        lambda _: WrittenUnderAnotherName(title="t"),
        output_type=WrittenUnderAnotherName,
        verifier=lambda out: out.title,
    )
    assert await loop.run("q") == Passed("t")


@pytest.mark.parametrize(
    "output",
    [ReadUnderAnotherName.model_validate({"Title": "t"}), OneWay(words=3)],
    ids=lambda each: type(each).__name__,
)
def test_a_model_that_cannot_be_read_back_is_a_mistake_that_is_named(output: BaseModel) -> None:
    with pytest.raises(TypeError, match=rf"A {type(output).__name__} .*give its serialiser and its validator the same"):
        output_json(output)


def test_a_model_that_changes_on_the_way_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert output_json(Secretive(key=SecretStr("hush"))) == {"key": "**********"}
    told = capsys.readouterr().out
    assert "output_changed_by_json" in told
    assert "hush" not in told


def test_what_json_cannot_hold_is_left_for_the_candidate_check() -> None:
    class Number(BaseModel):
        value: float

    assert output_json(Number(value=float("inf"))) == {"value": float("inf")}
