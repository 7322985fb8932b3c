"""Raw data as somebody on this machine gives them, put where a confined worker can read them."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from io import BufferedReader, BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from aex_models.contract import Artifact
from aex_models.examination import DataOwner
from aex_models.science import DataFile
from aex_outcomes.science.source import SourceFile, media_type_of

Content = bytes | str | Path
"""The bytes themselves, or the path of a file."""

_PIECE = 1 << 20
_FOR_A_WORKER_TO_PASS, _FOR_A_WORKER_TO_READ = 0o711, 0o644
"""Under root a confined worker is nobody. The folder's name cannot be guessed, and it is gone after the examination."""


class UnusableFile(ValueError):
    """A file that was named and cannot be examined here; the message says what to do."""


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file of raw data and whose it is."""

    name: str
    media_type: str | None
    """None: by the name's ending."""
    content: Content
    owner: DataOwner

    @contextmanager
    def opened(self) -> Iterator[BufferedReader | BytesIO]:
        """Its bytes. Raises `UnusableFile` where there is no such file."""
        if isinstance(self.content, bytes):
            yield BytesIO(self.content)
            return
        try:
            with Path(self.content).open("rb") as file:
                yield file
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise UnusableFile(f"{self.name}: {self.content} cannot be read: {why}; check the path") from None


def artifacts_given(artifacts: Sequence[Artifact]) -> tuple[GivenFile, ...]:
    """A candidate's artifacts. Raises `UnusableFile` for one that is the digest of an upload."""
    return tuple(GivenFile(each.name, each.media_type, _content(each), DataOwner.AGENT) for each in artifacts)


def _content(artifact: Artifact) -> bytes:
    if artifact.content_base64 is not None:
        return b64decode(artifact.content_base64)
    if artifact.content is not None:
        return artifact.content.encode()
    raise UnusableFile(
        f"artifact {artifact.name}: the digest of an upload, which only a service can look up; "
        "give its content, as content or content_base64"
    )


def data_given(named: Sequence[DataFile], data: Mapping[str, Content]) -> tuple[GivenFile, ...]:
    """The consumer's own data: every file that the work's `science.data` names, and further ones that were given.

    Raises `UnusableFile` for one that is named and not given, and for one that has another digest than the work says.
    """
    wanted = {each.name: each for each in named}
    missing = sorted(set(wanted) - set(data))
    if missing:
        raise UnusableFile(f"science.data names {', '.join(missing)}: give what is in it, under that name")
    given = [
        GivenFile(name, wanted[name].media_type if name in wanted else None, content, DataOwner.CONSUMER)
        for name, content in data.items()
    ]
    for file in given:
        _check_digest(file, wanted.get(file.name))
    return tuple(given)


def _check_digest(file: GivenFile, wanted: DataFile | None) -> None:
    if wanted is None or wanted.sha256 is None:
        return
    with file.opened() as opened:
        found = file_digest(opened, "sha256").hexdigest()
    if found != wanted.sha256:
        raise UnusableFile(f"{file.name}: its SHA-256 is {found}, the work's data have {wanted.sha256}")


@contextmanager
def staged(files: Sequence[GivenFile], most_bytes: int) -> Iterator[tuple[SourceFile, ...]]:
    """Copies of the files, for as long as the block lasts. Of what is too large one byte more than `most_bytes`: enough
    to be refused for it.
    """
    with TemporaryDirectory(prefix="aex-science-") as folder:
        Path(folder).chmod(_FOR_A_WORKER_TO_PASS)
        yield tuple(
            SourceFile(
                name=each.name,
                media_type=media_type_of(each.name, each.media_type),
                path=str(_copied(each, Path(folder) / str(number), most_bytes)),
                owner=each.owner,
            )
            for number, each in enumerate(files)
        )


def _copied(file: GivenFile, place: Path, most_bytes: int) -> Path:
    left = most_bytes + 1
    with file.opened() as source, place.open("wb") as copy:
        while left > 0 and (piece := source.read(min(left, _PIECE))):
            copy.write(piece)
            left -= len(piece)
    place.chmod(_FOR_A_WORKER_TO_READ)
    return place
