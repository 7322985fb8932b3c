from pathlib import Path

import pytest

from aex_outcomes.config import BUILT_IN, ExtractorConfig, InvalidConfig
from aex_outcomes.extractors.loading import load_extractor

SAMPLES = "tests.libs.outcomes.extractors.samples"


def settings(class_: str | None = None, **config: object) -> ExtractorConfig:
    return ExtractorConfig.model_validate({"class": class_, "config": config})


@pytest.mark.parametrize("path", [f"{SAMPLES}:Sample", f"{SAMPLES}.Sample", f"{SAMPLES}:Bare"])
def test_class_path_names_a_foreign_extractor(path: str) -> None:
    assert type(load_extractor("mine", settings(path, value=1))).__name__ in path


def test_a_package_can_offer_an_extractor_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "offering-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[aex.extractors]\nshouting = {SAMPLES}:Sample\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    extractor = load_extractor("mine", settings("shouting", value=1))
    assert extractor is not None
    assert extractor.supported_metrics() == ["shouting"]


@pytest.mark.parametrize("section", sorted(BUILT_IN))
def test_every_built_in_section_has_its_extractor(section: str) -> None:
    assert type(load_extractor(section, settings())).__name__ == BUILT_IN[section]
    assert "rouge2" in load_extractor("text_quality", settings(rouge_types=["rouge2"])).supported_metrics()


@pytest.mark.parametrize(
    ("class_", "path", "message"),
    [
        ("nowhere.at.all:Extractor", "class", "cannot be loaded"),
        (f"{SAMPLES}:Absent", "class", "cannot be loaded"),
        ("json:dumps", "class", "no class"),
        ("no_such_entry_point", "class", "aex.extractors"),
        (f"{SAMPLES}:NoExtractor", "class", "no extractor: it needs extract and supported_metrics"),
        (f"{SAMPLES}:Sample", "config", "unknown setting colour"),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_is_named_with_its_path(class_: str, path: str, message: str) -> None:
    config = {"colour": "red"} if path == "config" else {}
    with pytest.raises(InvalidConfig, match=message) as refused:
        load_extractor("mine", settings(class_, **config))
    assert refused.value.problems[0][0] == f"extractors.mine.{path}"
