"""What a candidate's artifacts have to be. Any media type is taken: what no recomputation reads is an attachment."""

from collections.abc import Sequence

from aex_models.artifacts import MAX_INLINE_BYTES, MAX_TOTAL_BYTES
from aex_models.contract import Artifact
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.work import Problem


class ArtifactUse(Frozen):
    """That a candidate of a contract names an upload: its consumer may read it once it may read the candidate."""

    digest: Sha256
    size: int
    contract_id: str
    attempt_id: str
    consumer_id: str
    used_at: Instant


def artifact_problems(artifacts: Sequence[Artifact]) -> list[Problem]:
    """What is wrong with them apart from their uploads: names that occur twice, inline content that is too large."""
    problems: list[Problem] = []
    seen: set[str] = set()
    for position, artifact in enumerate(artifacts):
        if artifact.name in seen:
            message = "Another artifact has this name; a statistic names its file by it"
            problems.append(Problem(path=f"/artifacts/{position}/name", code="duplicate_name", message=message))
        seen.add(artifact.name)
        if inline_size(artifact) > MAX_INLINE_BYTES:
            field = "content" if artifact.content is not None else "content_base64"
            message = (
                f"At most {MAX_INLINE_BYTES // 1_000_000} MB inline; upload it with PUT /v1/artifacts and give its "
                "sha256 instead"
            )
            problems.append(Problem(path=f"/artifacts/{position}/{field}", code="artifact_too_large", message=message))
    return problems


def total_problems(artifacts: Sequence[Artifact], uploaded: int) -> list[Problem]:
    """Whether all files of a candidate are too much together. `uploaded`: the bytes of those that were uploaded."""
    if uploaded + sum(map(inline_size, artifacts)) <= MAX_TOTAL_BYTES:
        return []
    message = f"At most {MAX_TOTAL_BYTES // 1_000_000} MB of artifacts in all"
    return [Problem(path="/artifacts", code="artifacts_too_large", message=message)]


def inline_size(artifact: Artifact) -> int:
    """Bytes of the content that a candidate itself holds, decoded."""
    if artifact.content_base64 is not None:
        encoded = artifact.content_base64
        return len(encoded) // 4 * 3 - (len(encoded) - len(encoded.rstrip("=")))
    text = artifact.content or ""
    return len(text) if text.isascii() else len(text.encode())
