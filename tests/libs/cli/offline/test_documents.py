"""Files as their users have them: JSON, YAML, neither, or not there."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from aex_cli.offline.documents import MAX_BYTES, Document, read_document
from aex_runtime.commandline.errors import UserError


def read(folder: Path, name: str, content: bytes) -> Document:
    path = folder / name
    path.write_bytes(content)
    return read_document("--work", str(path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.json", b'{"a": [1.5, true]}'),
        ("w.JSON", b'\xef\xbb\xbf{"a": [1.5, true]}'),
        ("w.yaml", b"a: [1.5, true]"),
        ("w.yml", b"a:\n  - 1.5\n  - true\n"),
        ("w", b'{"a": [1.5, true]}'),
        ("w.txt", b"a: [1.5, true]"),
    ],
)
def test_a_file_is_read_by_its_suffix_or_by_how_it_begins(tmp_path: Path, name: str, content: bytes) -> None:
    found = read(tmp_path, name, content)
    assert found.value == {"a": [1.5, True]}
    assert found.name == str(tmp_path / name)


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1")))
    assert read_document("--work", "-") == Document("standard input", {"a": 1})


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("w.json", b"", "w.json is empty"),
        ("w.json", b" \n", "w.json is empty"),
        ("w.json", b'{"a": ', "w.json: not JSON: Expecting value (line 1, column 7)"),
        ("w.json", b"a: 1", "w.json: not JSON"),
        ("w.json", b"\xff\xfe", "w.json: it is not UTF-8"),
        ("w.yaml", b"\xff\xfe", "w.yaml is not UTF-8 text; save it as UTF-8"),
        ("w.yaml", b"a: [", "w.yaml is not YAML that is taken here"),
        ("w.json", b'{"a": 1, "a": 2}', "w.json /a: the name occurs more than once"),
        ("w.json", b'{"a": NaN, "b": [Infinity]}', "w.json /a: NaN is not JSON"),
        ("w.yaml", b"a: 1e999", "w.yaml /a: Infinity is not JSON"),
        ("w.yaml", b"a: 9007199254740993", "w.yaml /a: integers must be within"),
        ("w.json", b'{"a": "\\ud800"}', "w.json /a: strings must hold no lone surrogates"),
        ("w.json", b"[" * 100 + b"]" * 100, "nested at most 64 levels deep"),
        ("w.json", b"[" + b" " * MAX_BYTES + b"]", "more than 10 MB"),
    ],
)
def test_what_no_service_would_take_is_refused_with_file_and_place(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    with pytest.raises(UserError) as refused:
        read(tmp_path, name, content)
    assert told in refused.value.text()
    assert refused.value.exit_code == 2


def test_every_problem_of_a_file_is_told_on_a_line_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        read(tmp_path, "w.json", b'{"a": NaN, "b": [Infinity]}')
    assert [line.partition("w.json ")[2] for line in refused.value.text().splitlines()] == [
        "/a: NaN is not JSON",
        "/b/0: Infinity is not JSON",
    ]


@pytest.mark.parametrize(("name", "told"), [("nowhere.json", "there is no file"), (".", "is a directory")])
def test_a_path_that_leads_to_no_file_names_its_option(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        read_document("--work", str(tmp_path / name))
    assert told in refused.value.text()
    assert "--work" in refused.value.text()


def test_a_device_without_an_end_is_not_read_to_it() -> None:
    with pytest.raises(UserError, match="more than 10 MB"):
        read_document("--work", "/dev/zero")


def test_values_of_yaml_are_held_to_the_rules_of_json(tmp_path: Path) -> None:
    value: Any = read(tmp_path, "w.yaml", b"bonus: 0.10\nterms: [no, 2024-01-01]").value
    assert value == {"bonus": 0.1, "terms": ["no", "2024-01-01"]}
