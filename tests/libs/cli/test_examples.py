"""The example files are the demo's two works, and what its agents deliver."""

import json
from pathlib import Path
from typing import Any

import pytest

import aex_cli.examples
from aex_cli.demo.digit_reader import DigitReader
from aex_cli.demo.digits import digits_work, load_examples
from aex_cli.demo.summarisation import summary_work
from aex_cli.demo.wordsmith import FIRST_DRAFT, joined, revised, wishes_of
from aex_cli.main import call
from aex_cli.offline.documents import read_document
from aex_models.work import WorkSubmission

FOLDER = Path(aex_cli.examples.__file__).parent


def example(name: str) -> Any:
    return read_document("--work", str(FOLDER / name)).value


def submission(work: str) -> WorkSubmission:
    criteria = example(f"{work}/criteria.yaml")
    return WorkSubmission.model_validate({**example(f"{work}/work.json"), "success_criteria": criteria})


def test_the_summary_is_the_demos_with_its_draft_and_its_revision() -> None:
    work = summary_work()
    assert submission("summary") == work
    assert work.success_criteria is not None
    text = work.input["text"]
    unmet = {"rougeL", "rouge2", "contains_keywords", "output_length"}
    assert example("summary/first_draft.json") == {"text": joined(text, FIRST_DRAFT)}
    places = revised(text, FIRST_DRAFT, wishes_of(work.success_criteria, unmet))
    assert example("summary/revision.json") == {"text": joined(text, places)}


@pytest.mark.slow  # scikit-learn takes seconds to import
def test_the_digits_are_the_demos_with_its_readers_labels() -> None:
    known, asked = load_examples()
    work = digits_work(asked)
    assert submission("digits") == work
    labels = DigitReader(known).read(work.input["images"])
    found = example("digits/predictions.json")["predictions"]
    assert [(each["id"], each["label"]) for each in found] == [(each["id"], each["label"]) for each in labels]
    assert [each["confidence"] for each in found] == pytest.approx([each["confidence"] for each in labels])


def test_the_readme_shows_files_that_are_there() -> None:
    readme = (Path(__file__).parents[3] / "libs/aex-cli/README.md").read_text(encoding="utf-8")
    for name in ("first_draft.json", "revision.json", "metadata.json", "criteria.yaml", "work.json"):
        assert name in readme
        assert (FOLDER / "summary" / name).exists()
    assert json.loads((FOLDER / "summary" / "metadata.json").read_text())["duration_ms"] > 0


def test_the_fitness_work_is_valid_before_its_data_are_uploaded(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["lint", str(FOLDER / "fitness" / "work.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["code"], each["path"]) for each in found["warnings"]] == [("not_uploaded", "/science/data/0/sha256")]
