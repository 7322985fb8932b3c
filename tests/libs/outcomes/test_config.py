from pathlib import Path
from typing import Any

import pytest

from aex_outcomes.config import InvalidConfig, OutcomeConfig, VerifierConfig, load_config, parse_config


@pytest.mark.parametrize("raw", [None, {}, {"extractors": {}}])
def test_an_empty_file_is_all_defaults(raw: Any) -> None:
    config = parse_config(raw)
    assert config == OutcomeConfig() == load_config(None)
    assert config.verification.max_criteria_per_task == 10
    assert config.caching.extractor_results_ttl == 300
    assert set(config.extractor_sections()) >= {"latency", "text_quality", "classification", "contains", "custom"}


def test_every_key_of_the_specification_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "outcome-verification.yaml"
    path.write_text(
        """
        extractors:
          latency: {enabled: false}
          text_quality: {enabled: true, class: TextQualityExtractor, config: {rouge_types: [rouge1]}}
          custom: {sandbox: {timeout_ms: 100, memory_limit_mb: 64}}
          mine: {class: "package.module:Class", config: {a: 1}}
        verifiers:
          summary_check: my_package.verifiers:verify_summary
          other: {path: "pkg.mod:fn", output_type: "pkg.mod:Model", enabled: false, timeout_ms: 2000}
          offered: {}
        verification: {governance_check: false, store_outcomes: false, max_criteria_per_task: 20}
        caching: {extractor_results_ttl: 0}
        """
    )
    config = load_config(path)
    assert not config.extractor_sections()["latency"].enabled
    assert config.extractor_sections()["custom"].sandbox.timeout_ms == 100
    assert config.extractor_sections()["mine"].class_ == "package.module:Class"
    assert config.verification.max_criteria_per_task == 20
    assert config.verifiers["summary_check"] == VerifierConfig(path="my_package.verifiers:verify_summary")
    assert config.verifiers["summary_check"].timeout_ms == 30_000
    other = config.verifiers["other"]
    assert (other.path, other.output_type, other.enabled, other.timeout_ms) == (
        "pkg.mod:fn", "pkg.mod:Model", False, 2000,
    )  # fmt: skip
    assert config.verifiers["offered"] == VerifierConfig()
    assert parse_config(config.as_json()) == config


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"colour": 1}, "colour"),
        ({"extractors": {"latency": {"colour": 1}}}, "extractors.latency.colour"),
        ({"extractors": {"custom": {"sandbox": {"colour": 1}}}}, "extractors.custom.sandbox.colour"),
        ({"extractors": {"custom": {"sandbox": {"timeout_ms": 0}}}}, "extractors.custom.sandbox.timeout_ms"),
        ({"extractors": {"mine": {}}}, "extractors.mine.class"),
        ({"verification": {"governance_check": "no"}}, "verification.governance_check"),
        ({"verification": {"max_criteria_per_task": 101}}, "verification.max_criteria_per_task"),
        ({"verifiers": {"mine": {"colour": 1}}}, "verifiers.mine.colour"),
        ({"verifiers": {"mine": {"timeout_ms": 0}}}, "verifiers.mine.timeout_ms"),
        ({"verifiers": {"mine": {"timeout_ms": "100"}}}, "verifiers.mine.timeout_ms"),
        ({"verifiers": {"mine": {"enabled": "yes"}}}, "verifiers.mine.enabled"),
        ({"verifiers": {"mine": {"path": 1}}}, "verifiers.mine.path"),
        ({"verifiers": {"mine": ""}}, "verifiers.mine.path"),
        ({"verifiers": {"mine": None}}, "verifiers.mine"),
        ({"verifiers": {"mine": ["pkg.mod:fn"]}}, "verifiers.mine"),
        ({"verifiers": {"a name": "pkg.mod:fn"}}, "verifiers.a name"),
        ({"verifiers": {1: "pkg.mod:fn"}}, "verifiers.1"),
        ({"verifiers": ["pkg.mod:fn"]}, "verifiers"),
        ({"caching": {"extractor_results_ttl": -1}}, "caching.extractor_results_ttl"),
        ({"extractors": []}, "extractors"),
        ([], ""),
    ],
)
def test_a_bad_key_is_named_with_its_path(raw: Any, path: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        parse_config(raw)
    assert refused.value.problems[0][0] == path
    assert path in str(refused.value)


def test_all_bad_keys_are_named_at_once() -> None:
    with pytest.raises(InvalidConfig) as refused:
        parse_config({"a": 1, "caching": {"b": 2}, "verification": {"c": 3}})
    assert {path for path, _ in refused.value.problems} == {"a", "caching.b", "verification.c"}


def test_what_is_no_yaml_is_refused_with_the_file_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("a: [")
    with pytest.raises(InvalidConfig, match=r"broken\.yaml"):
        load_config(path)


def test_workers_that_read_data_have_more_time_and_memory_unless_it_is_set() -> None:
    assert parse_config({}).extractor_sections()["statistics"].sandbox.memory_limit_mb == 1_024
    assert (
        parse_config({"extractors": {"statistics": {"enabled": True}}})
        .extractor_sections()["statistics"]
        .sandbox.timeout_ms
        == 120_000
    )
    chosen = {"extractors": {"statistics": {"sandbox": {"memory_limit_mb": 512}}}}
    sandbox = parse_config(chosen).extractor_sections()["statistics"].sandbox
    assert (sandbox.memory_limit_mb, sandbox.timeout_ms) == (512, 120_000)


def test_too_little_memory_to_read_data_is_refused_with_what_is_enough() -> None:
    for memory_mb in (16, 255):
        with pytest.raises(InvalidConfig, match=r"statistics\.sandbox\.memory_limit_mb: at least 256"):
            parse_config({"extractors": {"statistics": {"sandbox": {"memory_limit_mb": memory_mb}}}})
    parse_config({"extractors": {"statistics": {"sandbox": {"memory_limit_mb": 256}}}})
    parse_config({"extractors": {"custom": {"sandbox": {"memory_limit_mb": 64}}}})
