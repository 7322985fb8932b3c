"""The files are as `terraform fmt` leaves them, name only what is there, and give each resource what it takes."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.deploy.terraform.arguments import PREFIXES, SCHEMAS, problems
from tests.deploy.terraform.configuration import FOLDER, TERRAFORM, Block, Configuration, read, texts
from tests.deploy.terraform.references import dangling, declared, referred, unused

COMMITTED = read(texts())
MADE = [block for block in COMMITTED.blocks if block.kind in PREFIXES]


@pytest.mark.skipif(TERRAFORM is None, reason="terraform is not on the PATH")
def test_the_files_are_formatted() -> None:
    checked = subprocess.run(
        [str(TERRAFORM), "fmt", "-check", "-recursive", "-list=true", str(FOLDER)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout) == (0, "")


def test_every_reference_leads_to_something(configuration: Configuration) -> None:
    assert len(declared(configuration)) > 60
    assert dangling(configuration) == []


def test_everything_that_is_declared_is_used(configuration: Configuration) -> None:
    assert unused(configuration) == []


@pytest.mark.parametrize("address", sorted(declared(COMMITTED) & referred(COMMITTED)))
def test_a_declaration_under_another_name_would_be_found(configuration: Configuration, address: str) -> None:
    assert address in dangling(replace(configuration, blocks=tuple(renamed(configuration.blocks, address))))


def renamed(blocks: tuple[Block, ...], address: str) -> Iterator[Block]:
    local = address.removeprefix("local.")
    for block in blocks:
        if block.kind == "locals" and local in block.body:
            yield replace(block, body={f"{name}_x" if name == local else name: own for name, own in block.body.items()})
        elif block.kind != "locals" and block.address == address:
            yield replace(block, labels=(*block.labels[:-1], f"{block.labels[-1]}_x"))
        else:
            yield block


@pytest.mark.parametrize("block", MADE, ids=lambda block: block.address)
def test_a_resource_has_the_arguments_that_its_provider_knows(block: Block) -> None:
    assert problems(block) == []


@pytest.mark.parametrize("block", MADE, ids=lambda block: block.address)
def test_an_argument_that_is_misspelt_or_forgotten_would_be_found(block: Block) -> None:
    schema = SCHEMAS[PREFIXES[block.kind] + block.labels[0]]
    names = [name for name in block.body if name in {each.removesuffix("!") for each in schema}]
    assert names
    for name in names:
        rest = {key: value for key, value in block.body.items() if key != name}
        misspelt = Block(block.kind, block.labels, {**rest, f"{name}_x": block.body[name]}, block.file)
        assert f"{block.address}: there is no {name}_x" in problems(misspelt)
        if f"{name}!" in schema:
            assert f"{block.address}: {name} is needed" in problems(misspelt)


def test_providers_are_pinned_to_what_was_checked(configuration: Configuration) -> None:
    (terraform,) = configuration.of("terraform")
    assert terraform.body["required_version"] == '">= 1.11"'
    (providers,) = terraform.body["required_providers"]
    assert {name: own["version"] for name, own in providers.items() if not name.startswith("__")} == {
        "google": '"~> 6.50"',
        "tls": '"~> 4.1"',
    }


@pytest.mark.parametrize("kind", ["variable", "output"])
def test_variables_and_outputs_say_what_they_are(configuration: Configuration, kind: str) -> None:
    assert [block.labels for block in configuration.of(kind) if "description" not in block.body] == []
