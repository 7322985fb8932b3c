from pathlib import Path

import pytest

from aex_cli.signing_key import signing_key
from aex_runtime.commandline.errors import UserError
from aex_runtime.identity.local_key import local_key


def test_without_a_given_key_it_is_that_of_the_data_directory(tmp_path: Path) -> None:
    made = signing_key(tmp_path / ".aex")
    assert made.jwk() == local_key(tmp_path / ".aex").jwk()


def test_a_given_key_comes_before_the_data_directory_which_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = local_key(tmp_path / "shared")
    monkeypatch.setenv("AEX_KEY_FILE", str(tmp_path / "shared" / "keys" / "local-issuer.pem"))
    assert signing_key(tmp_path / ".aex").jwk() == shared.jwk()
    assert not (tmp_path / ".aex").exists()


def test_a_given_key_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEX_KEY_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(UserError, match=r"none\.pem cannot be read"):
        signing_key(tmp_path / ".aex")
