import subprocess
import sys

import pytest

import aex_outcomes

ORACLES = {"numpy", "sklearn", "scipy", "nltk", "rouge_score", "sacrebleu", "jsonschema", "pytrec_eval"}
HEAVY = {*ORACLES, "pydantic", "duckdb", "rapidfuzz", "re2", "jsonschema_rs", "yaml"}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after running the code."""
    feedback = f"import sys\n{code}\nprint(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    answer = subprocess.run([sys.executable, "-c", feedback], capture_output=True, text=True, check=True, timeout=60)
    return set(answer.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not HEAVY & loaded_by("import aex_outcomes")


def test_checking_submissions_loads_no_metric_library_until_one_is_needed() -> None:
    code = "import aex_outcomes.submission\nfrom aex_outcomes import Catalog\nCatalog.of()"
    assert not (HEAVY - {"pydantic"}) & loaded_by(code)


def test_production_never_loads_the_reference_libraries() -> None:
    code = """
from aex_outcomes.engine.job import verify_candidate
names = ["rouge1", "rouge2", "rougeL"]
verify_candidate({
    "contract_id": "c", "work_input": {}, "config": None, "execution_metadata": {}, "platform_latency_ms": None,
    "output": {"text": "a b c d", "predictions": ["a"], "records": [{"a": "b"}], "ranking": ["a"]},
    "evaluation": {
        "reference": "a b c", "ground_truth": ["a"], "pattern": "a", "output_schema": {"type": "object"},
        "records": {"items": [{"a": "c"}], "fields": {"/a": {"fuzzy": 0.5}}}, "ranking": {"relevance": {"a": 1}},
    },
    "success_criteria": {"criteria": [
        *({"metric": n, "metric_type": "rouge_score", "comparison": "gte", "threshold": 0} for n in names),
        {"metric": "bleu_score", "metric_type": "bleu_score", "comparison": "gte", "threshold": 0},
        {"metric": "accuracy", "metric_type": "accuracy", "comparison": "gte", "threshold": 0},
        {"metric": "field_f1", "metric_type": "f1_score", "comparison": "gte", "threshold": 0},
        {"metric": "mrr", "metric_type": "numeric", "comparison": "gte", "threshold": 0},
        {"metric": "matches_pattern", "metric_type": "boolean", "comparison": "eq", "threshold": True},
        {"metric": "matches_schema", "metric_type": "boolean", "comparison": "eq", "threshold": True},
    ]},
})"""
    loaded = loaded_by(code)
    assert "rapidfuzz" in loaded
    assert not ({*ORACLES, "duckdb"} - {"numpy"}) & loaded


def test_every_public_name_is_there() -> None:
    for name in aex_outcomes.__all__:
        assert getattr(aex_outcomes, name).__name__ == name
        assert name in dir(aex_outcomes)


def test_a_name_stays_what_it_is_once_its_module_is_loaded() -> None:
    import aex_outcomes.linter  # noqa: PLC0415
    import aex_outcomes.price_quote  # noqa: PLC0415

    assert callable(aex_outcomes.lint)
    assert callable(aex_outcomes.quote)


def test_another_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="nope"):
        _ = aex_outcomes.nope


NEEDS = {"VerificationEngine": "rapidfuzz", "recompute": "duckdb"}


def without_measuring(code: str) -> "subprocess.CompletedProcess[str]":
    """Code run where the packages of the extra `measuring` cannot be imported."""
    hidden = "import sys\nfor name in ('duckdb', 'rapidfuzz', 'pydantic_monty'): sys.modules[name] = None\n"
    return subprocess.run(
        [sys.executable, "-c", hidden + code], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(("name", "package"), NEEDS.items())
def test_what_measures_names_the_extra_that_it_needs(name: str, package: str) -> None:
    ended = without_measuring(f"from aex_outcomes import {name}")
    feedback = f"ImportError: {name} needs {package}: pip install 'aex-outcomes[measuring]'"
    assert ended.stderr.splitlines()[-1] == feedback


def test_everything_else_is_there_without_the_extra() -> None:
    names = sorted(set(aex_outcomes.__all__) - {*NEEDS, "CriteriaVerifier", "Recomputation"})
    ended = without_measuring(f"from aex_outcomes import {', '.join(names)}\nCatalog.of()\nimport aex_client")
    assert ended.returncode == 0, ended.stderr


def test_an_import_error_of_the_package_itself_is_raised() -> None:
    ended = without_measuring("sys.modules['structlog'] = None\nfrom aex_outcomes import RevisionLoop")
    assert "No module named 'structlog'" in ended.stderr or "None in sys.modules" in ended.stderr
    assert "measuring" not in ended.stderr.splitlines()[-1]
