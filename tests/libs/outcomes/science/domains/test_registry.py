from pathlib import Path

import pytest

from aex_models.domains import Domain
from aex_outcomes import DomainRegistry
from aex_outcomes.science.domains.domain_file import MAX_BYTES
from aex_outcomes.science.domains.soundness import InvalidDomain

SPECTRA = """
name: chemistry/spectra
aliases: [chem/spectra]
description: Absorption spectra.
value_ranges:
  absorbance: {min: 0, max: 4}
keywords: [absorption spectrum, 1e3 nm]
"""


def written(folder: Path, text: str | bytes, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(folder: Path, text: str | bytes) -> list[tuple[str, str]]:
    path = written(folder, text)
    with pytest.raises(InvalidDomain) as error:
        DomainRegistry.load(folder)
    assert all(place.startswith(str(path)) for place, _ in error.value.problems)
    return [(place.removeprefix(str(path)).removeprefix(": "), problem) for place, problem in error.value.problems]


def test_a_folder_s_file_adds_a_domain_by_name_and_alias(tmp_path: Path) -> None:
    written(tmp_path, SPECTRA)
    written(tmp_path, "no domain: [", "notes.txt")
    written(tmp_path, "[", ".hidden.yaml")
    registry = DomainRegistry.load(tmp_path)
    assert set(registry.names) - set(DomainRegistry.load().names) == {"chemistry/spectra"}
    added = registry.get("chemistry/spectra")
    assert added is not None
    assert registry.get("chem/spectra") is added
    assert added.value_ranges["absorbance"].max == 4
    assert not any(map(registry.get, ("Chemistry/Spectra", "chemistry", "", None, "chemistry/spectra ")))
    assert list(registry.names) == sorted(registry.names)


def test_fingerprint_changes_with_any_domain_and_not_with_a_byte_order_mark(tmp_path: Path) -> None:
    written(tmp_path, b"\xef\xbb\xbf" + SPECTRA.encode())
    before = DomainRegistry.load(tmp_path).fingerprint
    written(tmp_path, SPECTRA)
    assert DomainRegistry.load(tmp_path).fingerprint == before
    written(tmp_path, SPECTRA.replace("max: 4", "max: 5"))
    assert before != DomainRegistry.load(tmp_path).fingerprint != DomainRegistry.load().fingerprint


@pytest.mark.parametrize(
    ("change", "path", "report"),
    [
        (("max: 4", "max: four"), "value_ranges.absorbance.max", "valid number"),
        (("max: 4", "max: .nan"), "value_ranges.absorbance.max", "finite"),
        (("max: 4", "max: -1"), "value_ranges.absorbance", "min is above max"),
        (("max: 4", "maximum: 4"), "value_ranges.absorbance.maximum", "There is no such field"),
        (("max: 4", "max: 4, aliases: [a b]"), "value_ranges.absorbance.aliases.0", "match pattern"),
        (("name: chemistry/spectra", "title: x"), "name", "is missing"),
        (("[absorption spectrum, 1e3 nm]", "absorption"), "keywords", "Expected an array"),
        (("keywords:", "statistics: [{name: m, stat: mean}]\nkeywords:"), "statistics.0", "common_columns"),
    ],
)
def test_broken_file_is_reported_with_key_path(tmp_path: Path, change: tuple[str, str], path: str, report: str) -> None:
    assert change[0] in SPECTRA
    problems = refused(tmp_path, SPECTRA.replace(*change))
    assert path in [place for place, _ in problems]
    assert report in dict(problems)[path]


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (SPECTRA + "name: other\n", "the key name stands twice in one mapping; keep one (line 8, column 1)"),
        (SPECTRA.replace("{min: 0, max: 4}", "{min: 0, max: 4, min: 1}"), "the key min stands twice"),
        (SPECTRA + "common_columns: &x [a]\ncommon_issues: *x\n", "refers to another part of itself (*x)"),
        (SPECTRA.replace("absorbance:", "no:"), "a key is no text; put it in quotes"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("[" * 3_000, "not readable as YAML"),
        ("", "expected a mapping"),
        ("---\na: 1\n---\nb: 2\n", "expected a single document"),
        (b"name: \xff", "not UTF-8"),
        (b"#" * (MAX_BYTES + 1), "more than 1,000,000 bytes"),
        ("a: \x00", "not readable as YAML"),
    ],
)
def test_unreadable_file_is_reported_with_fix(tmp_path: Path, text: str | bytes, report: str) -> None:
    [(_, problem)] = refused(tmp_path, text)
    assert report in problem
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("name", "path"), [("bioinformatics/DMS", "name"), ("bioinformatics/dms", "name"), ("genomics/RNAseq", "name")]
)
def test_a_folder_s_file_replaces_no_packaged_domain(tmp_path: Path, name: str, path: str) -> None:
    [(place, problem)] = refused(tmp_path, SPECTRA.replace("chemistry/spectra", name))
    assert place == path
    assert problem.startswith(f"{name} is a name of bioinformatics/")
    assert "the package's bioinformatics-" in problem


def test_an_alias_that_is_taken_names_both_files(tmp_path: Path) -> None:
    written(tmp_path, SPECTRA, "a.yaml")
    other = written(tmp_path, SPECTRA.replace("name: chemistry/spectra", "name: chemistry/other"), "b.yml")
    with pytest.raises(InvalidDomain) as error:
        DomainRegistry.load(tmp_path)
    [(place, problem)] = error.value.problems
    assert place == f"{other}: aliases.0"
    assert f"chem/spectra is a name of chemistry/spectra ({tmp_path / 'a.yaml'}) already" in problem


def test_a_folder_that_is_not_there_is_an_error_and_an_empty_one_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidDomain, match="nowhere: the folder of domains cannot be read: No such file"):
        DomainRegistry.load(tmp_path / "nowhere")
    with pytest.raises(InvalidDomain, match="Not a directory"):
        DomainRegistry.load(written(tmp_path, SPECTRA, "file.txt"))
    assert DomainRegistry.load(tmp_path).names == DomainRegistry.load().names
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(InvalidDomain, match=r"folder\.yaml: cannot be read: Is a directory"):
        DomainRegistry.load(tmp_path)


def test_names_of_one_quantity_belong_to_no_other(tmp_path: Path) -> None:
    text = SPECTRA.replace("{min: 0, max: 4}", "{min: 0, aliases: [od]}\n  turbidity: {min: 0, aliases: [x, O_D]}")
    problem = "O_D is a name of absorbance already; a claim could be held to one of them alone"
    assert refused(tmp_path, text) == [("value_ranges.turbidity.aliases.1", problem)]


@pytest.mark.parametrize(
    ("check", "path", "report"),
    [
        ("{name: value_ranges, description: d, stat: mean, max: 1}", ".name", "check of the platform's"),
        ("{name: c, description: d, stat: mean}", "", "could not fail"),
        ("{name: c, description: d, stat: mean, min: 2, max: 1}", "", "could not be met"),
        ("{name: c, description: d, stat: pearson, max: 1}", ".stat", "one column does not determine pearson"),
        ("{name: c, description: d, stat: welch_p, max: 1}", ".stat", "one column does not determine welch_p"),
        ("{name: c, description: d, stat: bh_count, max: 1}", ".stat", "choose a statistic of one column"),
        ("{name: c, description: d, stat: quantile, max: 1}", ".q", "takes q"),
        (f"{{name: {'c' * 94}, description: d, stat: mean, max: 1}}", ".name", "longer than 93"),
    ],
)
def test_useless_sanity_check_is_refused(tmp_path: Path, check: str, path: str, report: str) -> None:
    [(pointer, problem)] = refused(tmp_path, f"{SPECTRA}common_columns: [a]\nsanity_checks: [{check}]\n")
    assert pointer == f"sanity_checks.0{path}"
    assert report in problem


def test_checks_and_recipes_have_names_of_their_own(tmp_path: Path) -> None:
    check = "{name: c, description: d, stat: mean, max: 1}"
    recipe = "{name: m, stat: mean}"
    text = f"{SPECTRA}common_columns: [a]\nsanity_checks: [{check}, {check}]\nstatistics: [{recipe}, {recipe}]\n"
    assert refused(tmp_path, text) == [
        ("sanity_checks.1.name", "c is there already"),
        ("statistics.1.name", "m is there already"),
    ]


def test_domains_from_python_are_checked() -> None:
    one = Domain(name="a/b", description="")
    assert DomainRegistry.from_domains([one]).names == ("a/b",)
    with pytest.raises(InvalidDomain, match="a/b: name: a/b is a name of a/b already"):
        DomainRegistry.from_domains([one, Domain(name="a/b", description="another")])
    with pytest.raises(InvalidDomain, match="common_columns"):
        DomainRegistry.from_domains(
            [Domain.model_validate({**one.model_dump(), "statistics": [{"name": "m", "stat": "mean"}]})]
        )
