import json
from pathlib import Path
from typing import Any

import pytest

from aex_models.event_schemas import build_event_schemas, incompatible_changes, main, read_committed_schemas
from aex_models.events import TOPICS


def rewrite(folder: Path, name: str, change: Any) -> None:
    file = folder / f"{name}.json"
    schema = json.loads(file.read_text())
    change(schema)
    file.write_text(json.dumps(schema))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert main(["--write"], tmp_path) == 0
    return tmp_path


def test_committed_schemas_are_those_of_the_models() -> None:
    assert read_committed_schemas() == build_event_schemas()
    assert set(read_committed_schemas()) == set(TOPICS)
    assert incompatible_changes(read_committed_schemas(), build_event_schemas()) == []
    assert incompatible_changes({"a.b": {}}, {}) == ["a.b: no longer published"]


def test_schemas_exclude_evaluation_data_and_candidates() -> None:
    schemas = build_event_schemas()
    kept_inside = {"Evaluation", "GroundTruth", "CustomMetric", "Candidate", "Artifact", "ExecutionMetadata"}
    assert not any(kept_inside & set(schema.get("$defs", {})) for schema in schemas.values())
    awarded = schemas["contract.awarded"]["$defs"]
    assert "evaluation" not in awarded["Work"]["properties"]
    assert awarded["Terms"]["properties"]["cpc_rate"]["type"] == "string"
    assert "statistics" in awarded["Science"]["properties"]
    assert "expected_outcome" not in awarded["Science"]["properties"]
    assert "sha256" not in awarded["DataFile"]["properties"]
    record = schemas["outcome.verified"]["$defs"]["OutcomeRecord"]["properties"]
    assert not {"final_result", "execution_metadata"} & set(record)


def test_check_names_the_schemas_that_differ(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(folder, "output.rejected", lambda schema: schema.update(description="older words"))
    (folder / "work.checked.json").unlink()
    assert main(["--check"], folder) == 1
    printed = capsys.readouterr().err
    assert "output.rejected" in printed
    assert "work.checked" in printed
    assert main(["--write"], folder) == 0
    assert main(["--check"], folder) == 0


def test_write_refuses_a_breaking_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "output.rejected.json").read_text()
    rewrite(folder, "output.rejected", lambda schema: schema["properties"].update(hint={"type": "string"}))
    changed = (folder / "output.rejected.json").read_text()
    assert main(["--write"], folder) == 1
    assert "output.rejected/hint: removed" in capsys.readouterr().err
    assert (folder / "output.rejected.json").read_text() == changed != before
