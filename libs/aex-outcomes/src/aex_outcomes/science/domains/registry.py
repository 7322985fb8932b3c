"""The registry of domains: data, one YAML file each, from the package and from a configured folder."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from aex_models.domains import Domain
from aex_outcomes.config import InvalidConfig
from aex_outcomes.science.domains.soundness import problems_of

SUFFIXES = (".yaml", ".yml")
MAX_BYTES = 1_000_000
"""Of one file; the packaged ones have two thousand."""


class InvalidDomain(InvalidConfig):
    """A domain, or several that do not go together; `problems` name file, key path and what is wrong there."""


@dataclass(frozen=True)
class DomainRegistry:
    """Domains by name and alias. Names are exact: `bioinformatics/dms` is no domain."""

    domains: tuple[Domain, ...] = field(default_factory=lambda: DomainRegistry.load().domains)
    """By name; unless given, those of the package."""

    @classmethod
    def of(cls, domains: Iterable[Domain]) -> "DomainRegistry":
        """The registry of these. Raises `InvalidDomain` where two share a name, or one is not sound."""
        placed = [(each.name, each) for each in domains]
        for place, each in placed:
            _check(each, place)
        return cls._joined(placed)

    @classmethod
    def load(cls, folder: Path | None = None) -> "DomainRegistry":
        """The packaged domains, and those of the folder's `.yaml` and `.yml` files (not of folders within it).

        A folder's domain adds: it takes no name or alias of another, so that no range of the package can be replaced
        unseen. Raises `InvalidDomain`, naming file and key path; a folder that is not there is an error too.
        """
        found: list[tuple[str, Path | Traversable]] = [
            (f"the package's {each.name}", each)
            for each in sorted(files(__package__).iterdir(), key=lambda each: each.name)
            if _is_domain(each.name)
        ]
        found += [(str(path), path) for path in _listed(folder)] if folder is not None else []
        return cls._joined([(place, read_domain(file, place)) for place, file in found])

    @classmethod
    def _joined(cls, placed: Iterable[tuple[str, Domain]]) -> "DomainRegistry":
        taken: dict[str, tuple[str, Domain]] = {}
        for place, domain in placed:
            for path, name in [("name", domain.name), *((f"aliases.{n}", a) for n, a in enumerate(domain.aliases))]:
                owner, other = taken.setdefault(name.casefold(), (place, domain))
                if other is not domain:
                    where = f" ({owner})" if owner != other.name else ""
                    problem = f"{name} is a name of {other.name}{where} already; choose another one"
                    raise InvalidDomain([(f"{place}: {path}", problem)])
        domains = {id(domain): domain for _, domain in taken.values()}
        return cls(tuple(sorted(domains.values(), key=lambda each: each.name)))

    def plus(self, domain: Domain, place: str) -> "DomainRegistry":
        """With one more, which errors call `place`. Raises `InvalidDomain`."""
        _check(domain, place)
        return self._joined([*((each.name, each) for each in self.domains), (place, domain)])

    def get(self, name: str | None) -> Domain | None:
        """The domain of this name or alias, if there is one."""
        return self._by_name.get(name) if name is not None else None

    @property
    def names(self) -> tuple[str, ...]:
        """Of every domain, sorted; without aliases."""
        return tuple(each.name for each in self.domains)

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever a domain does: verdicts may change with it."""
        whole = [each.model_dump(mode="json") for each in self.domains]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _by_name(self) -> dict[str, Domain]:
        return {name: each for each in self.domains for name in (*each.aliases, each.name)}


def read_domain(file: Path | Traversable, place: str | None = None) -> Domain:
    """One file's domain, checked. `place`: what errors call it. Raises `InvalidDomain`."""
    from aex_outcomes.science.domains.yaml_file import NotReadable, parse  # noqa: PLC0415 PyYAML, where there is a file

    where = place or str(file)
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InvalidDomain([(where, f"has more than {MAX_BYTES:,} bytes")])
        raw = parse(content.decode("utf-8-sig"))
    except OSError as error:
        raise InvalidDomain([(where, f"cannot be read: {error.strerror or error}")]) from None
    except UnicodeDecodeError:
        raise InvalidDomain([(where, "not UTF-8; save the file in that encoding")]) from None
    except NotReadable as error:
        raise InvalidDomain([(where, str(error))]) from None
    return _shaped(raw, where)


def _shaped(raw: Any, where: str) -> Domain:
    if not isinstance(raw, dict):
        raise InvalidDomain([(where, "expected a mapping with at least `name` and `description`")])
    try:
        # By way of JSON: strict there means that lists are lists, and that no text or boolean is taken for a number.
        domain = Domain.model_validate_json(json.dumps(raw, default=str), strict=True)
    except ValidationError as error:
        raise InvalidDomain([_explained(each, where) for each in error.errors()]) from None
    _check(domain, where)
    return domain


def _check(domain: Domain, where: str) -> None:
    problems = [(f"{where}: {path}", problem) for path, problem in problems_of(domain)]
    if problems:
        raise InvalidDomain(problems)


def _explained(error: Any, where: str) -> tuple[str, str]:
    path = ".".join(str(step) for step in error["loc"] if step != "[key]")
    problem = {"extra_forbidden": "unknown key", "missing": "is missing"}.get(error["type"], error["msg"])
    return (f"{where}: {path}" if path else where), problem


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if _is_domain(path.name))
    except OSError as error:
        problem = f"the folder of domains cannot be read: {error.strerror or error}"
        raise InvalidDomain([(str(folder), problem)]) from None


def _is_domain(name: str) -> bool:
    return name.endswith(SUFFIXES) and not name.startswith(".")
