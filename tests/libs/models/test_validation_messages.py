from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from rapidfuzz.distance import Levenshtein

from aex_models.contract import Candidate
from aex_models.validation_messages import (
    MAX_EDITS,
    build_error_location,
    find_closest_name,
    format_suggestion,
    message_of,
)
from aex_models.work import WorkSubmission


def printed(model: Any, body: Any) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    return [(build_error_location(each), message_of(each)) for each in caught.value.errors()]


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


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"titel": "t"}, "There is no such field; did you mean title?"),
        ({"verification": {"feedbak": "full"}}, "There is no such field; did you mean feedback?"),
        ({"success_criteria": {"criteria": [{"treshold": 1}]}}, "There is no such field; did you mean threshold?"),
        ({"verification": {"attempts": 3}},
         "There is no such field; known here: max_attempts, feedback, verifier, deadline_s"),
        ({"verification": {"feedback": "fulls"}},
         "Input should be 'criteria', 'full' or 'none'; did you mean full?"),
        ({"verification": {"feedback": "everything"}}, "Input should be 'criteria', 'full' or 'none'"),
    ],
)  # fmt: skip
def test_misspelt_field_or_word_gets_a_suggestion(body: Any, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        WorkSubmission.model_validate(body)
    assert words in [message_of(each, WorkSubmission) for each in caught.value.errors()]
    assert "Extra inputs" not in str([message_of(each) for each in caught.value.errors()])


@pytest.mark.parametrize("name", ["mean", "a/b", "a~1b", "a: b", ""])
def test_bad_claim_has_its_own_location(name: str) -> None:
    [(position, words)] = printed(Candidate, {"output": {}, "claimed_values": {"fine": 1, name: True}})
    assert position == ("claimed_values", name)
    assert words.startswith("Expected a")
    assert position[-1] == "" or name not in words


_NAMES = st.text("abcd", max_size=7)


@pytest.mark.parametrize(
    ("name", "known", "closest"),
    [
        ("rougel", ("rouge1", "rougeL"), "rougeL"),
        ("rougL", ("rouge1", "rougeL"), "rougeL"),
        ("ROUGEL", ("rouge1", "rougeL"), "rougeL"),
        ("limt", ("cursor", "limit"), "limit"),
        ("mim", ("min", "max"), "min"),
        ("limit", ("limits", "limit"), "limit"),
        ("limiting", ("limit",), None),
        ("xy", ("f1",), None),
        ("", ("a",), None),
        ("limit", (), None),
        ("x" * 10_000_000, ("limit",), None),
    ],
)
def test_name_of_fewest_edits_is_suggested(name: str, known: tuple[str, ...], closest: str | None) -> None:
    assert find_closest_name(name, known) == closest


@given(_NAMES, st.lists(_NAMES, max_size=6))
def test_no_known_name_is_closer_than_the_suggestion(name: str, known: list[str]) -> None:
    distances = {each: Levenshtein.distance(name, each) for each in known}
    near = {each: edits for each, edits in distances.items() if edits <= MAX_EDITS and 2 * edits < len(name or each)}
    closest = find_closest_name(name, known)
    assert closest is None or distances[closest] == min(distances.values()) <= MAX_EDITS
    assert closest is not None or not near


def test_suggestion_follows_a_message() -> None:
    assert format_suggestion("rougL", ("rougeL",)) == "; did you mean rougeL?"
    assert format_suggestion("shape", ("rougeL",)) == ""
