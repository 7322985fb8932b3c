"""Answers, events, logs, records and blobs left by the canary's story, as locations to scan."""

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.live import Live, clean_environment
from tests.e2e.parties import Caller
from tests.parts.openai_stub import ChatRequest
from tests.security.apps import all_guards
from tests.security.broken_input import send_broken_events, send_wrong_works
from tests.security.matrix import Route
from tests.security.recorded import SUFFIX
from tests.security.story import Played, play, readers_of
from tests.security.tape import Tape

_KEPT_AS_SENT = "%-dead-letter-messages"
"""The collections that hold broken messages exactly as sent."""
_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
_STATIC = "/docs/"
"""Files of the installation."""
_LISTS = (
    *("/v1/work", "/v1/contracts", "/v1/contracts/{contract_id}/attempts", "/v1/outcomes", "/v1/holds"),
    *("/v1/settlements", "/v1/accounts/{account_id:path}/entries"),
)
_QUERIES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    **dict.fromkeys(_LISTS, ({"limit": 200},)),
    "/v1/settlements/breakdown": ({"group_by": ["agent", "day"]},),
    "/v1/settlements/export": ({"format": "csv"}, {"format": "jsonl"}),
    "/v1/outcomes/export": ({"format": "jsonl"}, {"format": "rollouts"}),
}
"""Queries of routes that need more than their path."""
_WRONG_BODIES = (b'{"output": ', b"[]", b'{"output": {"text": "x"}, "claimed_metrics": {"rougeL": "much"}, "odd": 1}')


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The suite once the story is over."""

    live: Live
    events: Path
    tape: Tape
    requested: Sequence[ChatRequest]
    """Requests to the reviewer."""
    played: list[Played]
    refused: Mapping[str, int]
    dead_letters: int
    tokens: set[str] = field(repr=False)

    def rows(self, unlike: str = "") -> Iterator[tuple[str, str]]:
        for path in sorted(self.live.data_dir.rglob("*.sqlite3")):
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
                tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
                if "documents" in tables:
                    query = "SELECT collection, key || fields || CAST(body AS TEXT) FROM documents"
                    for name, text in connection.execute(f"{query} WHERE collection NOT LIKE ?", (unlike,)):
                        yield f"{path.parent.name}: {name}", text
                if "messages" in tables:
                    query = "SELECT topic, attributes || CAST(data AS TEXT) FROM messages"
                    yield from ((f"{path.name}: {topic}", text) for topic, text in connection.execute(query))

    def logs(self) -> list[tuple[str, str]]:
        """Return the log files and the output of `aex up`."""
        files = sorted((self.live.data_dir / "logs").iterdir())
        running = self.live.running
        return [*((each.name, each.read_text()) for each in files), ("aex up", "\n".join([*running.out, *running.err]))]

    def wire(self) -> list[tuple[str, str]]:
        return [(f"event of {each.name}", each.read_text()) for each in sorted(self.events.glob("*.jsonl"))]

    def spans(self) -> list[tuple[str, str]]:
        files = sorted(self.events.glob(f"*{SUFFIX}"))
        return [(f"spans of {each.name}", each.read_text()) for each in files]

    def letters(self) -> list[tuple[str, str]]:
        """Return what `aex deadletters list` prints."""
        command = ["deadletters", "list", "--limit", "10000", "--data-dir", str(self.live.data_dir)]
        return [(f"aex deadletters list {' '.join(form)}", _output_of(*command, *form)) for form in ([], ["--json"])]

    def prompts(self) -> list[tuple[str, str]]:
        return [(f"prompt {number}", json.dumps(each.body)) for number, each in enumerate(self.requested)]

    def locations_of(self, kind: str) -> list[tuple[str, str]]:
        return list(self._readers[kind]())

    def locations(self) -> list[tuple[str, str]]:
        """Return what leaves the platform or stays in it, without evaluation data and requests."""
        return [location for read in self._readers.values() for location in read()]

    @property
    def _readers(self) -> dict[str, Callable[[], Iterable[tuple[str, str]]]]:
        return {
            "events": self.wire,
            "logs": self.logs,
            "spans": self.spans,
            "records": partial(self.rows, _KEPT_AS_SENT),
            "blobs": self.blobs,
            "dead letters": self.letters,
            "prompts": self.prompts,
        }

    def blobs(self) -> list[tuple[str, str]]:
        """Return every blob except evaluation data and the consumers' raw data."""
        root = self.live.data_dir / "blobs"
        files = [
            each
            for each in sorted(root.rglob("*"))
            if each.is_file() and not {"evaluation", "data"} & {*each.relative_to(root).parts}
        ]
        return [(str(each.relative_to(root)), each.read_bytes().decode(errors="replace")) for each in files]

    def evaluation_blobs(self) -> dict[str, str]:
        files = [each for each in (self.live.data_dir / "blobs" / "evaluation").rglob("*") if each.is_file()]
        return {each.name: str(json.loads(each.read_text())["salt"]) for each in files}


@cache
def _output_of(*arguments: str) -> str:
    """Return the output of an `aex` command; it runs once, since the story is over."""
    command = [sys.executable, "-m", "aex_cli", *arguments]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def play_all(live: Live, events: Path, tape: Tape, requested: Sequence[ChatRequest], apps: Path) -> Aftermath:
    """Play the story on a recording client, with every answer read in every role.

    `apps` is the folder in which applications may be built.
    """
    routes = list(all_guards(apps))
    played = play(live)
    tokens: set[str] = set()
    for each in played:
        readers = readers_of(each)
        _crawl(routes, readers, {**each.ids, "agent_id": each.parties.agent.id}, lists=each.last)
        tokens.update(reader.token for reader in readers)
    for each in (played[0], played[-1]):
        _post_wrong_bodies(routes, each.parties.agent, each.ids)
    refused = send_wrong_works(played[0].parties)
    dead_letters = send_broken_events(live)
    _crawl(routes, readers_of(played[0]), played[0].ids, lists=True)
    return Aftermath(live, events, tape, requested, played, refused, dead_letters, tokens)


def _crawl(routes: Iterable[Route], readers: Iterable[Caller], ids: Mapping[str, str], *, lists: bool) -> None:
    """Get each route about the contract, as each reader; with `lists` those that are about no object, too."""
    expected = [route for route in routes if route.method == "GET" and (lists or "{" in route.path)]
    for reader in readers:
        for route in expected:
            path = _path(route, reader, ids)
            if path is not None and not path.startswith(_STATIC):
                for query in _QUERIES.get(route.path, ({},)):
                    _assert_no_breakdown(reader.get(route.service, path, **query))


def _post_wrong_bodies(routes: Iterable[Route], reader: Caller, ids: Mapping[str, str]) -> None:
    for route in routes:
        path = _path(route, reader, ids)
        if route.method == "POST" and path is not None:
            for content in _WRONG_BODIES:
                _assert_no_breakdown(reader.raw(route.service, path, content))


def _path(route: Route, reader: Caller, ids: Mapping[str, str]) -> str | None:
    """Return the route's path for this contract; None where it has no such object."""
    known = {**ids, "account_id": f"agent:{reader.id}"}
    names = set(_PARAMETER.findall(route.path))
    return _PARAMETER.sub(lambda found: known[found[1]], route.path) if names <= set(known) else None


def _assert_no_breakdown(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
