"""`aex domains`: what authors of domains see, offline."""

import json
from pathlib import Path

import pytest

from aex_cli.main import call

MINE = """
name: chemistry/spectra
description: Absorption spectra.
value_ranges:
  absorbance: {min: 0, max: 4}
  wavelength: {max: 900, unit: nm}
keywords: [absorption spectrum]
"""


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """The exit code, stdout and stderr."""
    code = call(["domains", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def written(folder: Path, text: str = MINE, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_packaged_domains_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capsys, "list")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert rows[0] == ["name", "aliases", "quantities", "description"]
    assert rows[2][:2] == ["bioinformatics/RNAseq", "genomics/RNAseq"]
    assert len(rows) == 5


def test_a_folder_s_domains_are_listed_among_them_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    written(tmp_path)
    code, out, _ = told(capsys, "list", "--folder", tmp_path, "--json")
    assert (code, [each["name"] for each in json.loads(out)][2]) == (0, "chemistry/spectra")


def test_a_domain_is_shown_by_name_or_alias(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = told(capsys, "show", "genomics/RNAseq")
    assert code == 0
    assert "bioinformatics/RNAseq, genomics/RNAseq" in out
    assert "log2_fold_change [-15, 15]; also" in out
    assert "tpm ≥ 0" in out
    written(tmp_path)
    assert "wavelength ≤ 900 nm" in told(capsys, "show", "chemistry/spectra", "--folder", tmp_path)[1]
    dms = told(capsys, "show", "bioinformatics/DMS")[1]
    assert "mut_score, fitness, log2_enrichment" in dms
    assert "no_extreme_outliers: No score lies further from 0 than 5." in dms
    assert "energy unbounded" in told(capsys, "show", "molecular-dynamics")[1]


def test_one_is_shown_as_the_api_answers(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(told(capsys, "show", "molecular-dynamics", "--json")[1])
    assert shown["value_ranges"]["rmsd"] == {
        **shown["value_ranges"]["rmsd"],
        "min": 0.0,
        "max": 50.0,
        "unit": "Å",
    }


def test_a_domain_that_is_not_there_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(capsys, "show", "astronomy")
    assert (code, out) == (2, "")
    assert err.startswith("aex: there is no domain 'astronomy'; choose one of bioinformatics/DMS, ")


def test_a_sound_file_is_valid(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path)
    for more in ([], ["--folder", str(tmp_path)]):
        assert told(capsys, "check", path, *more) == (0, "valid: chemistry/spectra, 2 ranges, 1 keywords\n", "")


def test_every_problem_of_a_file_is_told_with_its_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, MINE.replace("max: 4", "max: yes").replace("keywords", "words"))
    code, out, err = told(capsys, "check", path)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"{path}: value_ranges.absorbance.max: Input should be a valid number",
        f"{path}: words: unknown key",
    ]


def test_a_name_that_is_taken_is_a_problem(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, MINE.replace("chemistry/spectra", "genomics/rnaseq"))
    code, out, _ = told(capsys, "check", path)
    assert (code, out) == (
        1,
        f"{path}: name: genomics/rnaseq is a name of bioinformatics/RNAseq already; choose another one\n",
    )


@pytest.mark.parametrize("arguments", [["check", "nowhere.yaml"], ["list", "--folder", "nowhere"], ["show"]])
def test_mistakes_are_one_line_on_stderr(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = told(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
