import sys
from pathlib import Path
from typing import Any

import pytest

from aex_outcomes.config import InvalidConfig, parse_config
from aex_outcomes.lifecycle.registry import (
    UnknownVerifier,
    VerifierRegistry,
    list_enabled_verifier_names,
    load_verifier,
)

HERE = "tests.libs.outcomes.lifecycle"
SAMPLES = f"{HERE}.named_samples"


def verifiers(**sections: Any) -> VerifierRegistry:
    return VerifierRegistry.import_enabled(parse_config({"verifiers": sections}))


def offer(folder: Path, package: str, *lines: str) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[aex.verifiers]", *lines, ""]))


@pytest.fixture
def offering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_path_names_a_verifier_and_its_annotation_the_type() -> None:
    found = verifiers(tone=f"{SAMPLES}:verify_summary", alone={"path": f"{SAMPLES}.verify_alone", "timeout_ms": 5})
    assert found.names == ("alone", "tone")
    assert found.by_name["tone"].verifier.output_type.__name__ == "Summary"
    assert (found.by_name["tone"].timeout_ms, found.by_name["alone"].timeout_ms) == (30_000, 5)
    assert found.modules == (SAMPLES,)


@pytest.mark.parametrize("attribute", ["at_least_three", "at_least_three.verify"])
def test_objects_and_their_methods_are_verifiers_too(attribute: str) -> None:
    assert verifiers(mine=f"{SAMPLES}:{attribute}").names == ("mine",)


def test_a_declared_output_type_serves_where_nothing_is_annotated() -> None:
    found = verifiers(mine={"path": f"{SAMPLES}:untyped", "output_type": f"{SAMPLES}:Summary"})
    assert found.by_name["mine"].verifier.output_type.__name__ == "Summary"


def test_an_unknown_name_is_reported_with_those_that_there_are() -> None:
    config = parse_config({"verifiers": {"tone": f"{SAMPLES}:verify_summary"}})
    with pytest.raises(UnknownVerifier, match="Unknown verifier: tune; registered here: tone"):
        load_verifier(config, "tune")
    with pytest.raises(UnknownVerifier, match="registered here: none"):
        load_verifier(parse_config(None), "tone")


def test_a_package_offers_a_verifier_and_a_section_changes_it_or_switches_it_off(offering: Path) -> None:
    offer(offering, "tones", f"tone = {SAMPLES}:verify_summary", f"length = {SAMPLES}:at_least_three")
    assert verifiers().names == ("length", "tone")
    changed = verifiers(tone={"timeout_ms": 7}, length={"enabled": False})
    assert (changed.names, changed.by_name["tone"].timeout_ms) == (("tone",), 7)
    other = verifiers(tone=f"{SAMPLES}:verify_alone", house={"path": "length"})
    assert other.names == ("house", "length", "tone")
    assert other.modules == (SAMPLES,)
    assert list_enabled_verifier_names(parse_config({"verifiers": {"length": {"enabled": False}}})) == ("tone",)


def test_of_two_packages_that_offer_one_name_none_is_guessed(offering: Path) -> None:
    offer(offering / "a", "one", f"tone = {SAMPLES}:verify_summary")
    offer(offering / "b", "two", f"tone = {SAMPLES}:verify_alone")
    sys.path[:0] = [str(offering / "a"), str(offering / "b")]  # undone with the fixture's own change
    with pytest.raises(InvalidConfig, match=r"verifiers\.tone: .*several packages offer .*verify_alone, .*_summary"):
        verifiers()
    assert verifiers(tone=f"{SAMPLES}:verify_alone").names == ("tone",)


def test_names_are_known_without_importing_what_they_name() -> None:
    config = parse_config(
        {"verifiers": {"b": "nowhere.at.all:f", "a": f"{HERE}.leaving_on_import:f", "c": {"enabled": False}, "d": {}}}
    )
    assert list_enabled_verifier_names(config) == ("a", "b", "d")


@pytest.mark.parametrize(
    ("section", "path", "message"),
    [
        ("nowhere.at.all:f", "mine", "ModuleNotFoundError.*; correct the path .* or install its package"),
        (f"{SAMPLES}:absent", "mine", "AttributeError.*absent.*; correct the path"),
        (f"{HERE}.leaving_on_import:f", "mine", "SystemExit: not here"),
        ("no_entry_point", "mine", "no entry point 'no_entry_point' in the group aex.verifiers"),
        ({}, "mine", "no entry point 'mine' in the group aex.verifiers; correct the path"),
        (f"{SAMPLES}:", "mine", "cannot be loaded"),
        (":f", "mine", "cannot be loaded"),
        (f"{SAMPLES}:NO_FUNCTION", "mine", "cannot be called"),
        (f"{SAMPLES}:Summary", "mine", "is the class Summary"),
        (f"{SAMPLES}:untyped", "mine", "'output' has no annotation"),
        (f"{SAMPLES}:unserved", "mine", "The verifier's parameter 'database' has no value"),
        (f"{SAMPLES}:unresolved", "mine", "'Nowhere' .* cannot be resolved"),
        ({"path": f"{SAMPLES}:untyped", "output_type": f"{SAMPLES}:None_"}, "mine.output_type", "None_"),
        ({"path": f"{SAMPLES}:untyped", "output_type": f"{SAMPLES}:NO_FUNCTION"}, "mine", "no type that pydantic can"),
        ({"path": f"{SAMPLES}:verify_summary", "output_type": f"{SAMPLES}:Threshold"}, "mine", "output_type"),
    ],
)
def test_what_cannot_be_a_verifier_is_named_with_its_section_and_the_fix(section: Any, path: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message) as refused:
        verifiers(mine=section)
    [(place, problem)] = refused.value.problems
    assert place == f"verifiers.{path}"
    assert "\n" not in problem


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    with pytest.raises(InvalidConfig) as refused:
        verifiers(one="nowhere.one:f", two=f"{SAMPLES}:verify_summary", three="nowhere.three:f")
    assert [place for place, _ in refused.value.problems] == ["verifiers.one", "verifiers.three"]


def test_one_verifier_is_loaded_whatever_is_wrong_with_others() -> None:
    config = parse_config({"verifiers": {"one": "nowhere.one:f", "two": f"{SAMPLES}:verify_summary"}})
    assert load_verifier(config, "two").timeout_ms == 30_000
