"""Agents' artifacts: whether a candidate names its agent's own, and who may read them."""

from collections.abc import Mapping

from aex_models.audiences import Audience
from aex_models.canonical import sha256_hex
from aex_models.contract import Candidate
from aex_runtime.artifacts.uploads import Upload, Uploads, not_uploaded, total_size
from aex_runtime.errors import InvalidRequest, told
from aex_runtime.identity.principal import Principal
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Scalar
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.repository import ARTIFACT_USES, ARTIFACTS_AREA, OUTCOMES, UPLOADS
from aex_verification.rules.artifacts import ArtifactUse, artifact_problems, total_problems
from aex_verification.rules.outcome import paid_for
from aex_verification.rules.records import ContractRow

_LOOKED_AT = 100
"""Contracts at a time that are looked at for one that its consumer paid for."""


def uploads_of(deps: Deps) -> Uploads:
    """The service's uploads."""
    return Uploads(UPLOADS, ARTIFACTS_AREA, deps.blobs, deps.store, deps.unit_of_work)


async def uploaded_for(deps: Deps, agent_id: str, candidate: Candidate) -> Mapping[str, Upload]:
    """The uploads that a candidate names, by digest. Raises `InvalidRequest` with all that is wrong with artifacts."""
    if not candidate.artifacts:
        return {}
    named = [(f"/artifacts/{at}/sha256", artifact.sha256) for at, artifact in enumerate(candidate.artifacts)]
    found = await uploads_of(deps).of(Audience.AGENT, agent_id, [digest for _, digest in named if digest is not None])
    problems = artifact_problems(candidate.artifacts)
    problems += not_uploaded(named, found, "/v1/artifacts")
    problems += total_problems(candidate.artifacts, total_size([digest for _, digest in named], found))
    if problems:
        raise InvalidRequest(problems[0].code, told(problems), problems)
    return found


def record_uses(unit: Unit, row: ContractRow, attempt_id: str, uploads: Mapping[str, Upload]) -> None:
    """With the candidate, that it names these."""
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


async def readable_size(deps: Deps, reader: Principal, digest: str) -> int | None:
    """The size of an artifact that the reader may have: its agent always, a consumer once it paid for one with it."""
    if reader.role is Audience.CONSUMER:
        return await _paid_size(deps, reader.id, digest)
    found = await uploads_of(deps).of(reader.role, reader.id, [digest])
    return found[digest].size if found else None


async def _paid_size(deps: Deps, consumer_id: str, digest: str) -> int | None:
    equal = {"consumer_id": consumer_id, "digest": digest}
    after: tuple[Scalar, str] | None = None
    while True:
        page = await ARTIFACT_USES.find(deps.store, equal, "used_at", "desc", after=after, limit=_LOOKED_AT)
        keys = [key_of(stored.record.contract_id) for stored in page]
        outcomes = await OUTCOMES.get_many(deps.store, keys) if keys else []
        if any(map(paid_for, outcomes)):
            return page[0].record.size
        if len(page) < _LOOKED_AT:
            return None
        after = (page[-1].document.fields["used_at"], page[-1].document.key)
