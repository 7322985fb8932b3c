from typing import Any

import pytest

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.templates import fill_template, parse_template

SCOPE = {"item": {"a": "x", "n": 5, "half": 0.5, "deep": {"list": [{"b": "y"}]}, "a b": "z"}}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("no template", "no template"),
        ("{{item.a}}-{{ item.a }}", "x-x"),
        ("{{item.n}} {{item.half}}", "5 0.5"),
        ("{{ item.deep.list[0].b }}{{item.deep.list.0.b}}{{item['a b']}}", "yyz"),
        ("{ {item.a} }", "{ {item.a} }"),
        ("", ""),
    ],
)
def test_templates_are_filled(template: str, filled: str) -> None:
    assert fill_template(parse_template(template, has_statements=True), SCOPE) == filled


@pytest.mark.parametrize(
    "template",
    [
        "{{item.a | upper}}",
        "{{item.a + 1}}",
        "{{item.a()}}",
        "{{ item.a",
        "{% if item %}",
        "{# x #}",
        "{{}}",
        "{{a-b}}",
    ],
)
def test_more_than_names_is_not_translated(template: str) -> None:
    with pytest.raises(NotTranslatable):
        parse_template(template, has_statements=True)


@pytest.mark.parametrize("value", [True, None, 1.0, [1], {"a": 1}, 2**60, 1e-9, 1e30])
def test_values_that_tools_write_differently_are_not_translated(value: Any) -> None:
    with pytest.raises(NotTranslatable):
        fill_template(parse_template("{{item}}", has_statements=False), {"item": value})


def test_missing_value_is_not_translated() -> None:
    with pytest.raises(NotTranslatable, match=r"no item\.b"):
        fill_template(parse_template("{{item.b}}", has_statements=False), SCOPE)


def test_statements_are_plain_text_where_the_language_has_none() -> None:
    assert fill_template(parse_template("{% x %}", has_statements=False), {}) == "{% x %}"
