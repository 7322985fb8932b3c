"""YAML means what JSON would, and says so where it cannot."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_cli.offline.yaml_text import NotYaml, json_text, parse_yaml
from aex_models.numbers import JsonFloat, text_of

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("terms: [no, yes, on, off, y]", {"terms": ["no", "yes", "on", "off", "y"]}),
        ("since: 2024-01-31", {"since": "2024-01-31"}),
        ("at: 12:30:45", {"at": "12:30:45"}),
        ("id: 007", {"id": "007"}),
        ("hex: 0x1F", {"hex": "0x1F"}),
        ("many: 1_000", {"many": "1_000"}),
        ("small: 1e-3", {"small": 0.001}),
        ("half: .5", {"half": 0.5}),
        ("low: -3", {"low": -3}),
        ("nan: .nan", {"nan": ".nan"}),
        ("quoted: ['true', \"5\", '~']", {"quoted": ["true", "5", "~"]}),
        ("block: |\n  true\n", {"block": "true\n"}),
        ("nothing:\ntoo: ~\nthird: null", {"nothing": None, "too": None, "third": None}),
        ("<<: {a: 1}", {"<<": {"a": 1}}),
        ("true", True),
        ("a text alone", "a text alone"),
        ("", None),
        ("# a comment alone", None),
        ("--- {a: [b, {c: d}]}\n...", {"a": ["b", {"c": "d"}]}),
    ],
)
def test_unquoted_words_are_what_json_has_a_word_for_and_else_texts(text: str, value: Any) -> None:
    found = parse_yaml(text)
    assert found == value
    assert json.dumps(found) == json.dumps(value)


def test_a_fraction_keeps_the_text_that_it_was_written_as() -> None:
    found = parse_yaml("bonus: 0.10")["bonus"]
    assert isinstance(found, JsonFloat)
    assert text_of(found) == "0.10"


@pytest.mark.parametrize(
    ("text", "in_json"),
    [
        ("11.170", "11.170"),
        ("+5.0", "5.0"),
        ("-.50", "-0.50"),
        ("5.", "5"),
        ("2.e3", "2e3"),
        ("0.2500000", "0.2500000"),
    ],
)
def test_a_number_goes_on_as_json_with_the_digits_that_it_was_written_with(text: str, in_json: str) -> None:
    assert json_text(parse_yaml(f"n: [{text}, yes]")) == f'{{"n":[{in_json},"yes"]}}'


@given(VALUES)
def test_all_json_goes_on_as_json(value: Any) -> None:
    assert json.loads(json_text(parse_yaml(json.dumps(value, ensure_ascii=False)))) == value


@given(VALUES)
def test_all_json_is_is_read_as_json(value: Any) -> None:
    assert parse_yaml(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("a: 1\nb: 2\na: 3", "'a' is there twice", 3),
        ("a: &x 1\nb: *x", "refers to another part of itself (*x)", 2),
        ("a: &x [*x]", "refers to another part", 1),
        ("1: one", "a name is not a text", 1),
        ("? [a]\n: b", "a name is not a text", 1),
        ("a: !!int '5'", "has a tag", 1),
        ("!!python/object/apply:os.system [x]", "has a tag", 1),
        ("a: 1\n---\nb: 2", "more than one document", 3),
        ("a: b: c", "mapping values are not allowed", 1),
        ("a: 'open", "end of stream", 1),
        ("a: [1, 2\n", "did not find expected", 2),
        ("\tx: 1", "character", 1),
        ("[" * 100_000, "nested more than 64 levels", 1),
        ("- " * 100_000, "nested more than 64 levels", 1),
        (f"a: {'9' * 500}", "more than 400 characters", 1),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_line(text: str, problem: str, line: int) -> None:
    with pytest.raises(NotYaml) as refused:
        parse_yaml(text)
    assert problem in str(refused.value)
    assert f"line {line}" in str(refused.value)
    assert refused.value.fix


def test_a_control_character_is_refused() -> None:
    with pytest.raises(NotYaml, match="character"):
        parse_yaml("a: \x01")
