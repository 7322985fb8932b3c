from contextlib import nullcontext
from pathlib import Path

import pytest

from aex_models.audiences import Audience
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.files import UnknownLayout, ensure_data_dir
from aex_runtime.identity.local_key import UnsafeKey, load_or_create_key
from aex_runtime.identity.principals import Principal
from aex_runtime.service import assemble, open_backends
from aex_runtime.settings import BadConfiguration, RuntimeSettings
from aex_runtime.store.port import Collection, Transaction
from aex_runtime.store.spill import SpillingStore
from tests.libs.runtime.http.sample import memory_backends

THINGS = Collection("things")


def settings_in(path: Path, **values: str) -> RuntimeSettings:
    return RuntimeSettings.model_validate({"data_dir": path / "data", **values})


async def test_embedded_backends_are_in_the_data_directory(tmp_path: Path) -> None:
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


async def test_remote_backends_need_no_data_directory(tmp_path: Path) -> None:
    issuer = load_or_create_key(tmp_path / "elsewhere")
    given = {**REMOTE, "key_file": str(tmp_path / "elsewhere" / "keys" / "local-issuer.pem")}
    parts = assemble("settlement", settings_in(tmp_path, **given))
    assert parts.cursor_key == issuer.derive_secret("page cursors")
    assert not (tmp_path / "data").exists()
    await parts.close()


@pytest.mark.parametrize(
    ("variable", "url"),
    [("AEX_STORE_URL", "firestore://"), ("AEX_BUS_URL", "pubsub://"), ("AEX_BLOBS_URL", "gs://ab")],
)
def test_invalid_url_names_its_variable(tmp_path: Path, variable: str, url: str) -> None:
    with pytest.raises(BadConfiguration, match=f"^{variable}: "):
        open_backends(settings_in(tmp_path, **{variable.removeprefix("AEX_").lower(): url}), "settlement")


@pytest.mark.parametrize("missing", ["store_url", "bus_url", "blobs_url", "key_file"])
def test_data_directory_is_used_without_a_url(tmp_path: Path, missing: str) -> None:
    given = {**REMOTE, "key_file": "secret.pem"}
    assert not settings_in(tmp_path, **given).uses_data_dir()
    del given[missing]
    assert settings_in(tmp_path, **given).uses_data_dir()


@pytest.mark.parametrize("shares_folder", [True, False])
async def test_services_with_one_key_trust_each_other(tmp_path: Path, shares_folder: bool) -> None:
    load_or_create_key(tmp_path / "elsewhere")
    key = {} if shares_folder else {"key_file": str(tmp_path / "elsewhere" / "keys" / "local-issuer.pem")}
    second = tmp_path if shares_folder else tmp_path / "second"
    caller = assemble("verification", settings_in(tmp_path, **key), memory_backends())
    called = assemble("governance", settings_in(second, **key), memory_backends())
    token = await caller.service_tokens.get_token("governance")
    assert await called.verifier.verify(token) == Principal("service:verification", Audience.SERVICE)
    assert caller.cursor_key == called.cursor_key
    assert caller.cursor_key not in repr(caller).encode()
    assert (tmp_path / "data" / "keys").exists() is shares_folder


def test_unusable_data_directory_is_refused(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    assemble("settlement", settings, memory_backends())
    (settings.data_dir / "keys" / "local-issuer.pem").chmod(0o644)
    with pytest.raises(UnsafeKey):
        assemble("settlement", settings, memory_backends())
    (settings.data_dir / "version").write_text("99")
    with pytest.raises(UnknownLayout):
        assemble("settlement", settings, memory_backends())


async def test_opened_backends_alone_are_closed(tmp_path: Path) -> None:
    opened = assemble("settlement", settings_in(tmp_path))
    provided = assemble("settlement", settings_in(tmp_path), opened.backends)
    await provided.close()
    await opened.backends.store.ping()
    await opened.close()
    with pytest.raises(Exception, match=r"(?i)clos"):
        await opened.backends.store.ping()


def test_free_disk_space_is_measured_with_a_data_directory(tmp_path: Path) -> None:
    def names(**values: str) -> set[str]:
        parts = assemble("settlement", settings_in(tmp_path, **values), memory_backends())
        return {each.name for each in parts.gauges()}

    load_or_create_key(ensure_data_dir(tmp_path / "data"))
    elsewhere = {"store_url": "memory:", "bus_url": "memory:", "blobs_url": "memory:"}
    key = next(str(path) for path in (tmp_path / "data" / "keys").glob("*.pem"))
    assert "aex_data_dir_free_bytes" in names(**elsewhere)
    assert "aex_data_dir_free_bytes" not in names(**elsewhere, key_file=key)


@pytest.mark.parametrize(
    ("urls", "is_bounded"),
    [
        ({}, True),
        ({"store_url": "memory:", "bus_url": "memory:", "blobs_url": "memory:"}, False),
        ({"store_url": "memory:", "bus_url": "memory:", "blobs_url": "file:///{}/data/blobs"}, True),
        ({"store_url": "memory:", "bus_url": "memory:", "blobs_url": "file:///{}/elsewhere"}, False),
    ],
)
def test_free_space_is_required_where_content_is_in_the_data_directory(
    tmp_path: Path, urls: dict[str, str], is_bounded: bool
) -> None:
    placed = {name: url.format(tmp_path) for name, url in urls.items()}
    parts = assemble("settlement", settings_in(tmp_path, **placed, min_free_bytes=str(1 << 62)), memory_backends())
    with pytest.raises(TemporarilyUnavailable, match="storage_low") if is_bounded else nullcontext():
        parts.storage_bounds().require_free_disk_space()
