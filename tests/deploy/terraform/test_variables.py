"""What cannot work is refused before anything is made."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.terraform.configuration import DIGEST, FOLDER, SERVICES, TERRAFORM, VALUES, Refused, evaluate

pytestmark = pytest.mark.skipif(TERRAFORM is None, reason="terraform is not on the PATH")
IMAGES = VALUES["images"]


@pytest.mark.parametrize(
    ("values", "words"),
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
def test_a_value_that_cannot_work_is_refused(tmp_path: Path, values: Mapping[str, Any], words: str) -> None:
    with pytest.raises(Refused) as refused:
        evaluate(tmp_path, "local.sizes", {**VALUES, **values})
    assert words in str(refused.value).replace(" │ ", " ")


def test_sizes_and_settings_change_what_they_name_and_nothing_else(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("{}")
    values = {
        **VALUES,
        "sizes": {"verification": {"cpu": "8", "memory": "32Gi"}},
        "settings": {"every": {"AEX_FEE_RATE": "0.02"}, "verification": {"AEX_EVENTS_LIFETIME_S": "1200"}},
        "rules_config_file": str(rules),
        "review_api_key": {"secret": "review", "version": "3"},
    }
    places = {"sizes": "sizes", "told": "environment", "secret": "secret_environment", "ends": "events_lifetime_s"}
    asked = "{" + ", ".join(f"{name} = local.{place}" for name, place in places.items()) + "}"
    found = evaluate(tmp_path, asked, values)
    assert found["sizes"]["verification"] == {
        "cpu": "8",
        "memory": "32Gi",
        "min_instances": 1,
        "max_instances": 20,
        "concurrency": 800,
    }
    assert found["sizes"]["settlement"]["cpu"] == "1"
    assert {service: own["AEX_FEE_RATE"] for service, own in found["told"].items()} == dict.fromkeys(SERVICES, "0.02")
    assert [service for service, own in found["told"].items() if "AEX_RULES_CONFIG" in own] == ["governance"]
    assert found["told"]["governance"]["AEX_RULES_CONFIG"] == "/etc/aex/rules/rules.yaml"
    assert {service for service, own in found["secret"].items() if own} == {"verification"}
    assert found["ends"] == 1200


def test_the_example_of_values_is_taken(tmp_path: Path) -> None:
    example = (FOLDER / "terraform.tfvars.example").read_text(encoding="utf-8")
    module = tmp_path / "deploy" / "terraform"
    assert evaluate(tmp_path, "local.sizes", {}, example=example)["settlement"]["cpu"] == "1"
    assert (module / "example.auto.tfvars").read_text(encoding="utf-8") == example
    everything = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and ("=" in line or line[2:3] in {" ", "}"}) else line
        for line in example.splitlines()
    )
    found = evaluate(tmp_path / "all", "local.environment", {}, example=everything)
    assert found["verification"]["AEX_WORKERS"] == "4"
    assert "login.example" in found["settlement"]["AEX_ISSUERS"]
