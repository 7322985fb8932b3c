"""Files as their users have them: JSON, YAML, neither, or not there."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_cli.offline.documents import (
    MAX_BYTES,
    InputDocument,
    NotYaml,
    encode_json_keeping_digits,
    parse_yaml,
    read_document,
)
from aex_runtime.commandline import UserError


def read(folder: Path, name: str, content: bytes) -> InputDocument:
    path = folder / name
    path.write_bytes(content)
    return read_document("--work", str(path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.json", b'{"a": [1.5, true]}'),
        ("w.JSON", b'\xef\xbb\xbf{"a": [1.5, true]}'),
        ("w.yaml", b"a: [1.5, true]"),
        ("w", b'{"a": [1.5, true]}'),
        ("w.txt", b"a: [1.5, true]"),
    ],
)
def test_file_is_parsed_by_its_suffix_or_its_first_character(tmp_path: Path, name: str, content: bytes) -> None:
    found = read(tmp_path, name, content)
    assert found.value == {"a": [1.5, True]}
    assert found.name == str(tmp_path / name)


def test_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1")))
    assert read_document("--work", "-") == InputDocument("standard input", {"a": 1})


@pytest.mark.parametrize(
    ("name", "content", "printed"),
    [
        ("w.json", b"", "w.json is empty"),
        ("w.json", b'{"a": ', "w.json: not JSON: Expecting value (line 1, column 7)"),
        ("w.json", b"\xff\xfe", "w.json: it is not UTF-8"),
        ("w.yaml", b"\xff\xfe", "w.yaml is not UTF-8 text; save it as UTF-8"),
        ("w.yaml", b"a: [", "w.yaml is not valid YAML"),
        ("w.json", b'{"a": 1, "a": 2}', "w.json /a: the name occurs more than once"),
        ("w.json", b'{"a": NaN, "b": [Infinity]}', "w.json /a: NaN is not JSON\naex: "),
        ("w.yaml", b"a: 1e999", "w.yaml /a: Infinity is not JSON"),
        ("w.yaml", b"a: 9007199254740993", "w.yaml /a: integers must be within"),
        ("w.json", b'{"a": "\\ud800"}', "w.json /a: strings must hold no lone surrogates"),
        ("w.json", b"[" * 100 + b"]" * 100, "nested at most 64 levels deep"),
        ("w.json", b"[" + b" " * MAX_BYTES + b"]", "more than 10 MB"),
    ],
)
def test_file_that_services_refuse_is_refused_with_its_pointer(
    tmp_path: Path, name: str, content: bytes, printed: str
) -> None:
    with pytest.raises(UserError) as refused:
        read(tmp_path, name, content)
    assert printed in refused.value.text()
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("nowhere.json", "there is no file"),
        (".", "is a directory"),
        ("/dev/zero", "more than 10 MB"),  # a device without an end
    ],
)
def test_path_without_a_usable_file_names_its_option(tmp_path: Path, name: str, printed: str) -> None:
    with pytest.raises(UserError) as refused:
        read_document("--work", str(tmp_path / name))
    assert printed in refused.value.text()
    assert "--work" in refused.value.text() or name == "/dev/zero"


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
        ("id: 007", {"id": "007"}),
        ("small: 1e-3", {"small": 0.001}),
        ("nan: .nan", {"nan": ".nan"}),
        ("quoted: ['true', \"5\", '~']", {"quoted": ["true", "5", "~"]}),
        ("block: |\n  true\n", {"block": "true\n"}),
        ("nothing:\ntoo: ~\nthird: null", {"nothing": None, "too": None, "third": None}),
        ("<<: {a: 1}", {"<<": {"a": 1}}),
        ("true", True),
        ("", None),
        ("--- {a: [b, {c: d}]}\n...", {"a": ["b", {"c": "d"}]}),
    ],
)
def test_unquoted_words_are_json_values_or_texts(text: str, value: Any) -> None:
    found = parse_yaml(text)
    assert found == value
    assert json.dumps(found) == json.dumps(value)


@pytest.mark.parametrize(
    ("text", "in_json"),
    [
        ("11.170", "11.170"),
        ("-.50", "-0.50"),
        ("0.2500000", "0.2500000"),
    ],
)
def test_number_keeps_its_digits_in_json(text: str, in_json: str) -> None:
    assert encode_json_keeping_digits(parse_yaml(f"n: [{text}, yes]")) == f'{{"n":[{in_json},"yes"]}}'


@given(VALUES)
def test_json_is_read_as_yaml_and_written_back(value: Any) -> None:
    read = parse_yaml(json.dumps(value, ensure_ascii=False))
    assert read == value
    assert json.loads(encode_json_keeping_digits(read)) == value


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("a: 1\nb: 2\na: 3", "'a' occurs twice", 3),
        ("a: &x 1\nb: *x", "refers to another part of itself (*x)", 2),
        ("? [a]\n: b", "a name is not a text", 1),
        ("a: !!int '5'", "has a tag", 1),
        ("a: 1\n---\nb: 2", "more than one document", 3),
        ("a: b: c", "mapping values are not allowed", 1),
        ("\tx: 1", "character", 1),
        ("[" * 100_000, "nested more than 64 levels", 1),
        ("- " * 100_000, "nested more than 64 levels", 1),
        (f"a: {'9' * 500}", "more than 400 characters", 1),
        ("a: \x01", "character", None),
    ],
)
def test_yaml_outside_json_is_refused_with_its_line(text: str, problem: str, line: int | None) -> None:
    with pytest.raises(NotYaml) as refused:
        parse_yaml(text)
    assert problem in str(refused.value)
    assert line is None or f"line {line}" in str(refused.value)
    assert refused.value.fix
