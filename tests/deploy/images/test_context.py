"""What a build is given of the repository."""

import subprocess

import pytest

from tests.deploy.images.context import is_let_in, patterns
from tests.libs.cli.suites import ROOT


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "uv.lock",
        "libs/aex-models/pyproject.toml",
        "libs/aex-models/README.md",
        "services/settlement/src/aex_settlement/dashboard/static/vendor/uplot-1.6.32.min.js",
        "libs/aex-outcomes/src/aex_outcomes/science/domains/bioinformatics-dms.yaml",
    ],
)
def test_packages_with_all_that_belongs_to_them_are_let_in(path: str) -> None:
    assert (ROOT / path).exists()
    assert is_let_in(path, patterns())


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".git/config",
        ".aex/keys/local-issuer.pem",
        ".venv/bin/python",
        "deploy/terraform/terraform.tfstate",
        "services/verification/.env",
        "services/verification/Dockerfile",
        "services/verification/key.pem",
        "services/verification/.aex/keys/local-issuer.pem",
        "libs/aex-models/src/aex_models/__pycache__/money.cpython-311.pyc",
        "libs/aex-models/src/aex_models/money.pyc",
        "tests/conftest.py",
    ],
)
def test_keys_data_environments_and_tests_are_not(path: str) -> None:
    assert not is_let_in(path, patterns())


def test_everything_that_a_package_has_is_let_in_but_what_builds_its_image() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "libs", "services"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kept_out = [path for path in listed.stdout.splitlines() if not is_let_in(path, patterns())]
    assert {path.rpartition("/")[2] for path in kept_out} <= {"Dockerfile"}


def test_the_last_pattern_that_matches_decides() -> None:
    rules = ["*", "!kept", "**/*.py[cod]"]
    assert is_let_in("kept/deep/module.py", rules)
    assert not is_let_in("kept/deep/module.pyc", rules)
    assert not is_let_in("dropped/module.py", rules)
    assert is_let_in("anything", ["*.md"])
    assert not is_let_in("top.md", ["*.md"])
    assert is_let_in("below/top.md", ["*.md"]), "one star stays in its folder"
