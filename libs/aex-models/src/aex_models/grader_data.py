"""Evaluation data of single graders: expected answers, records, rankings, targets and queries."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from aex_models.canonical import is_json_pointer
from aex_models.frozen import Frozen, StrictBool, StrictFloat, StrictInt
from aex_models.numbers import is_finite_number

_POINTER = r"^(?:/(?:[^/~]|~[01])*)*$"


def _require_pointer(text: str) -> str:
    if not is_json_pointer(text):
        raise PydanticCustomError("invalid_pointer", "Expected a JSON pointer, such as /name or /lines/0/total")
    return text


JsonPointer = Annotated[
    str, Field(max_length=1_000, json_schema_extra={"pattern": _POINTER}), AfterValidator(_require_pointer)
]
"""A JSON pointer (RFC 6901): empty for the whole output, or segments that each begin with a slash."""


def _require_number(value: Any) -> Any:
    if not is_finite_number(value):  # one error; a union would have one for each of its types
        raise PydanticCustomError("number_type", "Expected a number")
    return value


Number = Annotated[StrictInt | StrictFloat, BeforeValidator(_require_number), WithJsonSchema({"type": "number"})]
NotNegative = Annotated[Number, Field(ge=0), WithJsonSchema({"type": "number", "minimum": 0})]
UnitNumber = Annotated[Number, Field(ge=0, le=1), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
"""A number from 0 to 1."""
Label = Annotated[str, Field(min_length=1, max_length=500)]
_LABEL_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 500}
LabelList = Annotated[
    list[Label],
    Field(min_length=1, max_length=100),
    BeforeValidator(lambda label: [label] if isinstance(label, str) else label),
    WithJsonSchema(
        {"anyOf": [_LABEL_SCHEMA, {"type": "array", "items": _LABEL_SCHEMA, "minItems": 1, "maxItems": 100}]},
        mode="validation",
    ),
]
"""A list of labels, or one label without a list."""
ItemId = Annotated[str, Field(min_length=1, max_length=500)] | StrictInt


class NumericAnswer(Frozen):
    """An expected number and its tolerance. The larger of the two tolerances applies."""

    value: Number
    """Expected number."""
    abs_tol: NotNegative = 0
    """Largest allowed absolute difference."""
    rel_tol: NotNegative = 0
    """Largest allowed difference, as a share of the expected number."""
    units: Annotated[list[Label], Field(min_length=1, max_length=50)] | None = None
    """Units of which one may follow the number in a text."""
    at: JsonPointer | None = None
    """Location of the answer in the output; `/text` by default."""


class ChoiceAnswer(Frozen):
    """The correct labels of a multiple-choice question."""

    correct: LabelList
    """Correct label, or all of several."""
    options: Annotated[dict[Label, Label], Field(min_length=1, max_length=100)] | None = None
    """Text of each option by its label."""
    at: JsonPointer | None = None
    """Location of the answer in the output; `/text` by default."""


class NumberTolerance(Frozen):
    """Tolerances of a number. The larger of the two applies."""

    abs: NotNegative = 0
    """Largest allowed absolute difference."""
    rel: NotNegative = 0
    """Largest allowed difference, as a share of the expected number."""


class NumberComparator(Frozen):
    """A comparison of numbers within a tolerance."""

    number: NumberTolerance
    """Tolerances."""


class DateComparator(Frozen):
    """A comparison of dates that may be written in several formats."""

    date: Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=20)]
    """Formats of `strptime`, tried in order after ISO 8601."""


class FuzzyComparator(Frozen):
    """A comparison of texts by their similarity."""

    fuzzy: UnitNumber
    """Minimum similarity, from 0 to 1."""


_EXPECTED_COMPARATOR = (
    "Expected exact, casefold, set, {number: {abs, rel}}, {date: [formats]} or {fuzzy: the minimum similarity}"
)


def _find_comparator_kind(value: Any) -> str | None:
    """Return `name`, or the only key of a mapping; None for anything else, which is no comparator."""
    if isinstance(value, Frozen):
        value = value.model_dump()
    if isinstance(value, dict) and len(value) == 1:
        kind = next(iter(value))
        return kind if kind in ("number", "date", "fuzzy") else None
    return "name" if value in ("exact", "casefold", "set") else None


Comparator = Annotated[
    Annotated[Literal["exact", "casefold", "set"], Tag("name")]
    | Annotated[NumberComparator, Tag("number")]
    | Annotated[DateComparator, Tag("date")]
    | Annotated[FuzzyComparator, Tag("fuzzy")],
    Discriminator(
        _find_comparator_kind,
        custom_error_type="invalid_comparator",
        custom_error_message=_EXPECTED_COMPARATOR,
    ),
]
"""A comparison of a delivered field with the expected one."""


class ExpectedRecords(Frozen):
    """Records that the agent should extract."""

    items: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=5_000)]
    """Expected records, each an object."""
    fields: Annotated[dict[JsonPointer, Comparator], Field(min_length=1, max_length=200)]
    """Comparator of each field, by its location in a record."""
    key: Annotated[list[JsonPointer], Field(min_length=1, max_length=20)] | None = None
    """Values that identify a record, among the fields or not; without them records are assigned by their fields."""
    at: JsonPointer | None = None
    """Location of the records in the output; `/records` by default."""

    @model_validator(mode="before")
    @classmethod
    def _accept_one_object(cls, raw: Any) -> Any:
        return {**raw, "items": [raw["items"]]} if isinstance(raw, dict) and isinstance(raw.get("items"), dict) else raw


class ExpectedRanking(Frozen):
    """Relevance of the items that the agent should rank."""

    relevance: Annotated[dict[ItemId, Annotated[StrictInt, Field(ge=0, le=1_000)]], Field(min_length=1)]
    """Grade by id; other ids have the grade 0."""
    k: Annotated[StrictInt, Field(ge=1, le=1_000)] = 10
    """Number of top items that metrics with a cut-off read."""
    at: JsonPointer | None = None
    """Location of the ranking in the output; `/ranking` by default."""


class Target(Frozen):
    """The true number of an item, and the item's id if it has one."""

    value: Number
    """True number."""
    id: str | StrictInt | None = None
    """Id by which predictions are matched, if every item and every prediction has one."""


class SqlTable(Frozen):
    """A table that the agent's query reads."""

    columns: Annotated[dict[Label, Label], Field(min_length=1, max_length=200)]
    """SQL type of each column by name."""
    column_order: Annotated[list[Label], Field(max_length=200)] = []
    """Names of the columns in the order of the values of a row; by default the order of `columns`."""
    rows: list[list[Any]] = []
    """Rows, each a list with one JSON value for each column."""

    @model_validator(mode="before")
    @classmethod
    def _keep_order(cls, raw: Any) -> Any:
        # Stored JSON has sorted keys.
        if isinstance(raw, dict) and isinstance(raw.get("columns"), dict) and not raw.get("column_order"):
            return {**raw, "column_order": [*raw["columns"]]}
        return raw

    @model_validator(mode="after")
    def _same_columns(self) -> "SqlTable":
        if sorted(self.column_order) != sorted(self.columns):
            raise PydanticCustomError("column_order", "Expected each name of `columns` once in `column_order`")
        return self


class SqlResult(Frozen):
    """The expected result of a query: a query that computes it, or its rows."""

    query: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    """Query that computes the expected rows."""
    columns: Annotated[list[Label], Field(min_length=1, max_length=200)] | None = None
    """Names of the expected columns; needed only if `names` is true."""
    rows: Annotated[list[list[Any]], Field(max_length=100_000)] | None = None
    """Expected rows."""

    @model_validator(mode="after")
    def _query_or_rows(self) -> "SqlResult":
        if (self.query is None) == (self.rows is None):
            raise PydanticCustomError("query_or_rows", "Expected either a query, or columns and rows")
        return self


class SqlTask(Frozen):
    """Tables for the agent's query, and its expected result."""

    tables: Annotated[dict[Label, SqlTable], Field(max_length=20)] = {}
    """Tables by name."""
    expected: SqlResult
    """Expected result."""
    ordered: StrictBool = False
    """True if the order of the rows counts."""
    names: StrictBool = False
    """True if the names of the columns count."""
    float_tol: UnitNumber = 1e-9
    """Largest allowed difference of floating-point numbers, absolute and relative."""
    at: JsonPointer | None = None
    """Location of the query in the output; `/sql` by default."""
