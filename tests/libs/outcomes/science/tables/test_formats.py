import io
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from aex_models.examination import DataOwner
from aex_outcomes.science.recompute import recompute
from aex_outcomes.science.source_files import DataFormat, SourceFile, find_unsupported_charset, resolve_data_format
from tests.libs.outcomes.science.raw_data import code, parquet, recomputed, spec, value, written


@pytest.mark.parametrize(
    "table",
    [
        "x,y\n1,2\n3,4\n",
        "x,y\r\n1,2\r\n3,4\r\n",
        "\ufeffx,y\n1,2\n3,4\n",
        '\ufeff"x","y\nz"\n1,2\n3,4\n',
        " x , y \n1,2\n\n3,4\n\n",
        '"x",y\n"1","a ""b"", c\nd"\n3,\n',
    ],
)
def test_csv_with_any_line_ends_quotes_and_byte_order_mark(table: str) -> None:
    assert value(table) == 2


def test_delimiters_are_those_of_the_format() -> None:
    assert value('"a;b"\n1\n3\n', spec("mean", "a;b")) == 2
    assert code("x,y\n1,2\n", name="data.tsv") == "wrong_delimiter"
    assert value("x\ty\n1\ta,b\n3\tc\n", name="data.tsv") == 2


def test_json_lines_with_missing_keys_and_the_not_finite() -> None:
    assert value('{"x": 1, "s": "5"}\n\n{"x": 3e0}\n{"s": null}\n', name="data.jsonl") == 2
    assert code('{"x": NaN}\n', name="data.jsonl") == "not_finite"
    assert value('{"x": 1, "s": "a\\u001fb"}\n{"x": 3}\n', spec("n_unique", "s"), "data.jsonl") == 1
    for cell in ('"5"', "true", "[1]", '{"y": 1}', '"\\ud800"'):
        assert code(f'{{"x": 1}}\n{{"x": {cell}}}\n', name="data.jsonl") == "not_numeric"


def test_parquet_of_every_kind_of_number() -> None:
    table = parquet(
        {
            "i8": pyarrow.array([1, 2, None], pyarrow.int8()),
            "u64": pyarrow.array([2**64 - 1, 2**64 - 1, None], pyarrow.uint64()),
            "f32": pyarrow.array([0.5, 1.5, None], pyarrow.float32()),
            "f16": pyarrow.array([0.5, 1.5, None], pyarrow.float16()),
            "dec": pyarrow.array([Decimal("1.25"), Decimal("2.25"), None]),
        }
    )
    specs = [spec("mean", name, name=name) for name in ("i8", "u64", "f32", "f16", "dec")]
    found = recomputed(table, *specs, name="data.parquet")
    assert [each.value for each in found.values] == [1.5, float(2**64 - 1), 1, 1, 1.75]


def test_parquet_without_numbers_nan_and_missing_values() -> None:
    for column in (["1", "2"], [True, False], [date(2024, 1, 1)], [[1.0]], [{"x": 1.0}], [b"1"], [["1"]]):
        assert code(parquet({"x": column}), name="data.parquet") == "not_numeric"
    assert code(parquet({"x": [1.0, float("nan")]}), name="data.parquet") == "not_finite"
    assert value(parquet({"x": [1.0, None, 3.0]}), name="data.parquet") == 2


def twice() -> bytes:
    packed = io.BytesIO()
    table = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["x", "x"])
    pyarrow.parquet.write_table(table, packed)
    return packed.getvalue()


BAD_TEXT: dict[str, tuple[str, bytes]] = {
    "nothing": ("empty_file", b""),
    "a byte order mark alone": ("empty_file", b"\xef\xbb\xbf"),
    "line ends alone": ("empty_file", b"\n\r\n"),
    "a header alone": ("no_rows", b"x,y\n"),
    "a zip": ("not_csv", b"PK\x03\x04\x14\x00\x00\x00"),
    "Parquet": ("not_csv", parquet({"x": [1.0]})),
    "a NUL": ("not_csv", b"x\n1\x00\n"),
    "a unit separator": ("not_csv", b"x\n1\x1f2\n"),
    "UTF-16": ("not_utf8", "x\n1\n".encode("utf-16")),
    "Latin-1": ("not_utf8", b"x,y\n1,\xe9\n"),
    "half a character": ("not_utf8", b"x\n1\n\xe2\x82"),
    "a surrogate": ("not_utf8", b"x,y\n1,\xed\xa0\x80\n"),
    "semicolons": ("wrong_delimiter", b"x;y\n1,5;2\n"),
    "semicolons and quotes": ("wrong_delimiter", b'"x";"y"\n"1,5";"2"\n'),
    "tabs": ("wrong_delimiter", b"x\ty\n1\t2\n"),
    "bars": ("wrong_delimiter", b"x|y\n1|2\n"),
    "a row too long": ("ragged_rows", b"x,y\n1,2\n1,2,3\n"),
    "one comma too many": ("ragged_rows", b"x,y\n1,2\n1,2,\n"),
    "a row too short": ("ragged_rows", b"x,y\n1,2\n1\n"),
    "a column twice": ("duplicate_column", b"x,x\n1,2\n"),
    "a column twice but for blanks": ("duplicate_column", b"x, x\n1,2\n"),
    "no names": ("duplicate_column", b",,\n1,2,3\n"),
    "a quote that never ends": ("not_csv", b'x,y\n1,"2\n3,4\n5,6\n'),
    "something after a quote": ("not_csv", b'x,y\n1,"2"3\n'),
    "a name of 301 characters": ("name_too_long", b"x," + b"y" * 301 + b"\n1,2\n"),
    "an endless line": ("too_large", b"x\n" + b"1" * (1 << 20) + b"0\n"),
    "an endless header": ("too_large", b"x" * (2 << 20)),
    "too many columns": ("too_many_columns", b",".join(b"c%d" % place for place in range(1001)) + b"\n"),
    "JSON": ("not_csv", b'{"x": 1, "y": 2}\n{"x": 3, "y": 4}\n'),
    "JSON over many lines": ("not_csv", b'[\n  {"x": 1},\n  {"x": 3}\n]\n'),
    "another column": ("column_missing", b"y,z\n1,2\n"),
}


@pytest.mark.parametrize("kind", BAD_TEXT)
def test_bad_text_files_have_an_error_each(kind: str) -> None:
    expected, content = BAD_TEXT[kind]
    assert code(content) == expected


def test_json_is_recognised_and_braces_in_a_header_are_none() -> None:
    (problem, *_) = recomputed('{"x": 1, "y": 2}\n').problems
    assert "looks like JSON" in problem.message
    assert "application/jsonl" in problem.message
    for header in ("{x}", "[x]", "{}x", '"{""x"": 1}"'):
        assert value(f"{header},y\n1,2\n", spec(column="y")) == 2


BAD_JSON: dict[str, tuple[str, bytes | str]] = {
    "an array": ("not_jsonl", "[1]\n"),
    "an object over two lines": ("not_jsonl", '{"x":\n1}\n'),
    "two objects": ("not_jsonl", '{"x": 1}{"x": 2}\n'),
    "brackets": ("not_jsonl", "[" * 100_000),
    "a key twice": ("duplicate_column", '{"x": 1, "x": 2}\n'),
    "empty objects": ("no_rows", "{}\n{}\n"),
    "blanks": ("no_rows", "\n \n"),
    "too many keys": ("too_many_columns", "".join(f'{{"c{place}": 1}}\n' for place in range(1_001))),
}


@pytest.mark.parametrize("kind", BAD_JSON)
def test_bad_json_lines_have_an_error_each(kind: str) -> None:
    expected, content = BAD_JSON[kind]
    assert code(content, name="data.jsonl") == expected


@pytest.mark.parametrize(
    ("expected", "content"),
    [
        ("not_parquet", b"x\n1\n"),
        ("not_parquet", b"PAR1" + b"\x00" * 100 + b"PARE"),
        ("not_parquet", parquet({"x": [1.0]})[:-1]),
        ("empty_file", b""),
        ("no_rows", parquet({"x": pyarrow.array([], pyarrow.float64())})),
        ("duplicate_column", twice()),
        ("too_many_columns", parquet({f"c{place}": [1] for place in range(1_001)})),
        ("column_missing", parquet({"y": [1]})),
    ],
)
def test_bad_parquet_has_an_error_each(expected: str, content: bytes) -> None:
    assert code(content, name="data.parquet") == expected


def test_damaged_parquet_is_refused_wherever_the_damage_is() -> None:
    complete = parquet({"x": [float(each) for each in range(5_000)]}, compression="zstd")
    for index in range(4, len(complete) - 8, len(complete) // 12):
        damaged = complete[:index] + bytes(255 - byte for byte in complete[index : index + 40]) + complete[index + 40 :]
        found = recomputed(damaged, spec(), name="data.parquet")
        assert len(found.values) == 1 or {each.code for each in found.problems} <= {
            "not_parquet", "out_of_memory", "not_finite", "column_missing", "too_many_rows", "no_rows",
            "duplicate_column", "undefined",
        }  # fmt: skip


def test_too_many_rows_or_bytes_and_other_formats_are_refused() -> None:
    assert code("x\n1\n2\n3\n", max_rows=2) == "too_many_rows"
    assert code('{"x":1}\n' * 3, name="data.jsonl", max_rows=2) == "too_many_rows"
    assert code(parquet({"x": [1, 2, 3]}), name="data.parquet", max_rows=2) == "too_many_rows"
    assert code("x\n1\n2\n3\n", max_bytes=5) == "too_large"
    for name in ("data.exe", "data", "data.csv.gz"):
        assert code("x\n1\n", name=name) == "unsupported_media_type"


@pytest.mark.parametrize(
    "name",
    [
        "count(*)", '"; DROP TABLE cells; --', "read_csv('/etc/passwd')", "__", "🧬", "n" * 300, "c0", "k0", "rowid",
        "select", "'", "\\", "a.b", "*", "x/*", "%s", "{0}", "?", "$1", "getenv('HOME')", "é", "\u202e",
    ],
)  # fmt: skip
def test_a_column_may_be_called_anything(name: str) -> None:
    doubled = name.replace('"', '""')
    expected = spec("mean", name, where=[{"column": name, "op": "gt", "value": 0}])
    assert value(f'"{doubled}",x\n1,10\n3,30\n-1,0\n', expected) == 2
    assert value(parquet({"x": [10, 30], name: [1.0, 3.0]}), expected, "data.parquet") == 2


@pytest.mark.parametrize(
    ("name", "media_type", "form"),
    [
        ("a", "text/csv; charset=utf-8", DataFormat.CSV),
        ("a", 'Text/CSV;header=present;charset="US-ASCII"', DataFormat.CSV),
        *(("a", each, DataFormat.CSV) for each in ("text/x-csv", "application/csv", "text/comma-separated-values")),
        *(("a", each, DataFormat.TSV) for each in ("text/tsv", "TEXT/TAB-SEPARATED-VALUES; charset=utf-8")),
        *(("a", f"application/{each}", DataFormat.JSON_LINES) for each in ("json-lines", "jsonlines", "x-ndjson")),
        *(("a", each, DataFormat.JSON_LINES) for each in ("text/jsonl", "text/x-ndjson")),
        *(("a.JSONL", f"application/{each}", DataFormat.JSON_LINES) for each in ("json", "octet-stream")),
        *((f"a.{each}", "text/plain; charset=utf-8", DataFormat(each.upper())) for each in ("csv", "tsv")),
        ("a.parquet", "Application/JSON", DataFormat.PARQUET),
        ("a.csv", "application/jsonl", DataFormat.JSON_LINES),
        ("a.json", "application/json", None),
        ("a.csv", "image/png", None),
        ("a.csv", "text/html", None),
    ],
)
def test_format_follows_media_type_then_ending(name: str, media_type: str, form: DataFormat | None) -> None:
    file = SourceFile(name, media_type, "", DataOwner.AGENT)
    assert (resolve_data_format(file), find_unsupported_charset(file)) == (form, None)


@pytest.mark.parametrize("charset", ["latin-1", "UTF-16", '"iso-8859-1"'])
def test_texts_in_another_character_set_are_refused_by_their_media_type(tmp_path: Path, charset: str) -> None:
    read = replace(written(tmp_path, "x.csv", "x\n1\n"), media_type=f"text/csv; charset={charset}")
    [problem] = [each for each in recompute([read], [spec()]).problems if each.name == "it"]
    assert problem.code == "not_utf8"
    assert f'says charset "{charset.lower().strip(chr(34))}": save the file as UTF-8' in problem.message
    assert (
        find_unsupported_charset(SourceFile("a", f"application/x-parquet; charset={charset}", "", DataOwner.AGENT))
        is None
    )
