"""A Dockerfile as its stages, and what the last one says of the container."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from tests.libs.cli.suites import ROOT

_STAGE = re.compile(r"(?P<image>\S+)(?:\s+AS\s+(?P<name>\S+))?")
_OPTION = re.compile(r"--(?P<name>[a-z-]+)=(?P<value>\S+)\s+")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its keyword, its options, and the rest in one line."""

    keyword: str
    options: tuple[tuple[str, str], ...]
    rest: str

    @property
    def words(self) -> list[str]:
        """The rest as a list: in JSON where it is the exec form."""
        return [str(each) for each in json.loads(self.rest)] if self.rest.startswith("[") else shlex.split(self.rest)

    def option(self, name: str) -> str | None:
        """An option that is given once, or None."""
        return dict(self.options).get(name)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: what it starts from, and its instructions in order."""

    image: str
    name: str | None
    instructions: list[Instruction] = field(default_factory=list)

    def of(self, keyword: str) -> list[Instruction]:
        """Those with a keyword."""
        return [each for each in self.instructions if each.keyword == keyword]

    def last(self, keyword: str) -> Instruction:
        """The one that counts, of those that overwrite each other."""
        return self.of(keyword)[-1]

    @property
    def environment(self) -> dict[str, str]:
        """All that it sets; references to other variables as they are written."""
        return dict(word.split("=", 1) for each in self.of("ENV") for word in each.words)

    @property
    def command(self) -> list[str]:
        """What the container runs."""
        entry = self.of("ENTRYPOINT")
        return [*(entry[-1].words if entry else []), *self.last("CMD").words]


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """The arguments before the first stage, and the stages."""

    arguments: dict[str, str]
    stages: list[Stage]

    def stage(self, name: str) -> Stage:
        """The stage of a name."""
        return next(each for each in self.stages if each.name == name)

    @property
    def final(self) -> Stage:
        """The image itself."""
        return self.stages[-1]


def path_of(image: str) -> Path:
    """Where the Dockerfile of a service, or of `aex-cli`, is."""
    return ROOT / ("libs" if image == "aex-cli" else "services") / image / "Dockerfile"


def read(text: str) -> Dockerfile:
    """The file in its parts. Raises `ValueError` for an instruction before the first stage that is no ARG."""
    found = Dockerfile({}, [])
    for line in _lines(text):
        each = _instruction(line)
        if each.keyword == "FROM":
            match = _STAGE.fullmatch(each.rest)
            if match is None:
                raise ValueError(f"no stage: {line}")
            found.stages.append(Stage(match["image"], match["name"]))
        elif found.stages:
            found.stages[-1].instructions.append(each)
        elif each.keyword == "ARG":
            name, _, default = each.rest.partition("=")
            found.arguments[name] = default
        else:
            raise ValueError(f"before the first stage: {line}")
    return found


def _lines(text: str) -> list[str]:
    """Instructions without comments, each in one line."""
    kept = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return re.sub(r"\\\n\s*", "", "\n".join(kept)).splitlines()


def _instruction(line: str) -> Instruction:
    keyword, _, rest = line.strip().partition(" ")
    options: list[tuple[str, str]] = []
    rest = rest.lstrip()
    while (match := _OPTION.match(rest)) is not None:
        options.append((match["name"], match["value"]))
        rest = rest[match.end() :]
    return Instruction(keyword, tuple(options), rest)
