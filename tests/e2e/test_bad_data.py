"""Unusable raw data: each kind has its own error, which the agent reads too, and nothing hangs."""

import base64
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest

from tests.e2e.conftest import EMBEDDED_ALONE
from tests.e2e.jobs import until_status
from tests.e2e.parties import Parties
from tests.e2e.science import CSV, MEAN, TABLE, TRUTH, claim, claimed, science_contract, science_of, upload

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PARQUET = "application/vnd.apache.parquet"


def zipped() -> bytes:
    """A table in a zip archive, called a CSV."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("scores.csv", TABLE)
    return packed.getvalue()


def unfolding() -> bytes:
    """A small Parquet file of very many rows."""
    with TemporaryDirectory() as folder:
        location = Path(folder) / "scores.parquet"
        rows = duckdb.table_function("range", [20_000_000]).project("0.5::DOUBLE AS mut_score")
        rows.write_parquet(str(location), compression="zstd")
        return location.read_bytes()


HEADER = b"mutant,mut_score\n"
BAD: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a_column_of_words": ("not_numeric", lambda: HEADER + b"A1C,high\nA1D,low\n", CSV),
    "semicolons": ("wrong_delimiter", lambda: TABLE.replace(",", ";").encode(), CSV),
    "ragged_rows": ("ragged_rows", lambda: HEADER + b"A1C,0.1\nA1D,0.2,0.3\nA1E,0.4\n", CSV),
    "a_header_twice": ("duplicate_column", lambda: b"mut_score,mut_score\n0.1,0.2\n", CSV),
    "nothing_at_all": ("empty_file", lambda: b"", CSV),
    "a_header_alone": ("no_rows", lambda: HEADER, CSV),
    "nan_cells": ("not_finite", lambda: HEADER + b"A1C,NaN\nA1D,0.2\n", CSV),
    "infinite_cells": ("not_finite", lambda: HEADER + b"A1C,-inf\nA1D,0.2\n", CSV),
    "a_zip": ("not_csv", zipped, CSV),
    "gzip": ("not_csv", lambda: gzip.compress(TABLE.encode()), CSV),
    "latin_1": ("not_utf8", lambda: HEADER + "é,0.1\n".encode("latin-1"), CSV),
    "another_column": ("column_missing", lambda: b"mutant,other\nA1C,0.1\n", CSV),
    "no_parquet": ("not_parquet", TABLE.encode, PARQUET),
    "too_many_rows": ("too_many_rows", unfolding, PARQUET),
}


def inline(content: bytes, media_type: str = CSV, name: str = "scores.csv") -> dict[str, Any]:
    """An artifact of any bytes."""
    return {"name": name, "media_type": media_type, "content_base64": base64.b64encode(content).decode()}


@EMBEDDED_ALONE
@pytest.mark.parametrize("kind", BAD)
def test_each_kind_of_bad_data_has_an_error_of_its_own(parties: Parties, kind: str) -> None:
    code, content, media_type = BAD[kind]
    contract_id = science_contract(parties, verification={"feedback": "full"})
    attempt = claim(parties, contract_id, {"mean_fitness": -0.4}, inline(content(), media_type))
    assert (attempt["verdict"], attempt["counted"]) == ("rejected", True)
    found = science_of(parties.operator, contract_id, attempt["attempt_id"])
    assert code in {each["code"] for each in found["examination"]["problems"]}
    assert {each["fault"] for each in found["examination"]["problems"]} == {"agent"}
    assert code in attempt["feedback"]
    assert claim(parties, contract_id, {"mean_fitness": claimed(TRUTH)}, inline(TABLE.encode()))["verdict"] == "passed"


def test_a_byte_order_mark_is_no_part_of_the_first_columns_name(parties: Parties) -> None:
    contract_id = science_contract(parties)
    table = b"\xef\xbb\xbfmut_score\n0.1\n0.3\n"
    assert claim(parties, contract_id, {"mean_fitness": 0.2}, inline(table))["verdict"] == "passed"


def test_a_column_that_is_called_like_a_function_is_a_column(parties: Parties) -> None:
    name = "read_csv('/etc/passwd')"
    table = f'"{name}",mut_score\n1,0.1\n3,0.3\n'.encode()
    spec = {"name": "odd", "stat": "mean", "column": name}
    contract_id = science_contract(parties, {"statistics": [spec, MEAN]})
    assert claim(parties, contract_id, {"odd": 2, "mean_fitness": 0.2}, inline(table))["verdict"] == "passed"


def test_claims_that_cannot_be_recomputed_do_not_pass(parties: Parties) -> None:
    contract_id = science_contract(parties, {"statistics": []})
    attempt = claim(parties, contract_id, {"novelty": 3.0})
    assert attempt["verdict"] == "rejected"
    found = science_of(parties.operator, contract_id, attempt["attempt_id"])
    assert {each["code"] for each in found["reasons"]} == {"nothing_recomputed"}


@EMBEDDED_ALONE
def test_own_data_that_cannot_be_read_are_not_the_agents_fault(parties: Parties) -> None:
    digest = upload(parties.consumer, "work-publisher", zipped())
    contract_id = science_contract(parties, {"data": [{"name": "scores.csv", "sha256": digest}]})
    path = f"/v1/contracts/{contract_id}/outputs"
    body = {"output": "x", "claimed_values": {"mean_fitness": claimed(TRUTH)}}
    attempt_id = parties.agent.post("verification", path, body).json()["attempt_id"]
    assert until_status(parties.agent, contract_id, "held", "awaiting_revision", "passed")["status"] == "held"
    seen = parties.operator.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt_id}")
    assert (seen["counted"], seen["verdict"]) == (False, "indeterminate")
    assert {each["fault"] for each in seen["result"]["science"]["examination"]["problems"]} == {"platform"}
