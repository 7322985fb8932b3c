"""The stages of a Dockerfile carried out: what `docker build` does, as far as it can be done without it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.deploy.images.context import copy_context
from tests.deploy.images.dockerfile import Dockerfile, Instruction, Stage
from tests.deploy.images.rootfs import PATH, Container, Rootfs

IMAGES = ("work-publisher", "verification", "governance", "settlement", "aex-cli")
LAST = "image"
"""The stage without a name: what the others are for."""
FROM_OUTSIDE = "uv"
"""The stage that is another's image: its program is this machine's own, of the same version."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What stands in for what a build is given."""

    uv: Path
    uv_cache: Path


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its files, and what its Dockerfile says of the container."""

    files: Rootfs
    final: Stage

    @property
    def packages(self) -> Path:
        """The folder that its Python imports from."""
        return next(self.files.place("/app/.venv/lib").glob("python3*/site-packages"))

    @contextmanager
    def started(self, data: Path, log: Path, further: Mapping[str, str]) -> Iterator[Container]:
        """A container of it, with what is given on `/data` and with these variables beside its own."""
        folder = self.final.last("WORKDIR").rest
        with self.files.container(self.final.command, folder, self.environment(further), data, log) as container:
            yield container

    def environment(self, further: Mapping[str, str]) -> dict[str, str]:
        """The container's variables."""
        own = {name: value.replace("$PATH", PATH) for name, value in self.final.environment.items()}
        return {**own, **further}


def build(dockerfile: Dockerfile, folder: Path, tools: Tools) -> Image:
    """Carry out all stages and leave the last one in `folder`.

    Raises `RuntimeError` with what a command said, and leaves nothing.
    """
    with TemporaryDirectory(dir=folder.parent) as place:
        context, stages = Path(place, "context"), Path(place, "stages")
        copy_context(context)
        made: dict[str, Rootfs] = {}
        for stage in dockerfile.stages:
            name = stage.name or LAST
            made[name] = Rootfs.made(stages / name)
            if name != FROM_OUTSIDE:
                _carry_out(stage, made, context, name, tools)
            else:
                made[name].copy(tools.uv, "/uv")
        made[LAST].root.rename(folder)
    return of_folder(dockerfile, folder)


def of_folder(dockerfile: Dockerfile, folder: Path) -> Image:
    """The image that was built in a folder."""
    return Image(Rootfs(folder), dockerfile.final)


def _carry_out(stage: Stage, made: Mapping[str, Rootfs], context: Path, name: str, tools: Tools) -> None:
    here, folder, variables = made[name], "/", dict[str, str]()
    for each in stage.instructions:
        if each.keyword == "WORKDIR":
            folder = each.rest
            here.place(folder).mkdir(parents=True, exist_ok=True)
        elif each.keyword == "ENV":
            variables |= dict(word.split("=", 1) for word in each.words)
        elif each.keyword == "COPY":
            _copy(each, here, made, context, folder)
        elif each.keyword == "RUN" and "apt-get" not in each.rest:
            _run(each, here, folder, variables, tools)


def _copy(each: Instruction, here: Rootfs, made: Mapping[str, Rootfs], context: Path, folder: str) -> None:
    origin, target = each.words
    source = each.option("from")
    path = target if target.startswith("/") else f"{folder}/{target}"
    if source == FROM_OUTSIDE:  # /usr is this machine's, and is not written to
        path = path.replace("/usr/local/bin", "/app/bin")
    here.copy(made[source].place(origin) if source else context / origin, path)


def _run(each: Instruction, here: Rootfs, folder: str, variables: Mapping[str, str], tools: Tools) -> None:
    mounts: dict[Path, str] = {}
    for option, value in each.options:
        fields = dict(field.split("=", 1) for field in value.split(","))
        if option == "mount" and fields["type"] == "cache":
            mounts[tools.uv_cache] = fields["target"]
    here.run(each.rest, folder, {**variables, "PATH": f"/app/bin:{PATH}"}, mounts)
