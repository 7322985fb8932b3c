"""The platform's signing key: created once in the data directory, or given as a file."""

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aex_models.canonical import canonical_bytes
from aex_runtime.files import create_file_once, replace_file

LOCAL_ISS = "aex-local"
_PRIVATE, _PUBLIC = "local-issuer.pem", "local-issuer.jwks.json"


class UnsafeKey(Exception):
    """A key file that cannot be used: others can read it, or it holds no Ed25519 key."""


@dataclass(frozen=True, slots=True)
class LocalKey:
    """An Ed25519 key pair, and its id: the thumbprint of RFC 7638."""

    private: Ed25519PrivateKey
    kid: str

    def public_jwk(self) -> dict[str, Any]:
        """Return the public key as a JSON Web Key."""
        return _public_jwk(self.private) | {"kid": self.kid, "alg": "EdDSA", "use": "sig"}

    def derive_secret(self, purpose: str) -> bytes:
        """Return a secret of 32 bytes for a purpose, equal in every process that has this key."""
        seed = self.private.private_bytes_raw()
        return hashlib.blake2b(purpose.encode(), key=seed, digest_size=32, person=b"aex-derive").digest()


def load_or_create_key(data_dir: Path) -> LocalKey:
    """Return the key in `data_dir/keys`. If there is none, create it and a file with its public key.

    Processes that start at the same time create one key. Raises `UnsafeKey` if others can read the file.
    """
    folder = data_dir / "keys"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / _PRIVATE
    if not path.exists():
        pem, pkcs8, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        create_file_once(path, Ed25519PrivateKey.generate().private_bytes(pem, pkcs8, plain), mode=0o600)
    key = _load(path)
    public = folder / _PUBLIC
    if not public.exists():
        replace_file(public, json.dumps({"keys": [key.public_jwk()]}, indent=2).encode(), mode=0o644)
    return key


def load_key_file(path: Path) -> LocalKey:
    """Return the key in a file, such as a mounted secret. Raises `UnsafeKey`.

    Other users must not be able to read a file of this user. The mode of another user's file is not checked, as in
    OpenSSH. Cloud Run mounts secrets as files of root, which a container of another user can read only if all users
    can.
    """
    try:
        return _load(path, checks_foreign_files=False)
    except OSError as error:
        raise UnsafeKey(f"{path} cannot be read: {error.strerror}") from error


def _load(path: Path, *, checks_foreign_files: bool = True) -> LocalKey:
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())
        if stat.st_mode & 0o077 and (checks_foreign_files or stat.st_uid == os.geteuid()):
            raise UnsafeKey(f"{path} can be read by others: chmod 600 {path}")
        pem = file.read()
    try:
        private = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:  # TypeError: it is encrypted
        raise UnsafeKey(f"{path} holds no Ed25519 key") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise UnsafeKey(f"{path} holds no Ed25519 key")
    thumbprint = hashlib.sha256(canonical_bytes(_public_jwk(private))).digest()
    return LocalKey(private, _base64url(thumbprint))


def _public_jwk(private: Ed25519PrivateKey) -> dict[str, Any]:
    return {"kty": "OKP", "crv": "Ed25519", "x": _base64url(private.public_key().public_bytes_raw())}


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
