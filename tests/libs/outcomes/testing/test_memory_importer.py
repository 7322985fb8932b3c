"""Modules are imported from source texts in memory as from files."""

import importlib
import traceback

import pytest

from aex_outcomes.testing.memory_importer import SourceFinder, list_parent_packages, map_modules_to_paths
from tests.libs.outcomes.testing.served import importable

FILES = {
    "memory_module.py": "from memory_package.inner import VALUE\ndef fail(): raise KeyError",
    "memory_package/__init__.py": "NAME = __name__",
    "memory_package/inner/leaf.py": "from ... import memory_module",
    "memory_package/inner/__init__.py": "from .. import NAME\nfrom ..other import TEN\nVALUE = NAME, TEN",
    "memory_package/other.py": "TEN = 10",
    "memory_folder/deep/leaf.py": "from . import sibling\nVALUE = sibling.VALUE",
    "memory_folder/deep/sibling.py": "VALUE = 3",
}


def test_paths_are_modules_by_their_names() -> None:
    files = ["a.py", "b/c.py", "b/__init__.py", "__init__.py", "d-e.py", "f.txt", "1.py", "g/h.i.py", "README"]
    assert map_modules_to_paths(files) == {
        "a": "a.py",
        "b.c": "b/c.py",
        "b": "b/__init__.py",
        "__init__": "__init__.py",
    }


def test_all_folders_of_modules_are_packages() -> None:
    assert list_parent_packages(["a", "b.c", "d.e.f"]) == {"b", "d", "d.e"}


def test_packages_with_and_without_init_files_are_imported() -> None:
    with importable(SourceFinder(FILES)):
        module = importlib.import_module("memory_module")
        assert module.VALUE == ("memory_package", 10)
        assert module.__file__ == "memory_module.py"
        assert importlib.import_module("memory_folder.deep.leaf").VALUE == 3
        assert importlib.import_module("memory_folder").__path__ == []
        with pytest.raises(ImportError, match="beyond top-level package"):
            importlib.import_module("memory_package.inner.leaf")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("memory_module")


def test_a_package_of_an_init_file_alone_may_lack_modules() -> None:
    with importable(SourceFinder({"memory_alone/__init__.py": "VALUE = 1"})):
        assert importlib.import_module("memory_alone").VALUE == 1
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("memory_alone.absent")


def test_other_modules_are_left_to_other_finders() -> None:
    finder = SourceFinder(FILES)
    assert finder.find_spec("json", None) is None
    assert finder.find_spec("memory_package.absent", None) is None


def test_the_finder_knows_packages_and_source_texts() -> None:
    finder = SourceFinder(FILES)
    assert finder.is_package("memory_folder")
    assert not finder.is_package("memory_module")
    assert finder.get_source("memory_package.other") == "TEN = 10"
    assert finder.get_source("memory_folder") == ""


def test_a_traceback_names_the_file() -> None:
    with importable(SourceFinder(FILES)):
        module = importlib.import_module("memory_module")
        with pytest.raises(KeyError) as caught:
            module.fail()
    [*_, last] = traceback.extract_tb(caught.value.__traceback__)
    assert (last.filename, last.lineno, last.name) == ("memory_module.py", 2, "fail")
