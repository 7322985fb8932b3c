"""Settings come from the environment, have working defaults, and are refused early where they cannot work."""

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


def test_without_an_environment_everything_is_embedded_and_on_loopback() -> None:
    settings = RuntimeSettings()
    assert settings.host == "127.0.0.1"
    assert settings.store_url_of("settlement") == "sqlite:///.aex/settlement/store.sqlite3"
    assert settings.bus_url_of() == "embedded:///.aex/bus"
    assert settings.blobs_url_of() == "file:///.aex/blobs"
    ports = [settings.port_of(name) for name in ("work-publisher", "verification", "governance", "settlement")]
    assert ports == [8081, 8082, 8083, 8084]


def test_an_absolute_data_directory_gives_absolute_urls(tmp_path: Path) -> None:
    settings = RuntimeSettings(data_dir=tmp_path)
    assert settings.store_url_of("governance") == f"sqlite:///{tmp_path}/governance/store.sqlite3"
    assert settings.store_url_of("governance").startswith("sqlite:////")


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "AEX_PORT": "0",
        "AEX_STORE_URL": "sqlite:////var/x.sqlite3",
        "AEX_SETTLEMENT_URL": "http://settlement:8084/",
        "AEX_FEE_RATE": "0.05",
        "AEX_PARENT_FD": "3",
        "AEX_LOG_LEVEL": "",
        "AEX_ISSUERS": json.dumps([ISSUER]),
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    settings = RuntimeSettings()
    assert settings.port_of("settlement") == 0
    assert settings.store_url_of("settlement") == "sqlite:////var/x.sqlite3"
    assert settings.settlement_url == "http://settlement:8084"
    assert str(settings.fee_rate) == "0.05"
    assert (settings.parent_fd, settings.log_level) == (3, "info")
    assert settings.issuers[0].roles == frozenset({Audience.CONSUMER})


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
def test_an_unknown_scheme_is_refused_by_name_and_without_its_secrets(name: str, url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        RuntimeSettings.model_validate({name: url})
    message = caught.value.errors(include_input=False)[0]["msg"]
    assert f"AEX_{name.upper()}" in message
    assert "://" in message
    assert "CANARY" not in message


@pytest.mark.parametrize(
    "change",
    [
        {"roles": []},
        {"roles": ["king"]},
        {"algorithms": []},
        {"algorithms": ["HS256"]},
        {"algorithms": ["none"]},
        {"jwks": "http://idp.test/jwks"},
        {"jwks": "ftp://idp.test/jwks"},
        {"iss": ""},
        {"secret": "x"},
    ],
)
def test_an_issuer_that_could_not_be_trusted_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RuntimeSettings.model_validate({"issuers": [{**ISSUER, **change}]})


@pytest.mark.parametrize("text", ["{", "CANARY", "[5]", '"text"'])
def test_issuers_that_are_no_json_are_refused_without_repeating_them(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("AEX_ISSUERS", text)
    with pytest.raises(ValidationError) as caught:
        RuntimeSettings()
    assert "CANARY" not in str(caught.value.errors(include_input=False, include_context=False))


@pytest.mark.parametrize(
    "change", [{"port": -1}, {"port": 70_000}, {"governance_url": "governance"}, {"fee_rate": "2"}, {"parent_fd": -1}]
)
def test_values_that_cannot_work_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RuntimeSettings.model_validate(change)


def test_a_service_adds_its_own() -> None:
    class Settings(RuntimeSettings):
        """With one more."""

        max_waits: int = 5

    assert Settings().max_waits == 5
    assert Settings.model_validate({"max_waits": 7}).port_of("verification") == 8082


def test_emulators_are_found_under_the_names_that_the_tools_of_google_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert RuntimeSettings().firestore_emulator_host is None
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:8080")
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "localhost:8085")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://localhost:9199")
    settings = RuntimeSettings()
    assert settings.firestore_emulator_host == "127.0.0.1:8080"
    assert settings.pubsub_emulator_host == "localhost:8085"
    assert settings.storage_emulator_host == "http://localhost:9199"


@pytest.mark.parametrize("host", ["http://localhost:8080", "localhost", "localhost:port", ":8080", "h:99999"])
def test_an_emulator_host_that_is_no_host_and_port_is_refused(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
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
def test_the_google_project_is_the_one_given_or_that_of_a_url(given: dict[str, str], project: str | None) -> None:
    assert RuntimeSettings.model_validate(given).google_project_of() == project


@pytest.mark.parametrize("name", ["Acme", "x", "acme prod", "acme/prod", "acme-"])
def test_what_is_no_project_s_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="google_project"):
        RuntimeSettings.model_validate({"google_project": name})


def test_services_sign_for_each_other_unless_google_is_to(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (RuntimeSettings().service_tokens, RuntimeSettings().service_accounts) == ("local", {})
    monkeypatch.setenv("AEX_SERVICE_TOKENS", "google")
    monkeypatch.setenv("AEX_SERVICE_ACCOUNTS", json.dumps(ACCOUNTS))
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:8099")
    settings = RuntimeSettings()
    assert (settings.service_tokens, settings.service_accounts) == ("google", ACCOUNTS)
    assert settings.metadata_host == "127.0.0.1:8099"
    assert settings.google_jwks == "https://www.googleapis.com/oauth2/v3/certs"


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
                "",
                "governance",
                "somebody@gmail.com",
                "gov@my-project.iam.gserviceaccount.com.evil.test",
                "gov@evilgserviceaccount.com",
                "Gov@my-project.iam.gserviceaccount.com",
                "gov@my-project.iam.gserviceaccount.com ",
                "gov@other@my-project.iam.gserviceaccount.com",
            )
        ),
    ],
)
def test_accounts_that_google_could_not_vouch_for_are_refused_with_the_variable_and_the_fix(
    monkeypatch: pytest.MonkeyPatch, accounts: dict[str, str] | None, words: str
) -> None:
    monkeypatch.setenv("AEX_SERVICE_TOKENS", "google")
    if accounts is not None:
        monkeypatch.setenv("AEX_SERVICE_ACCOUNTS", json.dumps(accounts))
    with pytest.raises(ValidationError, match=f"AEX_SERVICE_ACCOUNTS: .*{words}"):
        RuntimeSettings()


@pytest.mark.parametrize("text", ["{", "verification=x", "[1]", "7", '{"verification": 7}'])
def test_accounts_that_are_no_json_object_are_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("AEX_SERVICE_ACCOUNTS", text)
    with pytest.raises(ValidationError, match="service_accounts"):
        RuntimeSettings()


@pytest.mark.parametrize(
    "email",
    [
        "aex-governance@my-project.iam.gserviceaccount.com",
        "gov@my-project.example.com.iam.gserviceaccount.com",
        "123456789012-compute@developer.gserviceaccount.com",
        "my-project@appspot.gserviceaccount.com",
    ],
)
def test_every_form_of_a_service_accounts_address_is_taken(email: str) -> None:
    accounts = {**ACCOUNTS, "governance": email}
    given = {"service_tokens": "google", "service_accounts": accounts}
    assert RuntimeSettings.model_validate(given).service_accounts["governance"] == email


def test_google_is_not_trusted_twice() -> None:
    google = {**ISSUER, "iss": "https://accounts.google.com"}
    given = {"service_accounts": ACCOUNTS, "issuers": [google]}
    assert RuntimeSettings.model_validate(given).issuers
    with pytest.raises(ValidationError, match=r"AEX_ISSUERS: https://accounts\.google\.com is there already"):
        RuntimeSettings.model_validate({**given, "service_tokens": "google"})


@pytest.mark.parametrize(
    "change",
    [
        {"service_tokens": "github"},
        {"google_jwks": "http://www.googleapis.com/oauth2/v3/certs"},
        {"google_jwks": "ftp://keys.test/certs"},
        {"google_jwks": ""},
        {"metadata_host": "http://metadata.google.internal"},
        {"metadata_host": "metadata.google.internal/computeMetadata"},
        {"metadata_host": "metadata:99999"},
        {"metadata_host": "metadata:"},
        {"metadata_host": "metadata?x"},
        {"metadata_host": "user@metadata"},
    ],
)
def test_googles_keys_and_tokens_come_from_where_they_can_be_trusted(change: dict[str, str]) -> None:
    given = {"google_jwks": "/keys/google.json", "metadata_host": "metadata"}
    assert RuntimeSettings.model_validate(given).metadata_host == "metadata"
    with pytest.raises(ValidationError):
        RuntimeSettings.model_validate(change)
