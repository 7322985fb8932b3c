import gzip
import io
import json
import os
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from aex_models.examination import Examination
from aex_outcomes.config import OutcomeConfig
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.source_files import SourceFile
from tests.libs.outcomes.science.raw_data import AGENT, CSV, parquet, written

JOB = "aex_outcomes.science.job:examine_candidate"
MARK = "canary-4711"
"""Content of an unnamed file: if it appears, that file was read."""


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    bounds = OutcomeConfig().extractor_sections()["statistics"].sandbox
    async with WorkerPool(1, bounds.timeout_ms / 1_000, bounds.memory_limit_mb, jobs=[JOB], spares=0) as started:
        yield started


def open_folder(folder: Path) -> None:
    for each in [folder, *folder.parents]:
        if each.stat().st_uid == os.getuid() and each != Path(each.anchor):
            each.chmod(each.stat().st_mode | 0o011)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    open_folder(tmp_path)
    written(tmp_path, "canary.csv", f"x,y\n{4711},{MARK}\n", index="canary.csv")
    return tmp_path


def payload(*files: SourceFile, statistics: list[dict[str, Any]] | None = None, **limits: Any) -> dict[str, Any]:
    requests = [{"name": "it", "stat": "mean", "column": "x"}] if statistics is None else statistics
    return {
        "science": {"statistics": requests},
        "domain": None,
        "claimed_values": {"it": "2.0"},
        "files": [asdict(each) for each in files],
        "limits": asdict(DataLimits(**limits)),
    }


async def examined(pool: WorkerPool, body: dict[str, Any]) -> Examination:
    return Examination.model_validate((await pool.run(JOB, body))["examination"])


def long_strings() -> bytes:
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100_000, pyarrow.int32()), ["y" * (1 << 20)])
    return parquet({"x": column}, compression="zstd")


BAD: dict[str, tuple[str, str, bytes | str]] = {
    "a formula": ("not_numeric", "a.csv", "x\n=cmd|' /C calc'!A0\n"),
    "a number of 100,000 digits": ("not_finite", "a.csv", "x\n" + "9" * 100_000 + "\n"),
    "gzip": ("not_csv", "a.csv", gzip.compress(b"x\n1\n")),
    "Latin-1": ("not_utf8", "a.csv", b"x\n\xe9\n"),
    "an endless line": ("too_large", "a.csv", b"x\n" + b"1" * 5_000_000),
    "commas": ("too_many_columns", "a.csv", b"x" + b"," * 900_000),
    "deep JSON": ("not_jsonl", "a.jsonl", '{"x":' * 200_000),
    "deep brackets": ("not_jsonl", "a.jsonl", "[" * 1_000_000),
    "digits in JSON": ("not_finite", "a.jsonl", '{"x":' + "9" * 100_000 + "}\n"),
    "no Parquet": ("not_parquet", "a.parquet", b"PAR1" + b"\x15" * 5_000 + b"\xff\xff\xff\x7fPAR1"),
    "long texts in Parquet": ("out_of_memory", "a.parquet", long_strings()),
    "a pickle": ("unsupported_media_type", "a.pkl", b"cos\nsystem\n(S'true'\ntR."),
}
"""Kinds that could exhaust or attack a worker; `test_formats` has the harmless ones."""


async def test_each_hostile_file_is_answered_by_its_own_code(pool: WorkerPool, folder: Path) -> None:
    for kind, (expected, name, content) in BAD.items():
        statistic = {"name": "it", "stat": "n_unique" if expected == "out_of_memory" else "mean", "column": "x"}
        found = await examined(pool, payload(written(folder, name, content), statistics=[statistic]))
        assert expected in {each.code for each in found.problems}, kind
        assert {each.fault.value for each in found.problems} == {"agent"}, kind
        assert found.recomputed == (), kind
    assert pool.alive_workers == 1


NAMES = [
    "http://127.0.0.1:1/data.csv", "s3://bucket/x.parquet", "file:///etc/passwd", "*.csv", "../../etc/passwd",
    "canary.csv", "x.csv'; COPY cells TO '/tmp/x",
]  # fmt: skip


async def test_no_name_opens_anything(pool: WorkerPool, folder: Path) -> None:
    good = written(folder, "good.csv", "x\n1\n3\n")
    mean: dict[str, Any] = {"name": "it", "stat": "mean", "column": "x"}
    for name in NAMES:
        found = await examined(pool, payload(SourceFile(name, CSV, good.path, AGENT), statistics=[mean]))
        assert [(each.value, each.artifact) for each in found.recomputed] == [(2.0, name)]
        missing = await examined(pool, payload(good, statistics=[mean | {"artifact": name}]))
        assert [each.code for each in missing.problems] == ["artifact_missing"]
        as_column = await examined(pool, payload(good, statistics=[mean | {"column": name}]))
        assert [each.code for each in as_column.problems] == ["column_missing"]
        as_cell = written(folder, "cells.csv", f'x,y\n1,"{name}"\n3,"{name}"\n')
        filtered = mean | {"where": [{"column": "y", "op": "eq", "value": name}]}
        report = await examined(pool, payload(as_cell, statistics=[filtered]))
        assert [each.value for each in report.recomputed] == [2.0]
        assert not any("4711" in each.model_dump_json() for each in (found, missing, as_column, report))


async def test_only_plain_files_are_read(pool: WorkerPool, folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    sources = [written(folder, f"a.{ending}", "x\n1\n") for ending in ("csv", "parquet", "jsonl")]
    for path in ("*.csv", "canary.*", "[c]anary.csv", "http://127.0.0.1:1/x.csv", "s3://b/x.csv", ".", "fifo", "none"):
        for source in sources:
            there = SourceFile(source.name, source.media_type, f"{folder}/{path}", AGENT)
            found = await examined(pool, payload(there))
            assert {each.code for each in found.problems} == {"artifact_missing"}, path


async def test_a_small_file_of_twenty_million_rows_is_refused_at_once(pool: WorkerPool, folder: Path) -> None:
    packed = io.BytesIO()
    table = pyarrow.table({"x": pyarrow.array([0.5] * 1_000_000)})
    with pyarrow.parquet.ParquetWriter(packed, table.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(table)
    file = written(folder, "bomb.parquet", packed.getvalue())
    assert len(packed.getvalue()) < 100_000
    found = await examined(pool, payload(file, cpu_seconds=1))  # by its footer: reading it would take longer
    assert {each.code for each in found.problems} == {"too_many_rows"}


@pytest.mark.slow
async def test_reading_stops_when_its_time_is_over_and_the_worker_lives(pool: WorkerPool, folder: Path) -> None:
    rows = "".join(f"{each},{each * 7 % 1000}\n" for each in range(300_000))
    file = written(folder, "a.csv", f"x,y\n{rows}")
    found = await examined(pool, payload(file, cpu_seconds=0.3))
    assert {each.code for each in found.problems} == {"timed_out"}
    assert pool.alive_workers == 1


@pytest.mark.slow
async def test_too_little_memory_is_an_answer_and_no_dead_worker(pool: WorkerPool, folder: Path) -> None:
    file = written(folder, "a.csv", "x,y\n" + "".join(f"{each},{each}\n" for each in range(300_000)))
    ranks = [{"name": "it", "stat": "spearman", "columns": ["x", "y"]}]
    found = await examined(pool, payload(file, statistics=ranks, memory_mb=24))
    assert {each.code for each in found.problems} == {"out_of_memory"}
    assert (await examined(pool, payload(file, statistics=ranks))).problems == ()


async def test_answer_on_many_long_names_is_small(pool: WorkerPool, folder: Path) -> None:
    names = ",".join(f"{'n' * 290}{place}" for place in range(900))
    answer = await pool.run(JOB, payload(written(folder, "a.csv", f"{names}\n{'1,' * 899}1\n")))
    assert len(json.dumps(answer)) < 10_000
