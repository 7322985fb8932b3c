"""The Terraform configuration as its files have it, and what Terraform itself makes of its expressions.

Google's provider is needed for none of it: what is evaluated are variables and locals, which ask nobody.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import hcl2

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "terraform"
TERRAFORM = shutil.which("terraform")
PROJECT_NUMBER = "123456789012"
TOLD_BY_GOOGLE = {
    "data.google_project.this.number": f'"{PROJECT_NUMBER}"',
    "google_service_account.service[service].email": (
        '"${var.name}-${service}@${var.project_id}.iam.gserviceaccount.com"'
    ),
}
"""What expressions ask Google's provider for → what Google would say."""
DIGEST = "@sha256:" + "0" * 64
SERVICES = ("governance", "settlement", "verification", "work-publisher")
VALUES: Mapping[str, Any] = {
    "project_id": "my-project",
    "region": "europe-west1",
    "images": {service: f"registry.example/aex/{service}{DIGEST}" for service in SERVICES},
}
"""The variables that have no default."""
_EVALUATED = {"variable", "locals"}
_HEAD = re.compile(r"^([a-z]+)\b[^\n]*\{[ \t]*$", re.MULTILINE)
_ENDS = re.compile(r"^\}[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block: `resource "google_pubsub_topic" "this"` has the labels (`google_pubsub_topic`, `this`)."""

    kind: str
    labels: tuple[str, ...]
    body: Mapping[str, Any]
    """As python-hcl2 has it: expressions as `${…}`, texts in their quotes."""
    file: str

    @property
    def address(self) -> str:
        """By what others refer to it."""
        name = ".".join(self.labels)
        return {"resource": name, "variable": f"var.{name}"}.get(self.kind, f"{self.kind}.{name}")


@dataclass(frozen=True, slots=True)
class Configuration:
    """All files of a folder."""

    texts: Mapping[str, str]
    blocks: tuple[Block, ...] = field(default=())

    def of(self, kind: str) -> list[Block]:
        """The blocks of a kind."""
        return [block for block in self.blocks if block.kind == kind]


def texts(folder: Path = FOLDER) -> dict[str, str]:
    """The files, by their names."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.tf"))}


def read(files: Mapping[str, str]) -> Configuration:
    """The blocks of these files. Raises what python-hcl2 raises for what is no HCL."""
    return Configuration(files, tuple(block for name, text in files.items() for block in _parsed(name, text)))


@cache
def _parsed(file: str, text: str) -> tuple[Block, ...]:
    return tuple(_blocks(file, text))


def _blocks(file: str, text: str) -> Iterator[Block]:
    for kind, bodies in hcl2.loads(text).items():
        for body in bodies if not kind.startswith("__") else []:
            labels: tuple[str, ...] = ()
            while "__is_block__" not in body:
                ((label, body),) = body.items()  # noqa: PLW2901 one label after the other
                labels += (label.strip('"'),)
            yield Block(kind, labels, body, file)


def without_providers(files: Mapping[str, str]) -> str:
    """Variables and locals alone, and what they ask Google for written in: Terraform evaluates that by itself."""
    kept = [block for text in files.values() for block in _top_level(text) if block[0] in _EVALUATED]
    text = "\n\n".join(text for _, text in kept)
    for asked, told in TOLD_BY_GOOGLE.items():
        text = text.replace(asked, told)
    return text


def _top_level(text: str) -> Iterator[tuple[str, str]]:
    """Each block's kind and text. `terraform fmt` puts the brace that ends one alone at the beginning of a line."""
    place = 0
    while (head := _HEAD.search(text, place)) is not None:
        ends = _ENDS.search(text, head.end())
        if ends is None:
            raise ValueError(f"a block without its end: {head.group()}")
        yield head.group(1), text[head.start() : ends.end()]
        place = ends.end()


class Refused(Exception):
    """Terraform does not take these values; its words."""


def evaluate(folder: Path, expression: str, values: Mapping[str, Any], example: str = "") -> Any:
    """What an expression comes to with these values of variables, and with those of a file of values. Raises `Refused`.

    The locals read files of the repository by a path that begins at the module's: below `folder` it is laid out alike.
    """
    module = folder / "deploy" / "terraform"
    module.mkdir(parents=True)
    for name in ("pubsub.json", "firestore.indexes.json", "alarms.json"):
        shutil.copy(ROOT / "deploy" / name, folder / "deploy" / name)
    output = f'\n\noutput "asked" {{\n  value = {expression}\n}}\n'
    (module / "main.tf").write_text(without_providers(texts()) + output)
    (module / "example.auto.tfvars").write_text(example)
    (module / "values.auto.tfvars.json").write_text(json.dumps(values))
    _run(module, "init", "-input=false", "-no-color")
    _run(module, "plan", "-input=false", "-no-color", "-lock=false", "-out=plan")
    plan = json.loads(_run(module, "show", "-json", "plan"))
    return plan["planned_values"]["outputs"]["asked"]["value"]


def _run(folder: Path, *arguments: str) -> str:
    assert TERRAFORM is not None
    environment = {**os.environ, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    environment.pop("TF_CLI_CONFIG_FILE", None)
    ended = subprocess.run(
        [TERRAFORM, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    if ended.returncode:
        raise Refused(" ".join(ended.stderr.split()))
    return ended.stdout
