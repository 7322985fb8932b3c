import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.audiences import Audience
from aex_runtime.settings import RuntimeSettings
from tests.parts.google import ACCOUNTS

ISSUER = {"iss": "https://idp.test", "roles": ["consumer"], "jwks": "https://idp.test/jwks", "algorithms": ["ES256"]}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    google = ("FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST", "STORAGE_EMULATOR_HOST")
    tokens = ("AEX_SERVICE_TOKENS", "AEX_SERVICE_ACCOUNTS", "AEX_GOOGLE_JWKS", "GCE_METADATA_HOST")
    for name in ("AEX_STORE_URL", "AEX_BUS_URL", "AEX_BLOBS_URL", "AEX_DATA_DIR", "AEX_PORT", *google, *tokens):
        monkeypatch.delenv(name, raising=False)


def test_defaults_are_embedded_and_on_loopback(tmp_path: Path) -> None:
    settings = RuntimeSettings()
    assert settings.host == "127.0.0.1"
    assert settings.firestore_emulator_host is None
    assert (settings.service_tokens, settings.service_accounts) == ("local", {})
    assert settings.google_jwks == "https://www.googleapis.com/oauth2/v3/certs"
    assert settings.effective_store_url("settlement") == "sqlite:///.aex/settlement/store.sqlite3"
    assert settings.effective_bus_url() == "embedded:///.aex/bus"
    assert settings.effective_blobs_url() == "file:///.aex/blobs"
    ports = [settings.effective_port(name) for name in ("work-publisher", "verification", "governance", "settlement")]
    assert ports == [8081, 8082, 8083, 8084]
    absolute = RuntimeSettings(data_dir=tmp_path)
    assert absolute.effective_store_url("governance") == f"sqlite:///{tmp_path}/governance/store.sqlite3"


def test_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "AEX_PORT": "0",
        "AEX_STORE_URL": "sqlite:////var/x.sqlite3",
        "AEX_SETTLEMENT_URL": "http://settlement:8084/",
        "AEX_FEE_RATE": "0.05",
        "AEX_PARENT_FD": "3",
        "AEX_LOG_LEVEL": "",
        "AEX_ISSUERS": json.dumps([ISSUER]),
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:8080",
        "PUBSUB_EMULATOR_HOST": "localhost:8085",
        "STORAGE_EMULATOR_HOST": "http://localhost:9199",
        "AEX_SERVICE_TOKENS": "google",
        "AEX_SERVICE_ACCOUNTS": json.dumps(ACCOUNTS),
        "GCE_METADATA_HOST": "127.0.0.1:8099",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    settings = RuntimeSettings()
    assert settings.effective_port("settlement") == 0
    assert settings.effective_store_url("settlement") == "sqlite:////var/x.sqlite3"
    assert settings.settlement_url == "http://settlement:8084"
    assert str(settings.fee_rate) == "0.05"
    assert (settings.parent_fd, settings.log_level) == (3, "info")
    assert settings.issuers[0].roles == frozenset({Audience.CONSUMER})
    emulators = (settings.firestore_emulator_host, settings.pubsub_emulator_host, settings.storage_emulator_host)
    assert emulators == ("127.0.0.1:8080", "localhost:8085", "http://localhost:9199")
    assert (settings.service_tokens, settings.service_accounts) == ("google", ACCOUNTS)
    assert settings.metadata_host == "127.0.0.1:8099"


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("store_url", "postgres://user:CANARY@db/x"),
        ("store_url", "embedded:///x"),
        ("bus_url", "kafka://host"),
        ("blobs_url", "s3://bucket"),
        ("blobs_url", "nothing"),
    ],
)
def test_unknown_scheme_is_refused_without_its_secrets(name: str, url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        RuntimeSettings.model_validate({name: url})
    message = caught.value.errors(include_input=False)[0]["msg"]
    assert f"AEX_{name.upper()}" in message
    assert "://" in message
    assert "CANARY" not in message


@pytest.mark.parametrize("name", ["AEX_ISSUERS", "AEX_SERVICE_ACCOUNTS"])
@pytest.mark.parametrize("text", ["{", "CANARY", "[5]", '"text"', '{"verification": 7}'])
def test_malformed_json_is_refused_unquoted(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ValidationError, match=name.removeprefix("AEX_").lower()) as caught:
        RuntimeSettings()
    assert "CANARY" not in str(caught.value.errors(include_input=False, include_context=False))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("roles", [[], ["king"]]),
        ("algorithms", [[], ["HS256"], ["none"]]),
        ("jwks", ["http://idp.test/jwks", "ftp://idp.test/jwks"]),
        ("iss", [""]),
        ("secret", ["x"]),
    ],
)
def test_invalid_issuer_is_refused(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ValidationError):
            RuntimeSettings.model_validate({"issuers": [{**ISSUER, name: value}]})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("port", [-1, 70_000]),
        ("governance_url", ["governance"]),
        ("fee_rate", ["2"]),
        ("parent_fd", [-1]),
        ("google_project", ["Acme", "x", "acme prod", "acme/prod", "acme-"]),
        ("service_tokens", ["github"]),
        ("google_jwks", ["http://www.googleapis.com/oauth2/v3/certs", "ftp://keys.test/certs", ""]),
        (
            "metadata_host",
            ["http://metadata", "metadata/compute", "metadata:99999", "metadata:", "m?x", "me@it"],
        ),
    ],
)
def test_invalid_values_are_refused(name: str, values: list[Any]) -> None:
    valid = {"google_jwks": "/keys/google.json", "metadata_host": "metadata"}
    assert RuntimeSettings.model_validate(valid).metadata_host == "metadata"
    for value in values:
        with pytest.raises(ValidationError, match=name):
            RuntimeSettings.model_validate({name: value})


@pytest.mark.parametrize("host", ["http://localhost:8080", "localhost", "localhost:port", ":8080", "h:99999"])
def test_invalid_emulator_host_is_refused(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", host)
    with pytest.raises(ValidationError, match=r"FIRESTORE_EMULATOR_HOST\n.*host:port without http://"):
        RuntimeSettings()
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "[::1]:8080")
    assert RuntimeSettings().firestore_emulator_host == "[::1]:8080"


@pytest.mark.parametrize(
    ("given", "project"),
    [
        ({}, None),
        ({"store_url": "sqlite:///x", "bus_url": "embedded:///y"}, None),
        ({"store_url": "firestore://acme-prod/main"}, "acme-prod"),
        ({"bus_url": "pubsub://acme-prod"}, "acme-prod"),
        ({"store_url": "firestore://acme.com:records", "bus_url": "pubsub://acme-events"}, "acme.com:records"),
        ({"store_url": "firestore://acme-prod", "google_project": "acme-ops"}, "acme-ops"),
    ],
)
def test_google_project_comes_from_setting_or_url(given: dict[str, str], project: str | None) -> None:
    assert RuntimeSettings.model_validate(given).effective_google_project() == project


VERIFICATIONS = ACCOUNTS["verification"]


@pytest.mark.parametrize(
    ("accounts", "words"),
    [
        (None, "AEX_SERVICE_TOKENS=google needs the account of work-publisher, verification, governance, settlement"),
        ({"verification": VERIFICATIONS}, "the account of work-publisher, governance, settlement; name the Google"),
        ({**ACCOUNTS, "ledger": "aex-ledger@my-project.iam.gserviceaccount.com"}, "there is no service 'ledger'"),
        ({**ACCOUNTS, "settlement": VERIFICATIONS}, "two services have one account"),
        *(
            ({**ACCOUNTS, "governance": email}, "governance has .*, no address of a service account")
            for email in (
                "", "governance", "person@gmail.com", "gov@my-project.iam.gserviceaccount.com.evil.test",
                "gov@evilgserviceaccount.com", "Gov@my-project.iam.gserviceaccount.com", "gov@p.gserviceaccount.com ",
            )
        ),
    ],
)  # fmt: skip
def test_invalid_accounts_are_refused_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, accounts: dict[str, str] | None, words: str
) -> None:
    monkeypatch.setenv("AEX_SERVICE_TOKENS", "google")
    if accounts is not None:
        monkeypatch.setenv("AEX_SERVICE_ACCOUNTS", json.dumps(accounts))
    with pytest.raises(ValidationError, match=f"AEX_SERVICE_ACCOUNTS: .*{words}"):
        RuntimeSettings()


def test_all_service_account_addresses_are_accepted() -> None:
    accounts = {
        "work-publisher": "aex-governance@my-project.iam.gserviceaccount.com",
        "verification": "gov@my-project.example.com.iam.gserviceaccount.com",
        "governance": "123456789012-compute@developer.gserviceaccount.com",
        "settlement": "my-project@appspot.gserviceaccount.com",
    }
    given = {"service_tokens": "google", "service_accounts": accounts}
    assert RuntimeSettings.model_validate(given).service_accounts == accounts


def test_google_is_not_trusted_twice() -> None:
    google = {**ISSUER, "iss": "https://accounts.google.com"}
    given = {"service_accounts": ACCOUNTS, "issuers": [google]}
    assert RuntimeSettings.model_validate(given).issuers
    with pytest.raises(ValidationError, match=r"AEX_ISSUERS: https://accounts\.google\.com is there already"):
        RuntimeSettings.model_validate({**given, "service_tokens": "google"})
