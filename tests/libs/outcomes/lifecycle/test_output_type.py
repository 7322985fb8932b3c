import tracemalloc
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, ParamSpec, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model, field_validator
from typing_extensions import TypedDict

from aex_outcomes.json_values import MAX_DEPTH, find_pointer_beyond_depth
from aex_outcomes.lifecycle.output_type import InvalidOutput, OutputType
from aex_outcomes.lifecycle.signature import InvalidVerifier

T = TypeVar("T")
P = ParamSpec("P")
B = TypeVar("B", bound=int)


class Lax(BaseModel):
    """A model that would take NaN, with fields of the names that schemas use themselves."""

    model_config = ConfigDict(allow_inf_nan=True)
    x: float
    default: float = 1.0
    metadata: float = 1.0
    type: float = 1.0


class Outer(BaseModel):
    inner: Lax
    second: "Outer | None" = None


@dataclass
class Data:
    x: float


class Typed(TypedDict):
    fields: float


class Named(NamedTuple):
    x: float


class Root(RootModel[float]):
    pass


class Box(BaseModel, Generic[T]):
    x: T


class Late(BaseModel):
    model_config = ConfigDict(defer_build=True)
    x: float


class One(BaseModel):
    kind: Literal["one"]
    x: float


class Two(BaseModel):
    kind: Literal["two"]
    x: float


MISSING = "missing"


def problems(output_type: Any, output: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidOutput) as invalid:
        OutputType(output_type).validate(output)
    return [(each.path, each.code) for each in invalid.value.problems]


@pytest.mark.parametrize("number", ["nan", "inf", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    ("output_type", "around", "path"),
    [
        (float, lambda x: x, ""),
        (Annotated[float, Field(allow_inf_nan=True)], lambda x: x, ""),
        (Lax, lambda x: {"x": x}, "/x"),
        (Lax, lambda x: {"x": 1, "default": x}, "/default"),
        (Lax, lambda x: {"x": 1, "metadata": x}, "/metadata"),
        (Lax, lambda x: {"x": 1, "type": x}, "/type"),
        (Outer, lambda x: {"inner": {"x": 1}, "second": {"inner": {"x": x}}}, "/second/inner/x"),
        (list[Lax], lambda x: [{"x": 1}, {"x": x}], "/1/x"),
        (dict[str, float], lambda x: {"a": x}, "/a"),
        (tuple[int, float], lambda x: [1, x], "/1"),
        (Data, lambda x: {"x": x}, "/x"),
        (Typed, lambda x: {"fields": x}, "/fields"),
        (Named, lambda x: {"x": x}, "/x"),
        (Root, lambda x: x, ""),
        (Box[float], lambda x: {"x": x}, "/x"),
        (Late, lambda x: {"x": x}, "/x"),
        (Annotated[One | Two, Field(discriminator="kind")], lambda x: {"kind": "two", "x": x}, "/x"),
    ],
)
def test_a_number_that_is_none_is_invalid_at_its_path(output_type: Any, around: Any, path: str, number: str) -> None:
    assert problems(output_type, around(number)) == [(f"/output{path}", "finite_number")]


@pytest.mark.parametrize("number", ["NaN", "sNaN", "-Infinity"])
def test_decimals_are_finite_too(number: str) -> None:
    assert problems(Annotated[Decimal, Field(allow_inf_nan=True)], number) == [("/output", "finite_number")]


def test_texts_and_the_types_own_defaults_are_left_as_they_are() -> None:
    assert OutputType(float | str).validate("nan") == "nan"
    assert OutputType(float).validate("1.5") == 1.5
    model = create_model("Model", ratio=(float, float("inf")))
    assert OutputType(model).validate({}).ratio == float("inf")


class Narrow(BaseModel):
    a: int
    b: int
    c: int


class Other(BaseModel):
    d: int
    e: int
    f: int


WIDE: Any = create_model("Wide", **{f"field_{position}": (str, ...) for position in range(12)})  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("output_type", "output", "feedback"),
    [
        (list[WIDE], [{}] * 99_000, [(f"/output/0/field_{position}", MISSING) for position in range(12)]),
        (list[list[Narrow | Other]], [[{}] * 300] * 300, [(f"/output/0/0/{each}", MISSING) for each in "abcdef"]),
        (list[int], ["a"] * 99_000, [("/output/0", "int_parsing")]),
        (dict[str, Other], {f"{key:04}": {} for key in range(9_000)}, [(f"/output/0000/{x}", MISSING) for x in "def"]),
        (set[int], [1, *["a"] * 99_000], [("/output/1", "int_parsing")]),
        (tuple[int, ...], ["a"] * 99_000, [("/output/0", "int_parsing")]),
    ],
    ids=["models", "unions", "numbers", "dict", "set", "tuple"],
)  # fmt: skip
def test_a_large_output_that_is_wrong_all_over_is_reported_by_its_first_item(
    output_type: Any, output: Any, feedback: list[tuple[str, str]]
) -> None:
    assert problems(output_type, output) == feedback


def test_a_large_output_that_is_valid_is_what_a_small_one_would_be() -> None:
    found = OutputType(list[Narrow | Other]).validate([{"a": 1, "b": 1, "c": "1"}, {"d": 1, "e": 1, "f": 1}] * 5_000)
    assert found == [Narrow(a=1, b=1, c=1), Other(d=1, e=1, f=1)] * 5_000
    assert problems(list[Narrow], [{"a": 1, "b": 1, "c": 1}] * 9_999 + [{}])[0] == ("/output/9999/a", "missing")


def test_a_small_output_with_very_many_errors_is_reported_by_its_first_item() -> None:
    assert len(problems(list[WIDE], [{}] * 1_000)) == 12


def test_errors_that_are_too_many_to_list_are_counted() -> None:
    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")

    with pytest.raises(InvalidOutput) as invalid:
        OutputType(Closed).validate({f"k{key}": 0 for key in range(6_000)})
    assert [(each.path, each.code) for each in invalid.value.problems] == [("/output", "too_many_errors")]
    assert invalid.value.problems[0].message.startswith("6000 errors, more than can be listed")


def test_errors_of_a_large_output_take_no_memory_of_python() -> None:
    output: Any = [{}] * 99_000
    validator = OutputType(list[WIDE])
    tracemalloc.start()
    try:
        with pytest.raises(InvalidOutput):
            validator.validate(output)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def nest(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a/b": [value]} if levels % 2 == 0 else [value]
    return value


@pytest.mark.parametrize("levels", [MAX_DEPTH + 2, 201, 901, 20_001])
def test_an_output_that_nests_too_deep_is_invalid(levels: int) -> None:
    assert problems(Any, nest(levels))[0][1] in {"json_too_deep", "not_canonical_json"}


def test_an_output_may_be_as_deep_as_a_request_lets_it_be() -> None:
    assert OutputType(Any).validate(nest(MAX_DEPTH)) == nest(MAX_DEPTH)
    flat: Any = {f"k{key}": [] for key in range(1_000)}
    assert OutputType(Any).validate(flat) == flat


JSON = st.recursive(
    st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "/", "~"]), inner)
)


def depth(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


@given(JSON, st.integers(0, 6))
def test_the_pointer_to_what_is_too_deep_leads_there(value: Any, most: int) -> None:
    path = find_pointer_beyond_depth(value, most)
    assert (path is None) is (depth(value) <= most)
    if path is not None:
        for segment in path.split("/")[1:]:
            key = segment.replace("~1", "/").replace("~0", "~")
            value = value[int(key)] if isinstance(value, list) else value[key]
        assert isinstance(value, list | dict)
        assert path.count("/") == most


def test_what_contains_itself_is_too_deep() -> None:
    circle: list[Any] = []
    circle += [circle, circle]
    assert find_pointer_beyond_depth(circle) == "/0" * MAX_DEPTH


def test_a_validator_that_recurses_too_deep_meets_an_invalid_output_and_any_other_failure_is_its_own() -> None:
    class Unusual(BaseModel):
        x: str

        @field_validator("x")
        @classmethod
        def _unusual(cls, x: str) -> str:
            raise {"deep": RecursionError, "key": KeyError, "value": ValueError}[x]("odd")

    assert problems(Unusual, {"x": "deep"}) == [("/output", "json_too_deep")]
    assert problems(Unusual, {"x": "value"}) == [("/output/x", "value_error")]
    with pytest.raises(KeyError):
        OutputType(Unusual).validate({"x": "key"})


@pytest.mark.parametrize("output_type", [T, B, P, list[T], T | None, Annotated[T, "x"], dict[str, list[T]]])  # type: ignore[valid-type]
def test_a_type_with_a_free_type_variable_is_refused(output_type: Any) -> None:
    with pytest.raises(InvalidVerifier, match="has a type variable, which any output would fit: give the type"):
        OutputType(output_type)
