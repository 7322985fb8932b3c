"""What is said of a wrong document speaks of JSON, and of the very member that is wrong."""

from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.contract import Candidate
from aex_models.validation_words import place_of, words_of
from aex_models.work import WorkSubmission


def told(model: Any, body: Any) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    return [(place_of(each), words_of(each)) for each in caught.value.errors()]


@pytest.mark.parametrize(
    ("field", "value", "place", "words"),
    [
        ("science", [1], ("science",), "Expected an object"),
        ("science", {"statistics": {"a": 1}}, ("science", "statistics"), "Expected an array"),
        ("science", {"output_constraints": []}, ("science", "output_constraints"), "Expected an object"),
        ("input", "text", ("input",), "Expected an object"),
        ("science", {"data": [{"name": f"{each}.csv"} for each in range(11)]}, ("science", "data"),
         "Array should have at most 10 items after validation, not 11"),
        ("science", {"strict": "yes"}, ("science", "strict"), "Input should be a valid boolean"),
    ],
)  # fmt: skip
def test_python_s_words_are_json_s(field: str, value: Any, place: tuple[str, ...], words: str) -> None:
    assert told(WorkSubmission, {"title": "t", "budget": {"max_cpc": "1"}, field: value}) == [(place, words)]


@pytest.mark.parametrize("name", ["mean", "a/b", "a~1b", "a: b", ""])
def test_a_bad_claim_is_placed_at_its_own_name(name: str) -> None:
    [(place, words)] = told(Candidate, {"output": {}, "claimed_values": {"fine": 1, name: True}})
    assert place == ("claimed_values", name)
    assert words.startswith("Expected a")
    assert place[-1] == "" or name not in words
