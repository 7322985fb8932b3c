"""What counts as an import, and what as needed: on packages made for it."""

from pathlib import Path

import pytest

from tests.deploy.images.distributions import Installed
from tests.deploy.images.needs import missing, superfluous
from tests.deploy.images.reached import reached_from


def distribution(packages: Path, name: str, *needs: str, modules: dict[str, str]) -> None:
    """Put a distribution into a folder of packages."""
    record = []
    for path, text in modules.items():
        (packages / path).parent.mkdir(parents=True, exist_ok=True)
        (packages / path).write_text(text)
        record.append(f"{path},,")
    told = packages / f"{name.replace('-', '_')}-1.0.dist-info"
    told.mkdir()
    required = "".join(f"Requires-Dist: {need}\n" for need in needs)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{required}")
    (told / "RECORD").write_text("\n".join(record))


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    sample = {
        "aex_sample/__init__.py": "",
        "aex_sample/__main__.py": "serve('aex_sample.main:create_app')",
        "aex_sample/main.py": (
            "from typing import TYPE_CHECKING\n"
            "import json, eager\n"
            "if TYPE_CHECKING:\n    import for_types\nelse:\n    import at_runtime\n"
            "def late() -> None:\n    from space.lazy import thing\n"
            "    import_module(f'aex_sample.plugins.{name}')\n"
        ),
        "aex_sample/plugins/__init__.py": "",
        "aex_sample/plugins/one.py": "import plugged",
        "aex_sample/orphan.py": "import unwanted",
    }
    distribution(tmp_path, "aex-sample", "eager", "unwanted", modules=sample)
    distribution(
        tmp_path, "eager", "below>=1", "old; python_version < '3'", "x; extra == 'more'", modules={"eager.py": ""}
    )
    distribution(tmp_path, "below", modules={"below/__init__.py": ""})
    distribution(tmp_path, "space-lazy", modules={"space/lazy/__init__.py": ""})
    distribution(tmp_path, "plugged", modules={"plugged.cpython-311-x86_64-linux-gnu.so": ""})
    distribution(tmp_path, "at-runtime", modules={"at_runtime.py": ""})
    return tmp_path


ENTRIES = ("aex_sample.__main__",)


def test_imports_count_wherever_they_stand_and_so_do_modules_that_are_named(packages: Path) -> None:
    found = reached_from(packages, ENTRIES)
    assert found.own == {
        "aex_sample", "aex_sample.__main__", "aex_sample.main", "aex_sample.plugins", "aex_sample.plugins.one",
    }  # fmt: skip
    assert {"eager", "space.lazy", "plugged", "at_runtime"} <= set(found.others)
    assert not {"for_types", "unwanted", "json"} & set(found.others)
    assert found.others["plugged"] == "aex_sample.plugins.one"


def test_what_is_imported_is_needed_with_all_that_it_needs(packages: Path) -> None:
    installed = Installed(packages)
    assert installed.owner("space.lazy.thing") == "space-lazy"
    assert installed.owner("space") is None
    assert installed.needed_by({"eager"}, {}) == {"eager", "below"}
    assert superfluous(packages, ENTRIES) == set()


@pytest.mark.parametrize("name", ["unwanted", "x", "for-types"])
def test_what_nothing_reached_imports_is_superfluous_though_it_is_declared(packages: Path, name: str) -> None:
    distribution(packages, name, modules={f"{name.replace('-', '_')}.py": ""})
    assert superfluous(packages, ENTRIES) == {name}


def test_an_extra_of_somebody_elses_brings_what_it_stands_for(packages: Path) -> None:
    distribution(packages, "plugged-too", "eager[more]", modules={"plugged_too.py": ""})
    distribution(packages, "x", modules={"x.py": ""})
    assert Installed(packages).needed_by({"plugged-too"}, {}) == {"plugged-too", "eager", "below", "x"}


def test_what_is_imported_and_not_installed_is_missing(packages: Path) -> None:
    assert missing(packages, ENTRIES) == {}
    (packages / "plugged.cpython-311-x86_64-linux-gnu.so").unlink()
    for file in packages.glob("plugged-1.0.dist-info/*"):
        file.unlink()
    (packages / "plugged-1.0.dist-info").rmdir()
    assert missing(packages, ENTRIES) == {"plugged": "aex_sample.plugins.one"}


def test_an_entry_that_is_not_there_is_an_error(packages: Path) -> None:
    with pytest.raises(LookupError, match=r"aex_sample\.gone"):
        reached_from(packages, ["aex_sample.gone"])
