import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aex_cli.offline.documents import InputDocument, read_document
from aex_cli.offline.linting import lint_files
from aex_models.money import parse_amount
from aex_models.numbers import format_as_written
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig, parse_config
from aex_runtime.commandline import UserError
from tests.fuzz.effort import effort, soon
from tests.fuzz.submissions import CATALOG, SUBMISSIONS, SUCCESS_CRITERIA
from tests.fuzz.values import JSON, mutated

_SIGNS = ["\n", "  ", "- ", ": ", "[", "]", "{", "}", "&a ", "*a", "!!python/name:os.system ", "'", '"', "|\n", "? "]
_TRAPS = ["#", "---\n", "...\n", "\t", "\0", "\\x", "é", "\ufeff", "%YAML 1.1\n", "<<: ", "1e999", "9" * 401, "\u2028"]
PIECES = st.sampled_from([*_SIGNS, *_TRAPS])
UNTRIED = {"reference", "custom_metrics"}
"""Evaluation data that `aex lint` tries out in a process of its own, which is not looked at here."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def read(folder: Path, name: str, text: str) -> Any:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        return soon(read_document, "--work", str(path)).value
    except UserError as refused:
        assert str(path) in str(refused)  # noqa: PT017 either of the two may happen
        return refused


@st.composite
def damaged_yaml(draw: st.DrawFn) -> str:
    text: str = yaml.safe_dump(draw(SUBMISSIONS), allow_unicode=True, default_flow_style=draw(st.booleans()))
    for _ in range(draw(st.integers(1, 3))):
        pointer, length = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        text = text[:pointer] + draw(PIECES | st.text(max_size=3)) + text[pointer + length :]
    return text


@effort()
@given(damaged_yaml() | st.lists(PIECES, max_size=10).map("".join))
def test_damaged_file_is_read_or_refused_by_name(folder: Path, text: str) -> None:
    value = read(folder, "work.yaml", text)
    if not isinstance(value, UserError):
        json.dumps(value, allow_nan=False).encode()


@effort()
@given(st.from_regex(r"\A[-+]?(0|[1-9][0-9]{0,12})?\.?[0-9]{0,9}([eE][-+]?[0-9]{1,2})?\Z"))
def test_number_is_equal_in_yaml_and_json(folder: Path, text: str) -> None:
    in_json, in_yaml = read(folder, "n.json", f'{{"n": {text}}}'), read(folder, "n.yaml", f"n: {text}")
    if isinstance(in_json, UserError):
        return  # YAML has texts where JSON has nothing
    assert in_yaml == in_json
    assert format_as_written(in_yaml["n"]) == format_as_written(in_json["n"])
    assert amount(in_yaml["n"]) == amount(in_json["n"])


def amount(value: Any) -> Any:
    try:
        return parse_amount(value)
    except ValueError as refused:
        return str(refused)


def without_trials(body: Any) -> Any:
    given_as = body.get("evaluation") if isinstance(body, dict) else None
    if not isinstance(given_as, dict):
        return body
    return {**body, "evaluation": {name: each for name, each in given_as.items() if name not in UNTRIED}}


@effort()
@given(mutated(SUBMISSIONS.map(without_trials)) | mutated(SUCCESS_CRITERIA), st.booleans())
def test_altered_file_is_linted_or_refused_by_name(body: Any, configured: bool) -> None:
    document = InputDocument("work.yaml", without_trials(body))
    try:
        linted = soon(lint_files, document, None, CATALOG, only_known_verifiers=configured)
    except UserError as refused:
        assert "work.yaml" in str(refused)  # noqa: PT017 either of the two may happen
        return
    assert linted.validation.valid is not bool(linted.validation.problems)
    for problem in linted.validation.problems:
        assert "work.yaml" in linted.sources.prefix_with_location(problem.path, problem.message)


CONFIG: dict[str, Any] = {
    "extractors": {
        "latency": {"enabled": True},
        "text_quality": {"class": "TextQualityExtractor", "config": {"rouge_types": ["rougeL"]}},
        "custom": {"sandbox": {"timeout_ms": 5_000, "memory_limit_mb": 256}},
    },
    "verifiers": {"style": "package.module:function", "tone": {"path": "a.b:c", "timeout_ms": 100}},
    "verification": {"governance_check": True, "store_outcomes": True, "max_criteria_per_task": 10},
    "caching": {"extractor_results_ttl": 300},
}


@effort()
@given(mutated(st.just(CONFIG)) | JSON)
def test_altered_configuration_is_used_or_refused_with_its_key(raw: Any) -> None:
    try:
        config = soon(parse_config, raw)
        soon(Catalog.of, config)
    except InvalidConfig as refused:
        assert all(said for _, said in [*refused.problems, ("", str(refused))])  # noqa: PT017 either may happen
        return
    assert parse_config(json.loads(json.dumps(config.as_json()))) == config
