"""What is wrong with a work's `science` beyond its shape: everything, and with as much of it as has the right shape."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from aex_models.catalog import MetricEntry, Requirement
from aex_models.domains import Domain
from aex_models.examination import DataOwner
from aex_models.science_checks import CHECKS, DEFAULT_CHECKS, PEER_REVIEW
from aex_models.statistics import StatisticSpec
from aex_models.work import Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.science.domains.soundness import SANITY_PREFIX
from aex_outcomes.science.source import ENDINGS, MEDIA_TYPES, SourceFile, foreign_charset, format_of, media_type_of
from aex_outcomes.statistic_names import statistic_name

SCIENCE = "/science"
_MAX_LOOKED_AT = 100


def science_problems(
    body: Mapping[str, Any], catalog: Catalog, *, reviewer: bool, uploaded: bool = True
) -> Iterator[Problem]:
    """What keeps the `science` of a body from being carried out here.

    `reviewer`: whether there is one to ask. `uploaded`: whether its data have to be uploaded by now.
    """
    science = body.get("science")
    if science is None:
        return
    if not catalog.has_science:
        message = "Scientific verification is not available here"
        yield Problem(path=SCIENCE, code="science_unavailable", message=message)
    if not catalog.has_science or not isinstance(science, Mapping):
        return
    named, own = science.get("domain"), body.get("domain")
    yield from _domain(named, catalog)
    domain = catalog.domain_of(_text(named), _text(own))
    yield from _checks(science, domain, catalog, reviewer=reviewer)
    yield from _statistics(_listed(science, "statistics"))
    yield from _data(_listed(science, "data"), uploaded=uploaded)


def requirement_problems(entry: MetricEntry, path: str, science: Any, *, reviewer: bool) -> Iterator[Problem]:
    """What a metric, named at `path`, stands on and the body does not have."""
    if not entry.requires or not (science is None or isinstance(science, Mapping)):
        return
    if science is None:
        message = f"{entry.name} needs the work's science"
        yield Problem(path=SCIENCE, code="science_missing", message=message)
        return
    asked = named_checks(science)
    for check in entry.requires:
        if check is Requirement.PEER_REVIEW and not reviewer:
            message = f"{entry.name} needs a reviewer, and none is configured here"
            yield Problem(path=path, code="reviewer_unavailable", message=message)
        elif check is not Requirement.SCIENCE and check.value not in asked:
            message = f"{entry.name} needs {check.value} in science.checks"
            yield Problem(path=f"{SCIENCE}/checks", code="check_missing", message=message)


def statistic_problem(metric: str, path: str, science: Any) -> Problem | None:
    """A metric `stat.NAME` of a work that names statistics itself, but not this one."""
    name, listed = statistic_name(metric), _listed(science, "statistics") if isinstance(science, Mapping) else ()
    known = sorted({own for each in listed if isinstance(each, Mapping) and (own := _text(each.get("name")))})
    if name is None or not known or name in known:
        return None
    message = f"Unknown metric: {metric} (the work's statistics are {', '.join(known)})"
    return Problem(path=path, code="unknown_metric", message=message)


def sound_statistics(science: Any) -> list[StatisticSpec]:
    """The statistics that a work names itself, those of a right shape."""
    found = []
    for each in _listed(science, "statistics") if isinstance(science, Mapping) else ():
        try:
            found.append(StatisticSpec.model_validate(each))
        except ValidationError:
            continue  # what is wrong with its shape is reported with the shape
    return found


def named_checks(science: Mapping[str, Any]) -> tuple[str, ...]:
    """The checks that are asked for: those of the default, where none are named."""
    checks = science.get("checks", DEFAULT_CHECKS)
    return tuple(each for each in checks if isinstance(each, str)) if isinstance(checks, list | tuple) else ()


def not_said_better(shape: Iterable[Problem]) -> list[Problem]:
    """Problems of shape, without the model's word of names that are given twice: here each has its own place."""
    return [each for each in shape if (each.path, each.code) != (SCIENCE, "duplicate_name")]


def _domain(named: Any, catalog: Catalog) -> Iterator[Problem]:
    if isinstance(named, str) and catalog.domains.get(named) is None:
        message = f"Unknown domain; known here: {', '.join(catalog.domains.names)}"
        yield Problem(path=f"{SCIENCE}/domain", code="unknown_domain", message=message)


def _checks(
    science: Mapping[str, Any], domain: Domain | None, catalog: Catalog, *, reviewer: bool
) -> Iterator[Problem]:
    path = f"{SCIENCE}/checks"
    checks = science.get("checks", DEFAULT_CHECKS)
    if isinstance(checks, list | tuple) and not checks:
        message = f"Name at least one check ({', '.join(CHECKS)}), or leave science out: nothing would be verified"
        yield Problem(path=path, code="nothing_to_check", message=message)
    for position, check in enumerate(named_checks(science)[:_MAX_LOOKED_AT]):
        if check == PEER_REVIEW and not reviewer:
            message = "No reviewer is configured here: leave peer_review out"
            yield Problem(path=f"{path}/{position}", code="reviewer_unavailable", message=message)
        elif check not in CHECKS:
            yield from _sanity_check(check, f"{path}/{position}", domain, catalog)


def _sanity_check(check: str, path: str, domain: Domain | None, catalog: Catalog) -> Iterator[Problem]:
    """A check that is none of the three, and so has to be a sanity check of the work's domain."""
    known = [each.name for each in domain.sanity_checks] if domain else []
    if check in known:
        return
    others = [each.name for each in catalog.domains.domains if check in {one.name for one in each.sanity_checks}]
    if others:
        whose = f"a sanity check of {' and '.join(others)}"
        message = f"{check} is {whose}: set science.domain" if domain is None else f"{check} is {whose} alone"
        yield Problem(path=path, code="domain_missing" if domain is None else "unknown_check", message=message)
    else:
        message = f"Unknown check; known here: {', '.join([*CHECKS, *known])}"
        yield Problem(path=path, code="unknown_check", message=message)


def _statistics(listed: Sequence[Any]) -> Iterator[Problem]:
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


def _data(listed: Sequence[Any], *, uploaded: bool) -> Iterator[Problem]:
    first_of: dict[str, int] = {}
    for position, each in enumerate(listed):
        if not isinstance(each, Mapping):
            continue
        path, name = f"{SCIENCE}/data/{position}", _text(each.get("name"))
        if uploaded and each.get("sha256") is None:
            message = "Upload the file first (PUT /v1/artifacts), and give the sha256 of the answer"
            yield Problem(path=f"{path}/sha256", code="sha256_missing", message=message)
        yield from unreadable(each, path)
        first = first_of.setdefault(name, position) if name is not None else position
        if first != position:
            message = f"Files {first} and {position} have the same name"
            yield Problem(path=f"{path}/name", code="duplicate_file", message=message)


def unreadable(each: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """What keeps a file from being read, by its media type or else by the ending of its name."""
    media_type, name = _text(each.get("media_type")), _text(each.get("name"))
    if media_type is None and name is None:
        return
    told = media_type_of(name or "", media_type)
    file = SourceFile(name or "", told, "", DataOwner.CONSUMER)
    if format_of(file) is not None:
        if foreign_charset(file) is not None:
            message = "Texts are read as UTF-8: save the file so, and leave the charset out"
            yield Problem(path=f"{path}/media_type", code="unsupported_charset", message=message)
        return
    place, message = "name", f"Raw data end in {_either(ENDINGS)}: rename the file, or give its media_type"
    if media_type is not None:
        place, message = "media_type", f"Raw data are {_either(MEDIA_TYPES)}"
    yield Problem(path=f"{path}/{place}", code="unsupported_media_type", message=message)


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _listed(science: Mapping[str, Any], name: str) -> Sequence[Any]:
    listed = science.get(name)
    return listed[:_MAX_LOOKED_AT] if isinstance(listed, list | tuple) else ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
