"""The settings that the services declare, and comparisons of documents with them.

Each comparing function returns one line for each problem, or an empty list.
"""

from collections.abc import Collection, Mapping
from importlib import import_module

from fastapi import FastAPI
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from aex_cli.suite.service_spec import MODULES, ServiceSpec
from aex_runtime.settings import RuntimeSettings

SERVICES = tuple(MODULES)
HEALTH, READINESS = "/healthz", "/readyz"

SettingsTable = Mapping[str, Mapping[str, FieldInfo]]
"""Service → environment variable → its field."""


def load_settings_class(service: str) -> type[RuntimeSettings]:
    found: type[RuntimeSettings] = import_module(f"{MODULES[service]}.settings").Settings
    return found


def create_app(service: str, settings: RuntimeSettings) -> FastAPI:
    app: FastAPI = import_module(f"{MODULES[service]}.main").create_app(settings)
    return app


def list_variables(settings: type[BaseSettings]) -> dict[str, FieldInfo]:
    """Return the variables that a class reads: `AEX_…`, or the alias that a field declares."""
    prefix = settings.model_config.get("env_prefix", "")
    return {
        field.validation_alias if isinstance(field.validation_alias, str) else f"{prefix}{name}".upper(): field
        for name, field in settings.model_fields.items()
    }


def load_settings_table() -> dict[str, dict[str, FieldInfo]]:
    return {service: list_variables(load_settings_class(service)) for service in SERVICES}


def common_names(table: SettingsTable) -> set[str]:
    return set.intersection(*(set(each) for each in table.values()))


def all_names(table: Mapping[str, Collection[str]]) -> set[str]:
    return set().union(*table.values())


def port_of(service: str) -> int:
    return RuntimeSettings.model_construct().effective_port(service)


def url_variable(service: str) -> str:
    return ServiceSpec(service, MODULES[service], 0).url_variable


def compare_services(
    document: str,
    named: Mapping[str, Collection[str]],
    table: Mapping[str, Collection[str]],
    left_out: Mapping[str, str],
) -> list[str]:
    problems = [f"{document}: {each} is missing" for each in sorted(set(table) - set(named))]
    problems += [f"{document}: {each} is no service" for each in sorted(set(named) - set(table))]
    for service in sorted(set(table) & set(named)):
        given, known, exceptions = set(named[service]), set(table[service]), set(left_out)
        problems += [f"{document}: {service} has no setting {name}" for name in sorted(given - known)]
        problems += [f"{document}: {service} lacks {name}" for name in sorted(known - given - exceptions)]
        problems += [f"{document}: {name} is left out, yet {service} has it" for name in sorted(given & exceptions)]
    unread = set(left_out) - all_names(table)
    problems += [f"{document}: {name} is left out, and no service reads it" for name in sorted(unread)]
    return problems + [f"{document}: {name} is left out without a reason" for name in left_out if not left_out[name]]


def find_unknown(document: str, names: Collection[str], known: Collection[str]) -> list[str]:
    return [f"{document}: {name} is not known" for name in sorted(set(names) - set(known))]


def find_missing(document: str, names: Collection[str], expected: Collection[str]) -> list[str]:
    return [f"{document}: {name} is missing" for name in sorted(set(expected) - set(names))]


def find_unequal(document: str, values: Mapping[str, object], expected: Mapping[str, object]) -> list[str]:
    return [
        f"{document}: {name} is {values.get(name)!r}, not {value!r}"
        for name, value in sorted(expected.items())
        if name not in values or values[name] != value
    ]


def find_wrong_urls(document: str, given: Mapping[str, Mapping[str, object]], urls: Mapping[str, str]) -> list[str]:
    """Return the services that get a wrong URL of another service, or none. `urls`: service → URL."""
    problems: list[str] = []
    for service, environment in sorted(given.items()):
        expected = {url_variable(other): url for other, url in urls.items() if other != service}
        problems += find_unequal(f"{document}: {service}", environment, expected)
    return problems
