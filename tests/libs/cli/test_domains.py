"""`aex domains`: what authors of domains see, offline."""

import json
from pathlib import Path

import pytest

from aex_cli.main import run_command_line

OWN = """
name: chemistry/spectra
description: Absorption spectra.
value_ranges:
  absorbance: {min: 0, max: 4}
  wavelength: {max: 900, unit: nm}
keywords: [absorption spectrum]
"""


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """The exit code, stdout and stderr."""
    code = run_command_line(["domains", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def written(folder: Path, text: str = OWN, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_packaged_domains_and_those_of_a_folder_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = printed(capsys, "list")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert rows[0] == ["name", "aliases", "quantities", "description"]
    assert rows[2][:2] == ["bioinformatics/RNAseq", "genomics/RNAseq"]
    assert len(rows) == 5
    written(tmp_path)
    _, out, _ = printed(capsys, "list", "--folder", tmp_path, "--json")
    assert [each["name"] for each in json.loads(out)][2] == "chemistry/spectra"


def test_domain_is_printed_by_name_or_alias(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = printed(capsys, "show", "genomics/RNAseq")
    assert code == 0
    assert "bioinformatics/RNAseq, genomics/RNAseq" in out
    assert "log2_fold_change [-15, 15]; also" in out
    assert "tpm ≥ 0" in out
    written(tmp_path)
    assert "wavelength ≤ 900 nm" in printed(capsys, "show", "chemistry/spectra", "--folder", tmp_path)[1]
    dms = printed(capsys, "show", "bioinformatics/DMS")[1]
    assert "mut_score, fitness, log2_enrichment" in dms
    assert "no_extreme_outliers: No score lies further from 0 than 5." in dms
    assert "energy unbounded" in printed(capsys, "show", "molecular-dynamics")[1]
    visible = json.loads(printed(capsys, "show", "molecular-dynamics", "--json")[1])
    rmsd = visible["value_ranges"]["rmsd"]
    assert (rmsd["min"], rmsd["max"], rmsd["unit"]) == (0.0, 50.0, "Å")
    code, out, err = printed(capsys, "show", "astronomy")
    assert (code, out) == (2, "")
    assert err.startswith("aex: there is no domain 'astronomy'; choose one of bioinformatics/DMS, ")


def test_correct_file_is_valid(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path)
    for more in ([], ["--folder", str(tmp_path)]):
        assert printed(capsys, "check", path, *more) == (0, "valid: chemistry/spectra, 2 ranges, 1 keywords\n", "")


def test_all_problems_of_a_file_are_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, OWN.replace("max: 4", "max: yes").replace("keywords", "words"))
    code, out, err = printed(capsys, "check", path)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"{path}: value_ranges.absorbance.max: Input should be a valid number",
        f"{path}: words: There is no such field; known here: name, aliases, description, value_ranges, "
        "common_columns, common_issues, sanity_checks, keywords, statistics",
    ]
    path = written(tmp_path, OWN.replace("chemistry/spectra", "genomics/rnaseq"))
    taken = f"{path}: name: genomics/rnaseq is a name of bioinformatics/RNAseq already; choose another one\n"
    assert printed(capsys, "check", path)[:2] == (1, taken)


@pytest.mark.parametrize("arguments", [["check", "nowhere.yaml"], ["list", "--folder", "nowhere"], ["show"]])
def test_bad_arguments_are_one_line_on_stderr(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = printed(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
