"""Files of raw data for tests, and statistics of them."""

import io
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pyarrow
import pyarrow.parquet

from aex_models.examination import DataOwner
from aex_models.statistics import StatisticSpec
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.recompute import Recomputation, recompute
from aex_outcomes.science.source_files import SourceFile, resolve_media_type

CSV, TSV, JSONL = "text/csv", "text/tab-separated-values", "application/jsonl"
PARQUET = "application/vnd.apache.parquet"
AGENT, CONSUMER = DataOwner.AGENT, DataOwner.CONSUMER


def spec(stat: str = "mean", column: Any = "x", name: str = "it", **more: Any) -> StatisticSpec:
    columns = {"columns": list(column)} if isinstance(column, tuple) else {"column": column}
    return StatisticSpec.model_validate({"name": name, "stat": stat, **columns, **more})


def recomputed(content: bytes | str, *specs: StatisticSpec, name: str = "data.csv", **limits: Any) -> Recomputation:
    with NamedTemporaryFile() as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        source = SourceFile(name, resolve_media_type(name), file.name, AGENT)
        return recompute([source], specs or [spec()], limits=DataLimits(**limits))


def value(content: bytes | str, expected: StatisticSpec | None = None, name: str = "data.csv") -> float:
    found = recomputed(content, expected or spec(), name=name)
    assert found.problems == ()
    return found.values[0].value


def code(content: bytes | str, expected: StatisticSpec | None = None, name: str = "data.csv", **limits: Any) -> str:
    found = recomputed(content, expected or spec(), name=name, **limits)
    assert found.values == ()
    return next(each.code for each in found.problems if each.name == "it")


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    packed = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), packed, **options)
    return packed.getvalue()


def written(folder: Path, name: str, content: bytes | str, owner: DataOwner = AGENT, index: str = "") -> SourceFile:
    path = folder / (index or f"file{len(list(folder.iterdir()))}")
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o644)
    return SourceFile(name, resolve_media_type(name), str(path), owner)
