import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from aex_runtime.identity.local_key import UnsafeKey, load_key_file, load_or_create_key

_OTHER_UID = 65_534


def test_callers_that_start_together_share_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({key.kid for key in pool.map(lambda _: load_or_create_key(tmp_path), range(16))}) == 1
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == ["local-issuer.jwks.json", "local-issuer.pem"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    load_or_create_key(tmp_path)
    (tmp_path / "keys" / "local-issuer.pem").chmod(mode)
    with pytest.raises(UnsafeKey, match="chmod 600"):
        load_or_create_key(tmp_path)
    with pytest.raises(UnsafeKey, match="can be read by others"):
        load_key_file(tmp_path / "keys" / "local-issuer.pem")


def test_key_is_private_and_kept_and_its_public_half_is_published(tmp_path: Path) -> None:
    key, path = load_or_create_key(tmp_path), tmp_path / "keys" / "local-issuer.pem"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)] == [0o700, 0o600]
    for same in (load_or_create_key(tmp_path), load_key_file(path)):
        assert (key.kid, key.derive_secret("cursors")) == (same.kid, same.derive_secret("cursors"))
    assert key.derive_secret("cursors") != key.derive_secret("other")
    (published,) = json.loads((tmp_path / "keys" / "local-issuer.jwks.json").read_text())["keys"]
    assert published == key.public_jwk()
    assert set(published) == {"kty", "crv", "x", "kid", "alg", "use"}


@pytest.mark.parametrize("content", [b"", b"no key at all", None])
def test_file_without_an_ed25519_key_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "keys" / "local-issuer.pem"
    path.parent.mkdir()
    rsa = generate_private_key(65_537, 2_048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(rsa if content is None else content)
    path.chmod(0o600)
    with pytest.raises(UnsafeKey, match="no Ed25519 key"):
        load_or_create_key(tmp_path)


def test_missing_configured_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeKey, match=r"secret\.pem cannot be read: No such file"):
        load_key_file(tmp_path / "secret.pem")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away and switch users")
def test_configured_key_of_another_user_is_accepted(tmp_path: Path) -> None:
    made = load_or_create_key(tmp_path)
    with TemporaryDirectory() as open_folder:
        Path(open_folder).chmod(0o755)
        mounted = Path(open_folder, "secret.pem")
        mounted.write_bytes((tmp_path / "keys" / "local-issuer.pem").read_bytes())
        mounted.chmod(0o444)
        os.seteuid(_OTHER_UID)
        try:
            assert load_key_file(mounted).kid == made.kid
        finally:
            os.seteuid(0)
        with pytest.raises(UnsafeKey, match="can be read by others"):  # root's own file, and root reads it
            load_key_file(mounted)
