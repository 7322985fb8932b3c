import json
from datetime import timedelta
from pathlib import Path

import jwt
import pytest

from aex_cli.commands.token import load_or_create_signing_key, parse_duration
from aex_cli.main import run_command_line
from aex_runtime.commandline import UserError
from aex_runtime.identity.local_key import load_or_create_key
from tests.parts.google import ACCOUNTS


def claims_of(token: str, data_dir: Path) -> dict[str, object]:
    """The claims of a token, checked against the published key set."""
    keys = jwt.PyJWKSet.from_dict(json.loads(next((data_dir / "keys").glob("*.jwks.json")).read_text()))
    claims: dict[str, object] = jwt.decode(token, keys.keys[0], algorithms=["EdDSA"], audience="settlement")
    return claims


def test_token_alone_is_printed_and_its_key_created(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["token", "--data-dir", str(tmp_path), "--role"]
    assert run_command_line([*command, "consumer", "--sub", "acme", "--org", "acme-corp", "--ttl", "90s"]) == 0
    printed = capsys.readouterr()
    claims = claims_of(printed.out.removesuffix("\n"), tmp_path)
    assert (printed.err, claims["role"], claims["sub"], claims["org"]) == ("", "consumer", "acme", "acme-corp")
    assert claims["aud"] == ["work-publisher", "verification", "governance", "settlement"]
    assert int(str(claims["exp"])) - int(str(claims["iat"])) == 90
    assert run_command_line([*command, "agent", "--sub", "solver"]) == 0
    assert "org" not in claims_of(capsys.readouterr().out.strip(), tmp_path)


def test_variable_names_the_data_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AEX_DATA_DIR", str(tmp_path / "data"))
    assert run_command_line(["token", "--role", "agent", "--sub", "solver"]) == 0
    assert claims_of(capsys.readouterr().out.strip(), tmp_path / "data")["sub"] == "solver"
    assert not (tmp_path / ".aex").exists()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--role", "agent", "--sub", "two words"], "--sub"),
        (["--role", "agent", "--sub", "a", "--org", ""], "--org"),
        (["--role", "agent", "--sub", "a", "--ttl", "forever"], "12h"),
    ],
)
def test_bad_arguments_are_named(
    arguments: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["token", "--data-dir", str(tmp_path), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert names in captured.err


def test_private_key_is_kept_and_a_readable_one_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mint = ["token", "--data-dir", str(tmp_path), "--role", "agent", "--sub", "solver"]
    assert run_command_line(mint) == 0
    (pem,) = (tmp_path / "keys").glob("*.pem")
    assert pem.stat().st_mode & 0o077 == 0
    before = pem.read_bytes()
    assert run_command_line(mint) == 0
    assert pem.read_bytes() == before
    pem.chmod(0o644)
    capsys.readouterr()
    assert run_command_line(mint) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "chmod 600" in captured.err


def test_service_token_is_refused_with_google_service_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mint = ["token", "--data-dir", str(tmp_path), "--sub", "service:verification", "--role"]
    assert run_command_line([*mint, "service"]) == 0
    monkeypatch.setenv("AEX_SERVICE_TOKENS", "google")
    assert run_command_line([*mint, "operator"]) == 2
    assert "AEX_SERVICE_ACCOUNTS" in capsys.readouterr().err
    monkeypatch.setenv("AEX_SERVICE_ACCOUNTS", json.dumps(ACCOUNTS))
    assert run_command_line([*mint, "operator"]) == 0
    capsys.readouterr()
    assert run_command_line([*mint, "service"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "AEX_SERVICE_TOKENS=google" in captured.err


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        (" 12h ", timedelta(hours=12)),
        ("365d", timedelta(days=365)),
    ],
)
def test_duration_is_one_number_and_one_unit(text: str, span: timedelta) -> None:
    assert parse_duration(text) == span


@pytest.mark.parametrize(
    "text", ["", "12", "h", "0h", "-1h", "1.5h", "366d", "999999d", "1h30m", "12 h", "１２h", "1w"]
)
def test_other_durations_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_duration(text)
    assert "12h" in refused.value.text()


def test_signing_key_is_the_data_directorys_or_the_given_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        load_or_create_signing_key(tmp_path / ".aex").public_jwk() == load_or_create_key(tmp_path / ".aex").public_jwk()
    )
    shared = load_or_create_key(tmp_path / "shared")
    monkeypatch.setenv("AEX_KEY_FILE", str(tmp_path / "shared" / "keys" / "local-issuer.pem"))
    assert load_or_create_signing_key(tmp_path / "other").public_jwk() == shared.public_jwk()
    assert not (tmp_path / "other").exists()
    monkeypatch.setenv("AEX_KEY_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(UserError, match=r"none\.pem cannot be read"):
        load_or_create_signing_key(tmp_path / ".aex")
