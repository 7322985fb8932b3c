from typing import Any

import pytest

from aex_models.expressions import MAX_CHARACTERS
from aex_models.science import Science
from aex_models.tables import DerivedColumn, Join, JoinKind
from tests.libs.models.refusing import codes, refusals

RATIO = {"column": "ratio", "expression": "treated / control"}


def test_derived_column_names_the_columns_that_it_reads() -> None:
    found = DerivedColumn.model_validate(RATIO)
    assert (found.artifact, found.inputs) == (None, ("treated", "control"))
    assert DerivedColumn.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"expression": "treated ** 2"}, "invalid_expression"),
        ({"expression": ""}, "string_too_short"),
        ({"expression": "x" * (MAX_CHARACTERS + 1)}, "string_too_long"),
        ({"expression": 3}, "string_type"),
        ({"column": ""}, "string_too_short"),
        ({"artifact": ""}, "string_too_short"),
        ({"sql": "1"}, "extra_forbidden"),
    ],
)
def test_malformed_derived_column_is_refused(fields: dict[str, Any], code: str) -> None:
    assert codes(DerivedColumn, {**RATIO, **fields}) == {code}


def test_refusal_of_an_expression_has_its_position() -> None:
    body = {"derived": [RATIO, {"column": "x", "expression": "{treated}"}]}
    assert refusals(Science, body) == {"derived.1.expression": "invalid_expression"}


def test_a_work_derives_at_most_twenty_columns() -> None:
    columns = [{**RATIO, "column": f"c{index}"} for index in range(21)]
    assert len(Science.model_validate({"derived": columns[:20]}).derived) == 20
    assert codes(Science, {"derived": columns}) == {"too_long"}


BOTH: dict[str, Any] = {"name": "both", "left": "a.csv", "right": "b.csv", "on": ["gene"]}


def test_join_is_inner_unless_it_says_otherwise() -> None:
    found = Join.model_validate(BOTH)
    assert (found.how, found.on) == (JoinKind.INNER, ("gene",))
    assert Join.model_validate_json(found.model_dump_json()) == found
    assert Join.model_validate({**BOTH, "how": "left"}).how is JoinKind.LEFT


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"how": "outer"}, "enum"),
        ({"on": []}, "too_short"),
        ({"on": [f"c{index}" for index in range(11)]}, "too_long"),
        ({"on": ["gene", "gene"]}, "duplicate_name"),
        ({"left": "both"}, "invalid_join"),
        ({"right": "both"}, "invalid_join"),
        ({"name": ""}, "string_too_short"),
    ],
)
def test_malformed_join_is_refused(fields: dict[str, Any], code: str) -> None:
    assert codes(Join, {**BOTH, **fields}) == {code}


def test_a_work_has_at_most_five_joins() -> None:
    joins = [{**BOTH, "name": f"j{index}"} for index in range(6)]
    assert len(Science.model_validate({"joins": joins[:5]}).joins) == 5
    assert codes(Science, {"joins": joins}) == {"too_long"}
