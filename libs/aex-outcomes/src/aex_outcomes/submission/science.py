"""Checks of a body's `science` against the catalogue.

Parts of a wrong type are skipped, because the model reports them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from aex_models.catalog import MetricEntry, Requirement
from aex_models.domains import Domain
from aex_models.examination import (
    CHECKS,
    DEFAULT_CHECKS,
    MIXED_GROUPS,
    PEER_REVIEW,
    RECOMPUTE_STATISTICS,
    DataOwner,
)
from aex_models.science import ShareReview
from aex_models.statistics import StatisticSpec
from aex_models.validation_messages import format_suggestion
from aex_models.work import FeedbackLevel, Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.metric_names import parse_statistic_name
from aex_outcomes.science.domains.soundness import SANITY_PREFIX
from aex_outcomes.science.source_files import (
    ENDINGS,
    MEDIA_TYPES,
    SourceFile,
    find_unsupported_charset,
    resolve_data_format,
    resolve_media_type,
)
from aex_outcomes.submission.tables import check_derived_columns, check_joins

SCIENCE = "/science"
_MAX_CHECKED = 100


def check_science(
    body: Mapping[str, Any],
    catalog: Catalog,
    *,
    has_reviewer: bool,
    needs_upload: bool = True,
    has_feedback: bool = True,
) -> Iterator[Problem]:
    """Yield the problems that prevent this installation from verifying the `science` of a request's body.

    `has_reviewer`: peer reviews are available here. `needs_upload`: raw data must have been uploaded, and be named by
    their digest. `has_feedback`: an agent reads feedback on rejections, as in a work.
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
    domain = catalog.resolve_domain(_text(domain_name), _text(body.get("domain")))
    yield from _check_problems(science, domain, catalog, has_reviewer=has_reviewer)
    if has_feedback:
        yield from _sharing_problems(science, body.get("verification"))
    yield from _statistic_problems(list_first_items(science, "statistics"))
    names = {_text(each.get("name")) for each in list_first_items(science, "data") if isinstance(each, Mapping)}
    yield from check_joins(list_first_items(science, "joins"), names, f"{SCIENCE}/joins")
    yield from check_derived_columns(list_first_items(science, "derived"), f"{SCIENCE}/derived")
    yield from check_data_files(list_first_items(science, "data"), f"{SCIENCE}/data", needs_upload=needs_upload)


def check_metric_requirements(
    entry: MetricEntry, metric_pointer: str, science: Any, *, has_reviewer: bool
) -> Iterator[Problem]:
    """Yield a problem for each requirement of a metric that the body's `science` does not meet.

    `metric_pointer`: JSON pointer of the metric in the body. `has_reviewer`: peer reviews are available here.
    """
    if not entry.requires or not (science is None or isinstance(science, Mapping)):
        return
    if science is None:
        message = f"{entry.name} needs the work's science"
        yield Problem(path=SCIENCE, code="science_missing", message=message)
        return
    requested = list_requested_checks(science)
    for check in entry.requires:
        if check is Requirement.PEER_REVIEW and not has_reviewer:
            message = f"{entry.name} needs a reviewer, and none is configured here"
            yield Problem(path=metric_pointer, code="reviewer_unavailable", message=message)
        elif check is not Requirement.SCIENCE and check.value not in requested:
            message = f"{entry.name} needs {check.value} in science.checks"
            yield Problem(path=f"{SCIENCE}/checks", code="check_missing", message=message)


def check_statistic_metric(metric: str, metric_pointer: str, science: Any) -> Problem | None:
    """Return a problem if the metric is `stat.NAME` and the work lists statistics without it, else None.

    `metric_pointer`: JSON pointer of the metric in the body. `science`: the body's `science`, unvalidated.
    """
    name = parse_statistic_name(metric)
    listed = list_first_items(science, "statistics") if isinstance(science, Mapping) else ()
    known = sorted({own for each in listed if isinstance(each, Mapping) and (own := _text(each.get("name")))})
    if name is None or not known or name in known:
        return None
    message = f"Unknown metric: {metric} (the work's statistics are {', '.join(known)})"
    return Problem(path=metric_pointer, code="unknown_metric", message=message)


def parse_valid_statistics(science: Any) -> list[StatisticSpec]:
    """Return those of the first 100 statistics in unvalidated `science` that are valid specifications."""
    found = []
    for each in list_first_items(science, "statistics") if isinstance(science, Mapping) else ():
        try:
            found.append(StatisticSpec.model_validate(each))
        except ValidationError:
            continue  # problems of shape are reported separately
    return found


def list_requested_checks(science: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names in `checks`, or the default checks if it is absent; empty if it is no list."""
    checks = science.get("checks", DEFAULT_CHECKS)
    return tuple(each for each in checks if isinstance(each, str)) if isinstance(checks, list | tuple) else ()


def drop_duplicate_name_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems except duplicate names in `science`, which `check_science` reports better."""
    return [each for each in problems if (each.path, each.code) != (SCIENCE, "duplicate_name")]


def _check_problems(
    science: Mapping[str, Any], domain: Domain | None, catalog: Catalog, *, has_reviewer: bool
) -> Iterator[Problem]:
    path = f"{SCIENCE}/checks"
    checks = science.get("checks", DEFAULT_CHECKS)
    if isinstance(checks, list | tuple) and not checks:
        message = f"Name at least one check ({', '.join(CHECKS)}), or leave science out: nothing would be verified"
        yield Problem(path=path, code="nothing_to_check", message=message)
    requested = list_requested_checks(science)
    for position, check in enumerate(requested[:_MAX_CHECKED]):
        if check == PEER_REVIEW and not has_reviewer:
            message = "No reviewer is configured here: leave peer_review out"
            yield Problem(path=f"{path}/{position}", code="reviewer_unavailable", message=message)
        elif check == MIXED_GROUPS and RECOMPUTE_STATISTICS not in requested:
            message = (
                f"{MIXED_GROUPS} needs {RECOMPUTE_STATISTICS} in science.checks: it is about recomputed statistics"
            )
            yield Problem(path=f"{path}/{position}", code="check_missing", message=message)
        elif check not in CHECKS:
            yield from _sanity_check_problems(check, f"{path}/{position}", domain, catalog)


def _sharing_problems(science: Mapping[str, Any], verification: Any) -> Iterator[Problem]:
    """Yield the problem of a shared review that could quote secrets below feedback level `full`."""
    level = verification.get("feedback") if isinstance(verification, Mapping) else None
    secrets = [name for name in ("data", "reviewer_sees_expected") if science.get(name)]
    if science.get("share_review") == ShareReview.ISSUES and secrets and level != FeedbackLevel.FULL:
        message = (
            f"A review may quote what science.{secrets[0]} shows to the reviewer: set verification.feedback to full, "
            "or leave share_review out"
        )
        yield Problem(path=f"{SCIENCE}/share_review", code="review_would_leak", message=message)


def _sanity_check_problems(check: str, path: str, domain: Domain | None, catalog: Catalog) -> Iterator[Problem]:
    """Yield a problem if the check is no sanity check of the work's domain."""
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


def check_data_files(files: Sequence[Any], root: str, *, needs_upload: bool) -> Iterator[Problem]:
    """Yield the problems of a list of raw data files: missing digests, unreadable types, duplicate names.

    `root`: JSON pointer of the list. `needs_upload`: each file must be named by the digest of its upload.
    """
    first_of: dict[str, int] = {}
    for position, each in enumerate(files):
        if not isinstance(each, Mapping):
            continue
        path, name = f"{root}/{position}", _text(each.get("name"))
        if needs_upload and each.get("sha256") is None:
            message = "Upload the file first (PUT /v1/artifacts), and give the sha256 of the answer"
            yield Problem(path=f"{path}/sha256", code="sha256_missing", message=message)
        yield from _media_type_problems(each, path)
        first = first_of.setdefault(name, position) if name is not None else position
        if first != position:
            message = f"Files {first} and {position} have the same name"
            yield Problem(path=f"{path}/name", code="duplicate_file", message=message)


def _media_type_problems(each: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Yield a problem if the file's media type, or its name's ending if it has no type, is unreadable."""
    media_type, name = _text(each.get("media_type")), _text(each.get("name"))
    if media_type is None and name is None:
        return
    file = SourceFile(name or "", resolve_media_type(name or "", media_type), "", DataOwner.CONSUMER)
    if resolve_data_format(file) is not None:
        if find_unsupported_charset(file) is not None:
            message = "Texts are read as UTF-8: save the file so, and leave the charset out"
            yield Problem(path=f"{path}/media_type", code="unsupported_charset", message=message)
        return
    names = MEDIA_TYPES if media_type is not None else ENDINGS
    either = f"{', '.join(names[:-1])} or {names[-1]}"
    field, message = "name", f"Raw data end in {either}: rename the file, or give its media_type"
    if media_type is not None:
        field, message = "media_type", f"Raw data are {either}"
    yield Problem(path=f"{path}/{field}", code="unsupported_media_type", message=message)


def list_first_items(unvalidated: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return the first 100 items of the list at `key` of an unvalidated mapping; empty if it is no list."""
    listed = unvalidated.get(key)
    return listed[:_MAX_CHECKED] if isinstance(listed, list | tuple) else ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
