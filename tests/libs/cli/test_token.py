import json
import os
import subprocess
import sys
from pathlib import Path

import jwt
import pytest

from aex_cli.main import call
from tests.parts.google import ACCOUNTS


def minted(tmp_path: Path, *arguments: str) -> dict[str, object]:
    """The claims of a token that `aex token` printed, checked against the published key set."""
    printed = subprocess.run(
        [sys.executable, "-m", "aex_cli", "token", "--data-dir", str(tmp_path), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stderr == ""
    token = printed.stdout.removesuffix("\n")
    keys = jwt.PyJWKSet.from_dict(json.loads(next((tmp_path / "keys").glob("*.jwks.json")).read_text()))
    claims: dict[str, object] = jwt.decode(token, keys.keys[0], algorithms=["EdDSA"], audience="settlement")
    return claims


@pytest.mark.slow
def test_the_token_alone_is_printed_and_its_key_made_on_the_way(tmp_path: Path) -> None:
    claims = minted(tmp_path, "--role", "consumer", "--sub", "acme", "--org", "acme-corp", "--ttl", "90s")
    assert (claims["role"], claims["sub"], claims["org"]) == ("consumer", "acme", "acme-corp")
    assert claims["aud"] == ["work-publisher", "verification", "governance", "settlement"]
    assert int(str(claims["exp"])) - int(str(claims["iat"])) == 90
    assert "org" not in minted(tmp_path, "--role", "agent", "--sub", "solver")


@pytest.mark.slow
def test_the_data_directory_may_come_from_the_variable_that_the_services_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "aex_cli", "token", "--role", "agent", "--sub", "solver"]
    environment = {**os.environ, "AEX_DATA_DIR": str(tmp_path / "data")}
    told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    (key,) = (tmp_path / "data" / "keys").glob("*.jwks.json")
    public = jwt.PyJWKSet.from_dict(json.loads(key.read_text())).keys[0]
    assert jwt.decode(told.stdout.strip(), public, algorithms=["EdDSA"], audience="settlement")["sub"] == "solver"
    assert not (tmp_path / ".aex").exists()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--role", "agent", "--sub", "two words"], "--sub"),
        (["--role", "agent", "--sub", "a", "--org", ""], "--org"),
        (["--role", "agent", "--sub", "a", "--ttl", "forever"], "12h"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["token", "--data-dir", str(tmp_path), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert names in captured.err


def test_a_key_that_others_can_read_is_refused_and_the_next_start_keeps_one_that_is_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mint = ["token", "--data-dir", str(tmp_path), "--role", "agent", "--sub", "solver"]
    assert call(mint) == 0
    (pem,) = (tmp_path / "keys").glob("*.pem")
    assert pem.stat().st_mode & 0o077 == 0
    before = pem.read_bytes()
    assert call(mint) == 0
    assert pem.read_bytes() == before
    pem.chmod(0o644)
    capsys.readouterr()
    assert call(mint) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "chmod 600" in captured.err


def test_where_google_vouches_for_services_no_token_of_one_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mint = ["token", "--data-dir", str(tmp_path), "--sub", "service:verification", "--role"]
    assert call([*mint, "service"]) == 0
    monkeypatch.setenv("AEX_SERVICE_TOKENS", "google")
    assert call([*mint, "operator"]) == 2
    assert "AEX_SERVICE_ACCOUNTS" in capsys.readouterr().err
    monkeypatch.setenv("AEX_SERVICE_ACCOUNTS", json.dumps(ACCOUNTS))
    assert call([*mint, "operator"]) == 0
    capsys.readouterr()
    assert call([*mint, "service"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "AEX_SERVICE_TOKENS=google" in captured.err
