"""The last stage of each Dockerfile, which says how a container runs."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOL = "aex-cli"


@dataclass(frozen=True, slots=True)
class LastStage:
    """The instructions of an image's last stage, by keyword; of repeated ones the last."""

    instructions: dict[str, str]
    environment: dict[str, str]

    def command(self) -> list[str]:
        return [word for each in ("ENTRYPOINT", "CMD") for word in json.loads(self.instructions.get(each, "[]"))]


def dockerfile_path(image: str) -> Path:
    return ROOT / ("libs" if image == TOOL else "services") / image / "Dockerfile"


def parse_last_stage(text: str) -> LastStage:
    """Return the instructions after the last FROM; hadolint checks their form."""
    body = re.sub(r"(?m)^\s*#.*\n", "", text[text.rindex("\nFROM ") + 1 :])
    lines = [line.split(maxsplit=1) for line in re.sub(r"\\\n\s*", "", body).splitlines() if line]
    environment = [word.split("=", 1) for keyword, rest in lines if keyword == "ENV" for word in shlex.split(rest)]
    return LastStage(dict(lines), dict(environment))


def read_last_stage(image: str) -> LastStage:
    return parse_last_stage(dockerfile_path(image).read_text(encoding="utf-8"))
