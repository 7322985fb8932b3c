"""The verifiers of an installation, by the names that works give in `verification.verifier`.

They come from installed packages (entry points in the group `aex.verifiers`) and from the section `verifiers` of
`outcome-verification.yaml`, which also changes or switches off what a package offers. They are imported where they are
registered, to be checked, and in the confined workers that run them: those have no environment variables, `/` for their
working directory, no network unless it is allowed, and an event loop for each candidate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from aex_outcomes.config import InvalidConfig, OutcomeConfig, VerifierConfig
from aex_outcomes.lifecycle.signature import InvalidVerifier
from aex_outcomes.lifecycle.verifier import CheckedVerifier
from aex_outcomes.named_code import blamed_on, code_named, module_named, said_by

ENTRY_POINTS = "aex.verifiers"
"""The entry point group in which packages offer verifiers; the name there is the name that works give."""

_FIX = "correct the path (package.module:name), or install its package where it runs"


class UnknownVerifier(LookupError):
    """No verifier of this name is registered here."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"Unknown verifier: {name}; registered here: {', '.join(known) or 'none'}")
        self.name = name
        self.known = known


@dataclass(frozen=True, slots=True)
class Loaded:
    """A verifier that can be run, and what running it takes."""

    verifier: CheckedVerifier
    timeout_ms: int
    module: str
    """Where it comes from: workers import it before their first job."""


@dataclass(frozen=True, slots=True)
class Verifiers:
    """The verifiers of one configuration, loaded and checked."""

    by_name: Mapping[str, Loaded] = field(default_factory=dict)

    @classmethod
    def load(cls, config: OutcomeConfig) -> "Verifiers":
        """Load and check all of them. Raises `InvalidConfig` with everything that is wrong, `verifiers.NAME` each."""
        loaded, problems = {}, []
        for name in verifier_names(config):
            try:
                loaded[name] = load_verifier(config, name)
            except InvalidConfig as error:
                problems += error.problems
        if problems:
            raise InvalidConfig(problems)
        return cls(loaded)

    @property
    def names(self) -> tuple[str, ...]:
        """What `verification.verifier` may be, sorted."""
        return tuple(sorted(self.by_name))

    @property
    def modules(self) -> tuple[str, ...]:
        """What a worker imports before it is confined, so that no import counts against a verifier's time."""
        return tuple(sorted({each.module for each in self.by_name.values()}))

    def get(self, name: str) -> CheckedVerifier:
        """The verifier of a name. Raises `UnknownVerifier`."""
        return self._loaded(name).verifier

    def timeout_ms(self, name: str) -> int:
        """How long it may take. Raises `UnknownVerifier`."""
        return self._loaded(name).timeout_ms

    def _loaded(self, name: str) -> Loaded:
        if name not in self.by_name:
            raise UnknownVerifier(name, self.names)
        return self.by_name[name]


def verifier_names(config: OutcomeConfig) -> tuple[str, ...]:
    """The names of all verifiers, sorted. Nothing is imported: who only checks submissions needs none of their code.

    A name in the configuration counts also where its package is not installed: `Verifiers.load` tells of that.
    """
    listed = {entry_point.name for entry_point in entry_points(group=ENTRY_POINTS)}.union(config.verifiers)
    return tuple(sorted(name for name in listed if config.verifiers.get(name, VerifierConfig()).enabled))


def load_verifier(config: OutcomeConfig, name: str) -> Loaded:
    """Load and check one of them. Raises `UnknownVerifier`, and `InvalidConfig` at `verifiers.NAME` with the fix."""
    known = verifier_names(config)
    if name not in known:
        raise UnknownVerifier(name, known)
    section, place = config.verifiers.get(name, VerifierConfig()), f"verifiers.{name}"
    source = section.path or name
    with blamed_on(place, source, _FIX):
        verify, module = code_named(ENTRY_POINTS, source), module_named(ENTRY_POINTS, source)
    output_type: Any = None
    if section.output_type is not None:
        with blamed_on(f"{place}.output_type", section.output_type, _FIX):
            output_type = code_named(ENTRY_POINTS, section.output_type)
    return Loaded(_checked(place, source, verify, output_type), section.timeout_ms, module)


def _checked(place: str, source: str, verify: Callable[..., Any], output_type: Any) -> CheckedVerifier:
    try:
        return CheckedVerifier.annotated(verify) if output_type is None else CheckedVerifier(verify, output_type)
    except InvalidVerifier as error:
        raise InvalidConfig([(place, f"{source}: {error}")]) from error
    except Exception as error:  # a type of other people's can refuse to be looked at in any way
        raise InvalidConfig([(place, f"{source} cannot be checked: {said_by(error)}; correct it there")]) from error
