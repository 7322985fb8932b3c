import pytest

from tests.libs.outcomes.science.raw_data import code, recomputed, spec, value


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("5", 5), ("-5", -5), ("+5", 5), ("1.50", 1.5), (".5", 0.5), ("5.", 5), ("1e3", 1000), ("1E-3", 0.001),
        (" 5 ", 5), ("\t5\t", 5), ('"5"', 5), ("007", 7), ("-0", 0), ("1e-400", 0), ("5e-324", 5e-324),
    ],
)  # fmt: skip
def test_a_number_is_written_in_decimal_digits(cell: str, number: float) -> None:
    assert value(f"i,x\n1,{cell}\n", spec("max")) == number


@pytest.mark.parametrize(
    "cell",
    [
        '"1,000"', '"1,5"', "1_000", "0x10", "٣", "５", "1e", "e5", "--5", "+-5", "1.2.3", "1 000", "5%", "$5", "1d5",
        "true", "=1+1", "=HYPERLINK(1)", "@SUM(1)", "1e5x", "''", "-", ".", "5\u00a0", "½", "1/2", "0b1", "1f", "12:30",
    ],
)  # fmt: skip
def test_anything_else_is_a_text_and_no_number(cell: str) -> None:
    assert code(f"i,x\n1,{cell}\n") == "not_numeric"


@pytest.mark.parametrize("cell", ["", "NA", "N/A", "null", "NULL", "None", "  ", '""'])
def test_missing_cells_are_left_out(cell: str) -> None:
    found = recomputed(f"i,x\n1,{cell}\n2,4\n", spec(), spec("count", name="n"), spec("count", None, name="rows"))
    assert [each.value for each in found.values] == [4, 1, 2]


@pytest.mark.parametrize("cell", ["nan", "NaN", "inf", "-inf", "+Inf", "Infinity", "-INFINITY", "1e400", "-1e999"])
def test_infinite_cell_leaves_no_statistic_and_is_not_quoted(cell: str) -> None:
    found = recomputed(f"i,x\n1,4\n2,{cell}\n", spec())
    message = 'cells of the column "x": 1, the first in data row 2, are NaN or infinite; leave out what is not known'
    assert (found.values, [(each.code, each.message) for each in found.problems]) == ((), [("not_finite", message)])


def test_error_names_first_bad_row_and_count_without_cells() -> None:
    found = recomputed("i,x\n1,4\n2,secret\n3,secret too\n", spec())
    assert "2, the first in data row 2" in found.problems[0].message
    assert "secret" not in found.problems[0].message


def test_words_can_be_counted() -> None:
    table = "i,x\n1,high\n2,low\n3,high\n4,nan\n5,\n"
    assert value(table, spec("n_unique")) == 3
    assert value(table, spec("count")) == 4
    assert code("i,x\n1,2\n2,nan\n", spec("n_unique")) == "not_finite"
