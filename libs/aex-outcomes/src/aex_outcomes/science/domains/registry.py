"""Registry of scientific domains, read from YAML files of the package and of a configured folder."""

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
    """Domains by name and alias. Look-ups compare exact names: `bioinformatics/dms` finds nothing."""

    domains: tuple[Domain, ...] = field(default_factory=lambda: DomainRegistry.load().domains)
    """Sorted by name; by default those of the package."""

    @classmethod
    def from_domains(cls, domains: Iterable[Domain]) -> "DomainRegistry":
        """Return a registry of these domains alone. Raises `InvalidDomain`, also for a shared name."""
        named = [(each.name, each) for each in domains]
        for source, each in named:
            check_domain(each, source)
        return cls._join(named)

    @classmethod
    def load(cls, additional_folder: Path | None = None) -> "DomainRegistry":
        """Read the packaged domains, and those in the YAML files directly in `additional_folder`.

        Raises `InvalidDomain`, which names file and key path, for an invalid file or a missing folder. A domain whose
        name or alias is taken is invalid too, so that no folder can replace a packaged range.
        """
        found: list[tuple[str, Path | Traversable]] = [
            (f"the package's {each.name}", each)
            for each in sorted(files(__package__).iterdir(), key=lambda each: each.name)
            if _is_domain(each.name)
        ]
        if additional_folder is not None:
            try:
                found += [(str(path), path) for path in sorted(additional_folder.iterdir()) if _is_domain(path.name)]
            except OSError as error:
                problem = f"the folder of domains cannot be read: {error.strerror or error}"
                raise InvalidDomain([(str(additional_folder), problem)]) from None
        from aex_outcomes.science.domains.domain_file import read_domain_file  # noqa: PLC0415 imports PyYAML

        return cls._join([(source, read_domain_file(file, source)) for source, file in found])

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

    def with_domain(self, domain: Domain, error_label: str) -> "DomainRegistry":
        """Return a new registry with one more domain. Raises `InvalidDomain`, also for a taken name.

        `error_label`: name of the domain's source in error messages.
        """
        check_domain(domain, error_label)
        return self._join([*((each.name, each) for each in self.domains), (error_label, domain)])

    def get(self, name: str | None) -> Domain | None:
        """Return the domain of this name or alias; None for an unknown name and for None."""
        return self._by_name.get(name) if name is not None else None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the sorted names of the domains, without aliases."""
        return tuple(each.name for each in self.domains)

    @cached_property
    def fingerprint(self) -> str:
        """Return a SHA-256 digest of all domains, which changes with any of them."""
        content = [each.model_dump(mode="json") for each in self.domains]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _by_name(self) -> dict[str, Domain]:
        return {name: each for each in self.domains for name in (*each.aliases, each.name)}


def _is_domain(name: str) -> bool:
    return name.endswith(SUFFIXES) and not name.startswith(".")
