"""Agents' artifacts: files that candidates name, and who may read them."""

from collections.abc import Mapping

from aex_models.audiences import Audience
from aex_models.canonical import sha256_hex
from aex_models.contract import Candidate
from aex_runtime.artifacts import Upload, Uploads, missing_upload_problems, total_size
from aex_runtime.errors import InvalidRequest, summarize_problems
from aex_runtime.identity.principals import Principal
from aex_runtime.store.port import Scalar, key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.repository import ARTIFACT_USES, ARTIFACTS_AREA, OUTCOMES, UPLOADS
from aex_verification.rules.candidates import ArtifactUse, find_artifact_problems, find_size_problems
from aex_verification.rules.outcomes import is_paid_or_successful
from aex_verification.rules.records import ContractRow

_PAGE = 100
"""Uses of a file that are read at once, in search of one that the consumer pays for."""


def make_upload_store(deps: Deps) -> Uploads:
    """Return the store of the artifacts that agents uploaded."""
    return Uploads(UPLOADS, ARTIFACTS_AREA, deps.blobs, deps.store, deps.unit_of_work, bounds=deps.bounds)


async def find_candidate_uploads(deps: Deps, agent_id: str, candidate: Candidate) -> Mapping[str, Upload]:
    """Return the uploads that a candidate names, by digest; empty if it names none.

    Raises `InvalidRequest` with all problems of the candidate's artifacts, such as missing uploads.
    """
    if not candidate.artifacts:
        return {}
    digests = [(f"/artifacts/{at}/sha256", artifact.sha256) for at, artifact in enumerate(candidate.artifacts)]
    found = await make_upload_store(deps).find(
        Audience.AGENT, agent_id, [digest for _, digest in digests if digest is not None]
    )
    problems = find_artifact_problems(candidate.artifacts)
    problems += missing_upload_problems(digests, found, "/v1/artifacts")
    problems += find_size_problems(candidate.artifacts, total_size([digest for _, digest in digests], found))
    if problems:
        raise InvalidRequest(problems[0].code, summarize_problems(problems), problems)
    return found


def record_artifact_uses(unit: Unit, row: ContractRow, attempt_id: str, uploads: Mapping[str, Upload]) -> None:
    """Write in the unit that a candidate names these uploads, so that a paying consumer can read them."""
    for upload in uploads.values():
        use = ArtifactUse(
            digest=upload.digest,
            size=upload.size,
            contract_id=row.contract_id,
            attempt_id=attempt_id,
            consumer_id=row.consumer_id,
            used_at=unit.now,
        )
        unit.put(ARTIFACT_USES, sha256_hex(f"{row.contract_id}\x1f{upload.digest}".encode()), use)


async def find_readable_artifact_size(deps: Deps, reader: Principal, digest: str) -> int | None:
    """Return the size in bytes of an artifact that the reader may read; None for any other.

    The agent that uploaded it may always read it. A consumer may once it pays for an output that names it.
    """
    if reader.role is Audience.CONSUMER:
        return await _find_paid_size(deps, reader.id, digest)
    found = await make_upload_store(deps).find(reader.role, reader.id, [digest])
    return found[digest].size if found else None


async def _find_paid_size(deps: Deps, consumer_id: str, digest: str) -> int | None:
    equal = {"consumer_id": consumer_id, "digest": digest}
    after: tuple[Scalar, str] | None = None
    while True:
        page = await ARTIFACT_USES.find(deps.store, equal, "used_at", "desc", after=after, limit=_PAGE)
        keys = [key_of(stored.record.contract_id) for stored in page]
        outcomes = await OUTCOMES.get_many(deps.store, keys) if keys else []
        if any(map(is_paid_or_successful, outcomes)):
            return page[0].record.size
        if len(page) < _PAGE:
            return None
        after = (page[-1].document.fields["used_at"], page[-1].document.key)
