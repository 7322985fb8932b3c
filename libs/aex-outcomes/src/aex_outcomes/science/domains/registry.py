"""Registry of domains: data, one YAML file each, from the package and from a configured folder."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from aex_models.domains import Domain
from aex_outcomes.science.domains.soundness import InvalidDomain, check_domain

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class DomainRegistry:
    """Domains by name and alias. Names are exact: `bioinformatics/dms` is no domain."""

    domains: tuple[Domain, ...] = field(default_factory=lambda: DomainRegistry.load().domains)
    """Sorted by name; by default those of the package."""

    @classmethod
    def from_domains(cls, domains: Iterable[Domain]) -> "DomainRegistry":
        """Return the registry of these domains. Raises `InvalidDomain` for a shared name or an unsound domain."""
        named = [(each.name, each) for each in domains]
        for source, each in named:
            check_domain(each, source)
        return cls._join(named)

    @classmethod
    def load(cls, folder: Path | None = None) -> "DomainRegistry":
        """Return the packaged domains, and those of the folder's own `.yaml` and `.yml` files.

        A folder's domain takes no name or alias of another, so that it cannot replace a packaged range. Raises
        `InvalidDomain`, naming file and key path, also for a missing folder.
        """
        found: list[tuple[str, Path | Traversable]] = [
            (f"the package's {each.name}", each)
            for each in sorted(files(__package__).iterdir(), key=lambda each: each.name)
            if _is_domain(each.name)
        ]
        if folder is not None:
            try:
                found += [(str(path), path) for path in sorted(folder.iterdir()) if _is_domain(path.name)]
            except OSError as error:
                problem = f"the folder of domains cannot be read: {error.strerror or error}"
                raise InvalidDomain([(str(folder), problem)]) from None
        from aex_outcomes.science.domains.domain_file import read_domain  # noqa: PLC0415 imports PyYAML

        return cls._join([(source, read_domain(file, source)) for source, file in found])

    @classmethod
    def _join(cls, named: Iterable[tuple[str, Domain]]) -> "DomainRegistry":
        owners: dict[str, tuple[str, Domain]] = {}
        for source, domain in named:
            for path, name in [("name", domain.name), *((f"aliases.{n}", a) for n, a in enumerate(domain.aliases))]:
                owner, other = owners.setdefault(name.casefold(), (source, domain))
                if other is not domain:
                    origin = f" ({owner})" if owner != other.name else ""
                    problem = f"{name} is a name of {other.name}{origin} already; choose another one"
                    raise InvalidDomain([(f"{source}: {path}", problem)])
        domains = {id(domain): domain for _, domain in owners.values()}
        return cls(tuple(sorted(domains.values(), key=lambda each: each.name)))

    def with_domain(self, domain: Domain, source: str) -> "DomainRegistry":
        """Return a registry with one more domain, named `source` in errors. Raises `InvalidDomain`."""
        check_domain(domain, source)
        return self._join([*((each.name, each) for each in self.domains), (source, domain)])

    def get(self, name: str | None) -> Domain | None:
        """Return the domain of this name or alias; None if there is none."""
        return self._by_name.get(name) if name is not None else None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the sorted names, without aliases."""
        return tuple(each.name for each in self.domains)

    @cached_property
    def fingerprint(self) -> str:
        """Return a digest that changes whenever a domain does, since verdicts may change with it."""
        content = [each.model_dump(mode="json") for each in self.domains]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _by_name(self) -> dict[str, Domain]:
        return {name: each for each in self.domains for name in (*each.aliases, each.name)}


def _is_domain(name: str) -> bool:
    return name.endswith(SUFFIXES) and not name.startswith(".")
