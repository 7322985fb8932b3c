"""Tests and tested programs import modules that compute, and nothing else."""

import sys

import pytest

from aex_outcomes.testing.allowed_modules import (
    ALLOWED_MODULES,
    RefusingFinder,
    is_allowed_module,
    is_standard_module,
    remove_other_modules,
    use_memory_importers,
)
from aex_outcomes.testing.memory_importer import SourceFinder


@pytest.mark.parametrize("name", ["math", "os.path", "xml.etree.ElementTree", "json"])
def test_modules_that_compute_are_allowed(name: str) -> None:
    assert is_allowed_module(name)
    assert is_standard_module(name)


@pytest.mark.parametrize("name", ["socket", "ctypes", "subprocess", "multiprocessing.pool", "mmap"])
def test_modules_with_access_to_the_system_are_not_allowed(name: str) -> None:
    assert not is_allowed_module(name)
    assert is_standard_module(name)


def test_a_module_of_another_distribution_is_neither_allowed_nor_standard() -> None:
    assert not is_allowed_module("numpy.linalg")
    assert not is_standard_module("numpy.linalg")


def test_allowed_modules_belong_to_the_standard_library() -> None:
    assert sorted(filter(is_standard_module, ALLOWED_MODULES)) == sorted(ALLOWED_MODULES)


def test_a_standard_module_is_refused_with_the_reason_and_others_are_unknown() -> None:
    finder = RefusingFinder()
    with pytest.raises(ModuleNotFoundError, match="socket is not available to tested programs"):
        finder.find_spec("socket", None)
    assert finder.find_spec("numpy", None) is None


def test_removed_modules_are_those_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["math", "json.decoder", "socket", "aex_outcomes.testing.tester", "_socket", "pytest"]
    monkeypatch.setattr(sys, "modules", dict.fromkeys(names))
    remove_other_modules()
    left = list(sys.modules)
    monkeypatch.undo()
    assert left == ["math", "json.decoder", "_socket"]


def test_finders_in_memory_replace_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("meta_path", "path", "path_hooks"):
        monkeypatch.setattr(sys, name, list(getattr(sys, name)))
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    finder = SourceFinder({})
    use_memory_importers(finder)
    found = sys.meta_path[0], type(sys.meta_path[1]), sys.path, sys.path_hooks, sys.path_importer_cache
    monkeypatch.undo()
    assert found == (finder, RefusingFinder, [], [], {})
