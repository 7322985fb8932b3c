"""Registry of custom verifiers, by the names that works give in `verification.verifier`.

Verifiers come from installed packages (entry points `aex.verifiers`) and from the section `verifiers` of
`outcome-verification.yaml`, which can change or disable an installed one. They are imported in the service, to check
them, and in the confined workers that run them. A worker has none of the service's environment variables. It has the
working directory `/`, no network unless it is allowed, and a new event loop for each candidate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from aex_outcomes.config import InvalidConfig, OutcomeConfig, VerifierConfig
from aex_outcomes.lifecycle.signature import InvalidVerifier
from aex_outcomes.lifecycle.verifier import CheckedVerifier
from aex_outcomes.named_code import as_invalid_config, describe_error, find_module_name, load_by_entry_point_or_path

ENTRY_POINTS = "aex.verifiers"
_FIX = "correct the path (package.module:name), or install its package where it runs"


class UnknownVerifier(LookupError):
    """Error for a name without a registered verifier."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"Unknown verifier: {name}; registered here: {', '.join(known) or 'none'}")


@dataclass(frozen=True, slots=True)
class LoadedVerifier:
    """Imported and checked verifier, with its time limit."""

    verifier: CheckedVerifier
    timeout_ms: int
    module: str
    """Name of the module that workers import before their first job."""


@dataclass(frozen=True, slots=True)
class VerifierRegistry:
    """Imported and checked verifiers by name."""

    by_name: Mapping[str, LoadedVerifier] = field(default_factory=dict)

    @classmethod
    def import_enabled(cls, config: OutcomeConfig) -> "VerifierRegistry":
        """Import and check all enabled verifiers. Raises `InvalidConfig` with the problems of all of them."""
        loaded, problems = {}, []
        for name in list_enabled_verifier_names(config):
            try:
                loaded[name] = load_verifier(config, name)
            except InvalidConfig as error:
                problems += error.problems
        if problems:
            raise InvalidConfig(problems)
        return cls(loaded)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all verifiers, sorted: the valid values of `verification.verifier`."""
        return tuple(sorted(self.by_name))

    @property
    def modules(self) -> tuple[str, ...]:
        """Return the names of the modules that a worker imports before it is confined and runs jobs."""
        return tuple(sorted({each.module for each in self.by_name.values()}))


def list_enabled_verifier_names(config: OutcomeConfig) -> tuple[str, ...]:
    """Return the names of all enabled verifiers, sorted, without importing them.

    They include configured verifiers whose package is not installed; `VerifierRegistry.import_enabled` reports those.
    """
    listed = {entry_point.name for entry_point in entry_points(group=ENTRY_POINTS)}.union(config.verifiers)
    return tuple(sorted(name for name in listed if config.verifiers.get(name, VerifierConfig()).enabled))


def load_verifier(config: OutcomeConfig, name: str) -> LoadedVerifier:
    """Import and check the verifier of this name.

    Raises `UnknownVerifier`, and `InvalidConfig` with the key path `verifiers.NAME` and the fix.
    """
    known = list_enabled_verifier_names(config)
    if name not in known:
        raise UnknownVerifier(name, known)
    section, path = config.verifiers.get(name, VerifierConfig()), f"verifiers.{name}"
    source = section.path or name
    with as_invalid_config(path, source, _FIX):
        verify, module = load_by_entry_point_or_path(ENTRY_POINTS, source), find_module_name(ENTRY_POINTS, source)
    output_type: Any = None
    if section.output_type is not None:
        with as_invalid_config(f"{path}.output_type", section.output_type, _FIX):
            output_type = load_by_entry_point_or_path(ENTRY_POINTS, section.output_type)
    return LoadedVerifier(_check_verifier(path, source, verify, output_type), section.timeout_ms, module)


def _check_verifier(path: str, source: str, verify: Callable[..., Any], output_type: Any) -> CheckedVerifier:
    try:
        if output_type is None:
            return CheckedVerifier.from_annotated_function(verify)
        return CheckedVerifier(verify, output_type)
    except InvalidVerifier as error:
        raise InvalidConfig([(path, f"{source}: {error}")]) from error
    except Exception as error:  # a foreign type can raise anything
        problem = f"{source} cannot be checked: {describe_error(error)}; correct it there"
        raise InvalidConfig([(path, problem)]) from error
