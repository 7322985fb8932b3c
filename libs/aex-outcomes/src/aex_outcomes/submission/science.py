"""Check of a body's `science`, as far as its parts have the right shape."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from aex_models.catalog import MetricEntry, Requirement
from aex_models.domains import Domain
from aex_models.examination import CHECKS, DEFAULT_CHECKS, PEER_REVIEW, DataOwner
from aex_models.statistics import StatisticSpec
from aex_models.validation_messages import format_suggestion
from aex_models.work import Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.metric_names import statistic_name
from aex_outcomes.science.domains.soundness import SANITY_PREFIX
from aex_outcomes.science.source_files import (
    ENDINGS,
    MEDIA_TYPES,
    SourceFile,
    foreign_charset,
    format_of,
    media_type_of,
)

SCIENCE = "/science"
_MAX_CHECKED = 100


def science_problems(
    body: Mapping[str, Any], catalog: Catalog, *, reviewer: bool, uploaded: bool = True
) -> Iterator[Problem]:
    """Yield what prevents the `science` of a body from being verified here.

    `reviewer`: true if peer reviews are available. `uploaded`: true if its data must be uploaded.
    """
    science = body.get("science")
    if science is None:
        return
    if not catalog.has_science:
        message = "Scientific verification is not available here"
        yield Problem(path=SCIENCE, code="science_unavailable", message=message)
    if not catalog.has_science or not isinstance(science, Mapping):
        return
    domain_name = science.get("domain")
    if isinstance(domain_name, str) and catalog.domains.get(domain_name) is None:
        message = f"Unknown domain; known here: {', '.join(catalog.domains.names)}"
        yield Problem(path=f"{SCIENCE}/domain", code="unknown_domain", message=message)
    domain = catalog.domain_of(_text(domain_name), _text(body.get("domain")))
    yield from _check_problems(science, domain, catalog, reviewer=reviewer)
    yield from _statistic_problems(listed_items(science, "statistics"))
    yield from data_problems(listed_items(science, "data"), f"{SCIENCE}/data", uploaded=uploaded)


def requirement_problems(entry: MetricEntry, path: str, science: Any, *, reviewer: bool) -> Iterator[Problem]:
    """Yield the requirements of a metric, named at `path`, that the body lacks."""
    if not entry.requires or not (science is None or isinstance(science, Mapping)):
        return
    if science is None:
        message = f"{entry.name} needs the work's science"
        yield Problem(path=SCIENCE, code="science_missing", message=message)
        return
    requested = requested_checks(science)
    for check in entry.requires:
        if check is Requirement.PEER_REVIEW and not reviewer:
            message = f"{entry.name} needs a reviewer, and none is configured here"
            yield Problem(path=path, code="reviewer_unavailable", message=message)
        elif check is not Requirement.SCIENCE and check.value not in requested:
            message = f"{entry.name} needs {check.value} in science.checks"
            yield Problem(path=f"{SCIENCE}/checks", code="check_missing", message=message)


def statistic_problem(metric: str, path: str, science: Any) -> Problem | None:
    """Return the problem of a metric `stat.NAME` that is not among the work's own statistics."""
    name, listed = statistic_name(metric), listed_items(science, "statistics") if isinstance(science, Mapping) else ()
    known = sorted({own for each in listed if isinstance(each, Mapping) and (own := _text(each.get("name")))})
    if name is None or not known or name in known:
        return None
    message = f"Unknown metric: {metric} (the work's statistics are {', '.join(known)})"
    return Problem(path=path, code="unknown_metric", message=message)


def sound_statistics(science: Any) -> list[StatisticSpec]:
    """Return the statistics of a right shape that a work names."""
    found = []
    for each in listed_items(science, "statistics") if isinstance(science, Mapping) else ():
        try:
            found.append(StatisticSpec.model_validate(each))
        except ValidationError:
            continue  # problems of shape are reported separately
    return found


def requested_checks(science: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the requested checks, or the default ones."""
    checks = science.get("checks", DEFAULT_CHECKS)
    return tuple(each for each in checks if isinstance(each, str)) if isinstance(checks, list | tuple) else ()


def drop_duplicate_names(shape: Iterable[Problem]) -> list[Problem]:
    """Drop the model's problems of duplicate names: here each has its own position."""
    return [each for each in shape if (each.path, each.code) != (SCIENCE, "duplicate_name")]


def _check_problems(
    science: Mapping[str, Any], domain: Domain | None, catalog: Catalog, *, reviewer: bool
) -> Iterator[Problem]:
    path = f"{SCIENCE}/checks"
    checks = science.get("checks", DEFAULT_CHECKS)
    if isinstance(checks, list | tuple) and not checks:
        message = f"Name at least one check ({', '.join(CHECKS)}), or leave science out: nothing would be verified"
        yield Problem(path=path, code="nothing_to_check", message=message)
    for position, check in enumerate(requested_checks(science)[:_MAX_CHECKED]):
        if check == PEER_REVIEW and not reviewer:
            message = "No reviewer is configured here: leave peer_review out"
            yield Problem(path=f"{path}/{position}", code="reviewer_unavailable", message=message)
        elif check not in CHECKS:
            yield from _sanity_check_problems(check, f"{path}/{position}", domain, catalog)


def _sanity_check_problems(check: str, path: str, domain: Domain | None, catalog: Catalog) -> Iterator[Problem]:
    """Yield the problem of a check that must be a sanity check of the work's domain, and is none."""
    known = [each.name for each in domain.sanity_checks] if domain else []
    if check in known:
        return
    others = [each.name for each in catalog.domains.domains if check in {one.name for one in each.sanity_checks}]
    if others:
        description = f"{check} is a sanity check of {' and '.join(others)}"
        message = f"{description}: set science.domain" if domain is None else f"{description} alone"
        yield Problem(path=path, code="domain_missing" if domain is None else "unknown_check", message=message)
    else:
        names = [*CHECKS, *known]
        message = f"Unknown check{format_suggestion(check, names)}; known here: {', '.join(names)}"
        yield Problem(path=path, code="unknown_check", message=message)


def _statistic_problems(listed: Sequence[Any]) -> Iterator[Problem]:
    first_of: dict[str, int] = {}
    for position, each in enumerate(listed):
        name = _text(each.get("name")) if isinstance(each, Mapping) else None
        if name is None:
            continue
        path = f"{SCIENCE}/statistics/{position}/name"
        if name.startswith(SANITY_PREFIX):
            message = f"Names that begin with {SANITY_PREFIX} are those of sanity checks"
            yield Problem(path=path, code="reserved_name", message=message)
        first = first_of.setdefault(name, position)
        if first != position:
            message = f"Statistics {first} and {position} have the same name"
            yield Problem(path=path, code="duplicate_statistic", message=message)


def data_problems(listed: Sequence[Any], root: str, *, uploaded: bool) -> Iterator[Problem]:
    """Yield the problems of raw data at `root`: missing uploads, unreadable types, duplicate names."""
    first_of: dict[str, int] = {}
    for position, each in enumerate(listed):
        if not isinstance(each, Mapping):
            continue
        path, name = f"{root}/{position}", _text(each.get("name"))
        if uploaded and each.get("sha256") is None:
            message = "Upload the file first (PUT /v1/artifacts), and give the sha256 of the answer"
            yield Problem(path=f"{path}/sha256", code="sha256_missing", message=message)
        yield from _media_type_problems(each, path)
        first = first_of.setdefault(name, position) if name is not None else position
        if first != position:
            message = f"Files {first} and {position} have the same name"
            yield Problem(path=f"{path}/name", code="duplicate_file", message=message)


def _media_type_problems(each: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Yield what prevents a file from being read, by its media type or the ending of its name."""
    media_type, name = _text(each.get("media_type")), _text(each.get("name"))
    if media_type is None and name is None:
        return
    file = SourceFile(name or "", media_type_of(name or "", media_type), "", DataOwner.CONSUMER)
    if format_of(file) is not None:
        if foreign_charset(file) is not None:
            message = "Texts are read as UTF-8: save the file so, and leave the charset out"
            yield Problem(path=f"{path}/media_type", code="unsupported_charset", message=message)
        return
    names = MEDIA_TYPES if media_type is not None else ENDINGS
    either = f"{', '.join(names[:-1])} or {names[-1]}"
    field, message = "name", f"Raw data end in {either}: rename the file, or give its media_type"
    if media_type is not None:
        field, message = "media_type", f"Raw data are {either}"
    yield Problem(path=f"{path}/{field}", code="unsupported_media_type", message=message)


def listed_items(science: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return the first items of a list; none for a part of another shape."""
    listed = science.get(name)
    return listed[:_MAX_CHECKED] if isinstance(listed, list | tuple) else ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
