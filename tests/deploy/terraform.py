"""The Terraform configuration: its resources, and its locals as the real `terraform` evaluates them."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import hcl2

from tests.parts.settings_table import SERVICES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "terraform"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.tf"))}
TERRAFORM = shutil.which("terraform")
PROJECT_NUMBER = "123456789012"
DIGEST = "@sha256:" + "0" * 64
VALUES: Mapping[str, Any] = {
    "project_id": "my-project",
    "region": "europe-west1",
    "images": {service: f"registry.example/aex/{service}{DIGEST}" for service in SERVICES},
}
"""The variables that have no default."""
_GOOGLE_ATTRIBUTES = {
    "data.google_project.this.number": f'"{PROJECT_NUMBER}"',
    "google_service_account.service[service].email": (
        '"${var.name}-${service}@${var.project_id}.iam.gserviceaccount.com"'
    ),
}
"""Attributes that only Google's provider knows, and the values that it returns."""


class TerraformError(Exception):
    """A refusal by Terraform, with its message in one line."""


@cache
def load_resources() -> dict[str, Mapping[str, Any]]:
    """Return each resource's body by address, as python-hcl2 parses it."""
    return {
        f"{kind}.{name}".replace('"', ""): body
        for text in TEXTS.values()
        for resource in hcl2.loads(text).get("resource", [])
        for kind, named in resource.items()
        for name, body in named.items()
    }


def list_locals() -> list[str]:
    """Return the names of all locals."""
    found = (each for text in TEXTS.values() for each in hcl2.loads(text).get("locals", []))
    return sorted(name for each in found for name in each if not name.startswith("__"))


def evaluate(folder: Path, expression: str, values: Mapping[str, Any], example: str = "") -> Any:
    """Return an expression's value by `terraform plan` on variables and locals, which need no provider.

    Raises `TerraformError` when Terraform refuses the values. `example`: a file of further values.
    """
    module = folder / "deploy" / "terraform"
    module.mkdir(parents=True)
    for name in ("pubsub.json", "firestore.indexes.json", "alarms.json"):
        shutil.copy(ROOT / "deploy" / name, folder / "deploy" / name)
    text = "\n\n".join(
        re.findall(r"^(?:variable|locals)\b.*?^\}$", "\n".join(TEXTS.values()), re.MULTILINE | re.DOTALL)
    )
    for attribute, value in _GOOGLE_ATTRIBUTES.items():
        text = text.replace(attribute, value)
    (module / "main.tf").write_text(f'{text}\n\noutput "result" {{\n  value = {expression}\n}}\n')
    (module / "example.auto.tfvars").write_text(example)
    (module / "values.auto.tfvars.json").write_text(json.dumps(values))
    run_terraform(module, "init", "-input=false", "-no-color")
    run_terraform(module, "plan", "-input=false", "-no-color", "-lock=false", "-out=plan")
    plan = json.loads(run_terraform(module, "show", "-json", "plan"))
    return plan["planned_values"]["outputs"]["result"]["value"]


def run_terraform(folder: Path, *arguments: str) -> str:
    """Return the output of a Terraform command. Raises `TerraformError` when it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "TF_CLI_CONFIG_FILE"}
    done = subprocess.run(
        [str(TERRAFORM), *arguments],
        cwd=folder,
        env={**environment, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        raise TerraformError(" ".join((done.stdout + done.stderr).replace("│", " ").split()))
    return done.stdout
