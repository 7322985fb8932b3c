from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.contract import Candidate
from aex_models.validation_messages import error_location, message_of
from aex_models.work import WorkSubmission


def printed(model: Any, body: Any) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    return [(error_location(each), message_of(each)) for each in caught.value.errors()]


@pytest.mark.parametrize(
    ("field", "value", "position", "words"),
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
def test_message_names_types_of_json(field: str, value: Any, position: tuple[str, ...], words: str) -> None:
    assert printed(WorkSubmission, {"title": "t", "budget": {"max_cpc": "1"}, field: value}) == [(position, words)]


@pytest.mark.parametrize("name", ["mean", "a/b", "a~1b", "a: b", ""])
def test_bad_claim_has_its_own_location(name: str) -> None:
    [(position, words)] = printed(Candidate, {"output": {}, "claimed_values": {"fine": 1, name: True}})
    assert position == ("claimed_values", name)
    assert words.startswith("Expected a")
    assert position[-1] == "" or name not in words
