"""A service is composed of its backends; what was opened here is closed here."""

from pathlib import Path

import pytest

from aex_models.audiences import Audience
from aex_runtime.data_dir import UnknownLayout, open_data_dir
from aex_runtime.identity.local_key import UnsafeKey, local_key
from aex_runtime.identity.principal import Principal
from aex_runtime.service import Backends, assemble, open_backends
from aex_runtime.settings import BadConfiguration, RuntimeSettings
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Transaction
from aex_runtime.store.spill import SpillingStore
from tests.libs.runtime.http.sample import memory_backends

THINGS = Collection("things")


def settings_in(path: Path, **values: str) -> RuntimeSettings:
    return RuntimeSettings.model_validate({"data_dir": path / "data", **values})


async def test_the_embedded_backends_lie_in_the_data_directory(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    backends = open_backends(settings, "settlement")
    assert isinstance(backends.store, SpillingStore)
    assert not (tmp_path / "data").exists()

    async def write(transaction: Transaction) -> None:
        transaction.create(THINGS, "large", b'"' + b"x" * 100_000 + b'"', {})

    await backends.store.transact(write)
    await backends.bus.ping()
    await backends.bus.close()
    await backends.store.close()
    assert {path.name for path in (tmp_path / "data").iterdir()} >= {"settlement", "bus", "blobs"}
    assert [
        path for path in (tmp_path / "data" / "blobs").rglob("*") if path.is_file() and path.stat().st_size > 90_000
    ]


REMOTE = {"store_url": "firestore://project", "bus_url": "pubsub://project", "blobs_url": "gs://bucket"}


async def test_remote_backends_are_opened_without_a_call_and_without_a_data_directory(tmp_path: Path) -> None:
    issuer = local_key(tmp_path / "elsewhere")
    given = {**REMOTE, "key_file": str(tmp_path / "elsewhere" / "keys" / "local-issuer.pem")}
    parts = assemble("settlement", settings_in(tmp_path, **given))
    assert parts.cursor_key == issuer.secret_for("page cursors")
    assert not (tmp_path / "data").exists()
    await parts.close()


@pytest.mark.parametrize(
    ("variable", "url"),
    [("AEX_STORE_URL", "firestore://"), ("AEX_BUS_URL", "pubsub://"), ("AEX_BLOBS_URL", "gs://ab")],
)
def test_a_url_that_names_nothing_is_bad_configuration_with_its_variable(
    tmp_path: Path, variable: str, url: str
) -> None:
    with pytest.raises(BadConfiguration, match=f"^{variable}: "):
        open_backends(settings_in(tmp_path, **{variable.removeprefix("AEX_").lower(): url}), "settlement")


@pytest.mark.parametrize("missing", ["store_url", "bus_url", "blobs_url", "key_file"])
def test_what_has_no_url_is_kept_in_the_data_directory(tmp_path: Path, missing: str) -> None:
    given = {**REMOTE, "key_file": "secret.pem"}
    assert not settings_in(tmp_path, **given).uses_data_dir()
    del given[missing]
    assert settings_in(tmp_path, **given).uses_data_dir()


async def test_services_that_are_given_one_key_trust_each_other_from_different_directories(tmp_path: Path) -> None:
    local_key(tmp_path / "elsewhere")
    key = str(tmp_path / "elsewhere" / "keys" / "local-issuer.pem")
    caller = assemble("verification", settings_in(tmp_path / "one", key_file=key), memory_backends())
    called = assemble("governance", settings_in(tmp_path / "two", key_file=key), memory_backends())
    token = await caller.service_tokens.token("governance")
    assert await called.verifier.verify(token) == Principal("service:verification", Audience.SERVICE)
    assert not (tmp_path / "one" / "data" / "keys").exists()


async def test_the_parts_of_one_installation_trust_each_other(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    caller = assemble("verification", settings, memory_backends())
    called = assemble("governance", settings, memory_backends())
    token = await caller.service_tokens.token("governance")
    assert await called.verifier.verify(token) == Principal("service:verification", Audience.SERVICE)
    assert caller.cursor_key == called.cursor_key
    assert caller.cursor_key not in repr(caller).encode()


def test_an_unusable_data_directory_is_refused(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    assemble("settlement", settings, memory_backends())
    (settings.data_dir / "keys" / "local-issuer.pem").chmod(0o644)
    with pytest.raises(UnsafeKey):
        assemble("settlement", settings, memory_backends())
    (settings.data_dir / "version").write_text("99")
    with pytest.raises(UnknownLayout):
        assemble("settlement", settings, memory_backends())


class Closing(MemoryStore):
    """A store that tells whether it was closed."""

    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_backends_that_were_given_stay_open(tmp_path: Path) -> None:
    store, ports = Closing(), memory_backends()
    parts = assemble(
        "settlement", settings_in(tmp_path), Backends(store, ports.bus, ports.blobs, ports.clock, ports.ids)
    )
    await parts.close()
    assert not store.closed


async def test_backends_that_were_opened_here_are_closed(tmp_path: Path) -> None:
    parts = assemble("settlement", settings_in(tmp_path))
    await parts.backends.store.ping()
    await parts.close()
    with pytest.raises(Exception, match=r"(?i)clos"):
        await parts.backends.store.ping()


def test_room_on_the_disk_is_watched_where_there_is_a_data_directory(tmp_path: Path) -> None:
    def names(**values: str) -> set[str]:
        parts = assemble("settlement", settings_in(tmp_path, **values), memory_backends())
        return {each.name for each in parts.gauges()}

    local_key(open_data_dir(tmp_path / "data"))
    elsewhere = {"store_url": "memory:", "bus_url": "memory:", "blobs_url": "memory:"}
    key = next(str(path) for path in (tmp_path / "data" / "keys").glob("*.pem"))
    assert "aex_data_dir_free_bytes" in names(**elsewhere)
    assert "aex_data_dir_free_bytes" not in names(**elsewhere, key_file=key)
