import json
from pathlib import Path
from typing import Any

import pytest

from aex_models.event_schemas import broken_promises, committed_schemas, event_schemas, main
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


def test_the_committed_schemas_are_those_of_the_models() -> None:
    assert committed_schemas() == event_schemas()


def test_the_committed_promises_are_kept() -> None:
    assert broken_promises(committed_schemas(), event_schemas()) == []


def test_there_is_a_schema_for_every_topic_and_for_nothing_else() -> None:
    assert set(committed_schemas()) == set(TOPICS)


def test_no_schema_has_a_place_for_evaluation_data_or_candidates() -> None:
    schemas = event_schemas()
    kept_inside = {"Evaluation", "GroundTruth", "CustomMetric", "Candidate", "Artifact", "ExecutionMetadata"}
    assert not any(kept_inside & set(schema.get("$defs", {})) for schema in schemas.values())
    awarded = schemas["contract.awarded"]["$defs"]
    assert "evaluation" not in awarded["Work"]["properties"]
    assert "statistics" in awarded["Science"]["properties"]
    assert "expected_outcome" not in awarded["Science"]["properties"]
    assert "sha256" not in awarded["DataFile"]["properties"]
    record = schemas["outcome.verified"]["$defs"]["OutcomeRecord"]["properties"]
    assert not {"final_result", "execution_metadata"} & set(record)


def test_money_is_text_in_every_schema() -> None:
    terms = event_schemas()["contract.awarded"]["$defs"]["Terms"]["properties"]
    assert terms["cpc_rate"]["type"] == "string"


def test_check_passes_on_what_write_wrote(folder: Path) -> None:
    assert main(["--check"], folder) == 0


def test_check_names_what_differs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(folder, "output.rejected", lambda schema: schema.update(description="older words"))
    assert main(["--check"], folder) == 1
    assert "output.rejected" in capsys.readouterr().err
    assert main(["--write"], folder) == 0
    assert main(["--check"], folder) == 0


def test_a_new_event_is_written_and_breaks_nobody(folder: Path) -> None:
    (folder / "work.checked.json").unlink()
    assert main(["--check"], folder) == 1
    assert main(["--write"], folder) == 0


def test_write_refuses_what_would_break_a_reader(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "output.rejected.json").read_text()
    rewrite(folder, "output.rejected", lambda schema: schema["properties"].update(hint={"type": "string"}))
    changed = (folder / "output.rejected.json").read_text()
    assert main(["--write"], folder) == 1
    assert "output.rejected/hint: removed" in capsys.readouterr().err
    assert (folder / "output.rejected.json").read_text() == changed != before


def test_an_event_that_is_no_longer_published_breaks_its_readers() -> None:
    assert broken_promises({"a.b": {}}, {}) == ["a.b: no longer published"]
