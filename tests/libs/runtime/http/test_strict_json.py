"""JSON is read strictly: what two parsers could read differently is refused, with the place of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.json_problems import MAX_ITEMS
from aex_runtime.http.strict_json import MAX_DEPTH, MAX_NUMBER_CHARS, MAX_VALUES, parse_strict

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=40)


def refusal(raw: bytes) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        parse_strict(raw)
    return caught.value


def found(raw: bytes) -> list[tuple[str, str]]:
    return [(problem.path, problem.code) for problem in refusal(raw).errors]


@given(DOCUMENTS)
def test_a_clean_document_reads_as_the_standard_parser_reads_it(document: Any) -> None:
    for raw in (json.dumps(document).encode(), json.dumps(document, ensure_ascii=False, indent=1).encode()):
        assert parse_strict(raw) == json.loads(raw)


@given(st.binary(max_size=200) | TEXT.map(lambda text: text.encode()))
def test_any_bytes_are_read_or_refused_and_nothing_else_happens(raw: bytes) -> None:
    try:
        value = parse_strict(raw)
    except InvalidRequest as refused:
        assert refused.errors  # noqa: PT017 either of the two may happen
    else:
        assert value == json.loads(raw.decode())


def test_floats_keep_their_text() -> None:
    value = parse_strict(b'{"rate": 0.10, "many": [1e2, 5]}')
    assert isinstance(value["rate"], JsonFloat)
    assert value["rate"].text == "0.10"
    assert [type(each) for each in value["many"]] == [JsonFloat, int]


@pytest.mark.parametrize("raw", [b"", b"{", b"{'a': 1}", b"[1,]", b'"\x01"', b"\xef\xbb\xbf{}", b"nul", b"01", b"1 2"])
def test_what_is_not_json_is_refused_with_its_place(raw: bytes) -> None:
    refused = refusal(raw)
    assert refused.code == "malformed_json"
    assert "line 1" in refused.message


@pytest.mark.parametrize("raw", [b'"\xff"', b'{"a": "\xc3"}', b'"\xed\xa0\x80"', "{}".encode("utf-16")])
def test_what_is_not_utf8_is_refused(raw: bytes) -> None:
    assert refusal(raw).code in {"invalid_utf8", "malformed_json"}
    assert refusal(b'"\xff"').code == "invalid_utf8"


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused_where_it_stands(name: str) -> None:
    assert found(f'{{"a": [1, {name}]}}'.encode()) == [("/a/1", "not_a_number")]


@pytest.mark.parametrize("text", ["1e309", "-1e400", "1" * 310 + ".0"])
def test_a_number_beyond_a_double_is_refused(text: str) -> None:
    assert found(f'{{"a": {text}}}'.encode()) == [("/a", "number_out_of_range")]


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1, 10**300])
def test_an_integer_that_a_double_cannot_hold_is_refused(number: int) -> None:
    assert found(f'{{"n": {number}}}'.encode()) == [("/n", "unsafe_integer")]


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER])
def test_the_largest_safe_integers_are_taken(number: int) -> None:
    assert parse_strict(str(number).encode()) == number


@pytest.mark.parametrize("text", ["9" * 1_000_000, "0." + "1" * 1_000_000])
def test_a_number_of_a_million_digits_is_refused_unread(text: str) -> None:
    assert refusal(text.encode()).errors[0].code in {"unsafe_integer", "number_too_long"}
    assert len(text) > MAX_NUMBER_CHARS


def test_digits_in_a_text_are_no_number() -> None:
    assert parse_strict(b'{"iban": "12345678901234567890"}') == {"iban": "12345678901234567890"}


def test_repeated_names_are_refused_each_by_its_path() -> None:
    raw = b'{"a": 1, "b": [{"x/y": 1, "x/y": 2}], "a": 3}'
    assert found(raw) == [("/a", "duplicate_key"), ("/b/0/x~1y", "duplicate_key")]


def test_an_escaped_name_repeats_the_plain_one() -> None:
    assert found(b'{"a": 1, "\\u0061": 2}') == [("/a", "duplicate_key")]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (rb'{"a": ["x\u0000y"]}', "nul_character"),
        (rb'{"a": ["\ud800"]}', "lone_surrogate"),
        (rb'{"a": ["\udc00\ud800"]}', "lone_surrogate"),
    ],
)
def test_nul_and_lone_surrogates_are_refused(raw: bytes, code: str) -> None:
    assert found(raw) == [("/a/0", code)]


def test_names_are_checked_like_texts_and_shown_printable() -> None:
    assert found(rb'{"k\ud800": 1, "z\u0000": 2}') == [("/k\ufffd", "lone_surrogate"), ("/z\ufffd", "nul_character")]


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert parse_strict(rb'"\ud83d\ude00"') == "😀"


def test_an_escaped_backslash_before_u0000_is_no_nul() -> None:
    assert parse_strict(rb'"\\u0000"') == r"\u0000"


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_depth_is_bounded_long_before_the_stack_is(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    assert parse_strict(opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH) is not None
    assert refusal(opening * (MAX_DEPTH + 1) + b"1" + closing * (MAX_DEPTH + 1)).code == "json_too_deep"
    assert refusal(opening * 1_000_000).code == "json_too_deep"


def test_brackets_in_texts_are_not_depth() -> None:
    text = '\\"[{' * 100
    assert parse_strict(json.dumps([text] * 70).encode()) == [text] * 70


def test_a_text_without_end_costs_no_more_than_its_length() -> None:
    raw = b"[" * 65 + b'"' + b'\\"' * 2_000_000
    assert refusal(raw).code == "json_too_deep"


@pytest.mark.parametrize("raw", [b"[" + b"0," * MAX_ITEMS + b"0]", None])
def test_arrays_and_objects_have_a_bounded_number_of_items(raw: bytes | None) -> None:
    if raw is None:
        raw = json.dumps({str(name): 0 for name in range(MAX_ITEMS + 1)}).encode()
    assert found(b'{"list": ' + raw + b"}") == [("/list", "too_many_items")]


def test_as_many_items_as_allowed_are_taken() -> None:
    assert len(parse_strict(b"[" + b"0," * (MAX_ITEMS - 1) + b"0]")) == MAX_ITEMS


def test_commas_in_texts_are_no_items() -> None:
    assert len(parse_strict(json.dumps(["," * (MAX_VALUES + 1)]).encode())[0]) == MAX_VALUES + 1


def test_a_document_of_too_many_values_is_refused_before_it_is_built() -> None:
    assert refusal(b"[" + b"[0,0,0,0,0,0,0,0,0,0]," * 120_000 + b"0]").code == "too_many_values"


def test_all_problems_come_in_one_answer_up_to_a_hundred() -> None:
    assert len(found(b'{"a": NaN, "b": Infinity, "c": [-Infinity]}')) == 3
    assert len(found(b"[" + b"NaN," * 500 + b"1]")) == 100


def test_a_long_name_is_cut_in_the_path() -> None:
    path, _ = found(b'{"' + b"k" * 5_000 + b'": NaN}')[0]
    assert len(path) == 101


def test_no_value_is_repeated_in_the_refusal() -> None:
    refused = refusal(rb'{"reference": "CANARY\u0000", "list": ["CANARY\ud800", NaN]}')
    assert "CANARY" not in f"{refused} {refused.message} {[problem.message for problem in refused.errors]}"
