"""What the services can be told, as their `Settings` declare it; and how what a document names is held against that.

The comparing functions are pure: a document is what was read of it, and each line of the answer is one thing to mend.
"""

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from aex_cli.suite.service_spec import MODULES, ServiceSpec
from aex_runtime.settings import RuntimeSettings

SERVICES = tuple(MODULES)
HEALTH, READINESS = "/healthz", "/readyz"
"""The paths that probes ask."""

Declared = Mapping[str, Mapping[str, FieldInfo]]
"""Service → variable of the environment → its field."""


def settings_of(service: str) -> type[RuntimeSettings]:
    """The class that a service reads its environment with."""
    found: type[RuntimeSettings] = import_module(f"{MODULES[service]}.settings").Settings
    return found


def variables(settings: type[BaseSettings]) -> dict[str, FieldInfo]:
    """The variables that a class reads, each with its field: `AEX_…`, or the alias that the field declares."""
    prefix = settings.model_config.get("env_prefix", "")
    return {
        field.validation_alias if isinstance(field.validation_alias, str) else f"{prefix}{name}".upper(): field
        for name, field in settings.model_fields.items()
    }


def declared() -> dict[str, dict[str, FieldInfo]]:
    """The settings of every service."""
    return {service: variables(settings_of(service)) for service in SERVICES}


def common(settings: Declared) -> set[str]:
    """What every service has."""
    return set.intersection(*(set(each) for each in settings.values()))


def every(settings: Declared) -> set[str]:
    """What any service has."""
    return set().union(*settings.values())


def field_name(settings: type[BaseSettings], variable: str) -> str:
    """The field of a class that a variable fills."""
    return next(name for name, field in settings.model_fields.items() if field is variables(settings)[variable])


def port_of(service: str) -> int:
    """The port that a service listens on unless it is told another."""
    return RuntimeSettings.model_construct().port_of(service)


def url_variable(service: str) -> str:
    """The setting that tells the other services where this one is."""
    return ServiceSpec(service, MODULES[service], 0).url_variable


def differences(
    place: str,
    named: Mapping[str, Collection[str]],
    settings: Declared | Mapping[str, Collection[str]],
    left_out: Mapping[str, str],
) -> list[str]:
    """Where a document that gives variables to services (`named`) and the declared settings disagree, both ways.

    `left_out`: variables that the document gives to no service, each with the reason; it may name nothing else.
    """
    return list(_differences(place, named, settings, left_out))


def _differences(
    place: str,
    named: Mapping[str, Collection[str]],
    settings: Declared | Mapping[str, Collection[str]],
    left_out: Mapping[str, str],
) -> Iterator[str]:
    for service in sorted(set(settings) ^ set(named)):
        yield f"{place}: {service} is {'missing' if service in settings else 'no service'}"
    for service in sorted(set(settings) & set(named)):
        given, known = set(named[service]), set(settings[service])
        yield from (f"{place}: {service} has no setting {name}" for name in sorted(given - known))
        yield from (f"{place}: {service} is not given {name}" for name in sorted(known - given - set(left_out)))
        yield from (f"{place}: {name} is left out, yet given to {service}" for name in sorted(given & set(left_out)))
    known = set().union(*settings.values())
    yield from (f"{place}: {name} is left out, and no service has it" for name in sorted(set(left_out) - known))
    yield from (f"{place}: {name} is left out without a reason" for name in sorted(left_out) if not left_out[name])


def unknown(place: str, found: Collection[str], known: Collection[str]) -> list[str]:
    """What a document names and nothing knows: variables, paths, topics."""
    return [f"{place}: {name} is not known" for name in sorted(set(found) - set(known))]


def missing(place: str, found: Collection[str], wanted: Collection[str]) -> list[str]:
    """What a document should name and does not."""
    return [f"{place}: {name} is missing" for name in sorted(set(wanted) - set(found))]


def unequal(place: str, found: Mapping[str, object], wanted: Mapping[str, object]) -> list[str]:
    """The entries of a document that should have another value, or are not there."""
    return [
        f"{place}: {name} is {found.get(name)!r}, not {value!r}"
        for name, value in sorted(wanted.items())
        if name not in found or found[name] != value
    ]


def misdirected(place: str, given: Mapping[str, Mapping[str, object]], addresses: Mapping[str, str]) -> list[str]:
    """Services that are told a wrong address of another, or none. `addresses`: service → its URL."""
    return [
        problem
        for service, environment in sorted(given.items())
        for problem in unequal(
            f"{place}: {service}",
            environment,
            {url_variable(other): url for other, url in addresses.items() if other != service},
        )
    ]
