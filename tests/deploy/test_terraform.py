"""Terraform's own checks of the configuration, and the values of variables that it refuses."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.terraform import DIGEST, FOLDER, ROOT, TERRAFORM, VALUES, TerraformError, evaluate, run_terraform
from tests.parts.settings_table import SERVICES

pytestmark = pytest.mark.skipif(TERRAFORM is None, reason="terraform is not on the PATH")
IMAGES = VALUES["images"]


def test_files_are_formatted() -> None:
    assert run_terraform(FOLDER, "fmt", "-check", "-recursive", "-list=true") == ""


def test_configuration_is_valid_for_its_providers(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy", ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*"))
    folder = tmp_path / "deploy" / "terraform"
    try:
        run_terraform(folder, "init", "-backend=false", "-input=false", "-no-color")
    except TerraformError as error:
        if "could not connect to registry.terraform.io" not in str(error):
            raise
        pytest.skip("registry.terraform.io, which has the providers, cannot be reached")
    run_terraform(folder, "validate", "-no-color")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"project_id": "Project"}, "A project's id"),
        ({"region": "Frankfurt"}, "europe-west1"),
        ({"name": "a-name-too-long"}, "2 to 10"),
        ({"images": {**IMAGES, "settlement": "registry.example/aex/settlement:latest"}}, "a tag can be moved"),
        ({"images": {**IMAGES, "settlements": f"x{DIGEST}"}}, "Name one image"),
        ({"sizes": {"ledger": {}}}, "Sizes are of"),
        ({"sizes": {"settlement": {"min_instances": 0}}}, "At least one instance"),
        ({"settings": {"ledger": {}}}, "Settings are of"),
        ({"settings": {"every": {"AEX_FEE_RATES": "0"}}}, "no such setting"),
        ({"settings": {"settlement": {"AEX_WORKERS": "2"}}}, "no such setting"),
        ({"settings": {"verification": {"AEX_STORE_URL": "memory:"}}}, "no such setting"),
        ({"settings": {"verification": {"AEX_EVENTS_LIFETIME_S": "3600"}}}, "after an hour"),
        ({"rules_config_file": "missing.yaml"}, "no such file"),
        ({"signing_key_version": 0}, "1, 2, 3"),
        ({"service_tokens": "github"}, "by google, or local"),
        ({"traces_ratio": 1.5}, "from 0 to 1"),
        ({"notification_channels": {"soon": []}}, "now, today and look"),
        ({"guide_url": "http://guide.example"}, "https URL"),
        ({"backup_retention_days": 99}, "1 to 98 days"),
    ],
)
def test_invalid_value_is_refused(tmp_path: Path, values: Mapping[str, Any], message: str) -> None:
    with pytest.raises(TerraformError) as refused:
        evaluate(tmp_path, "local.sizes", {**VALUES, **values})
    assert message in str(refused.value)


def test_sizes_settings_files_and_secrets_change_only_what_they_name(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("{}")
    values = {
        **VALUES,
        "sizes": {"verification": {"cpu": "8", "memory": "32Gi"}},
        "settings": {"every": {"AEX_FEE_RATE": "0.02"}, "verification": {"AEX_EVENTS_LIFETIME_S": "1200"}},
        "rules_config_file": str(rules),
        "review_api_key": {"secret": "review", "version": "3"},
    }
    names = ("sizes", "environment", "secret_environment", "events_lifetime_s")
    found = evaluate(tmp_path, "{" + ", ".join(f"{name} = local.{name}" for name in names) + "}", values)
    size = {"cpu": "8", "memory": "32Gi", "min_instances": 1, "max_instances": 20, "concurrency": 800}
    assert (found["sizes"]["verification"], found["sizes"]["settlement"]["cpu"]) == (size, "1")
    environment = found["environment"]
    assert {service: own["AEX_FEE_RATE"] for service, own in environment.items()} == dict.fromkeys(SERVICES, "0.02")
    assert [service for service, own in environment.items() if "AEX_RULES_CONFIG" in own] == ["governance"]
    assert environment["governance"]["AEX_RULES_CONFIG"] == "/etc/aex/rules/rules.yaml"
    assert {service for service, own in found["secret_environment"].items() if own} == {"verification"}
    assert found["events_lifetime_s"] == 1200


def test_example_of_values_is_accepted_as_it_is_and_uncommented(tmp_path: Path) -> None:
    example = (FOLDER / "terraform.tfvars.example").read_text(encoding="utf-8")
    assert evaluate(tmp_path / "plain", "local.sizes", {}, example=example)["settlement"]["cpu"] == "1"
    uncommented = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and ("=" in line or line[2:3] in {" ", "}"}) else line
        for line in example.splitlines()
    )
    found = evaluate(tmp_path / "all", "local.environment", {}, example=uncommented)
    assert found["verification"]["AEX_WORKERS"] == "4"
    assert "login.example" in found["settlement"]["AEX_ISSUERS"]
