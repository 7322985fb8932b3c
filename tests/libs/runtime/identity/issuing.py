"""Keys of foreign issuers, and tokens signed with them, well formed or not."""

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
_MAKERS: dict[str, Any] = {
    "EdDSA": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm),
    "ES256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "RS256": (lambda: rsa.generate_private_key(65_537, 2_048), RSAAlgorithm),
    "RS256-short": (lambda: rsa.generate_private_key(65_537, 1_024), RSAAlgorithm),  # noqa: S505 to be refused
    "ES256-p384": (lambda: ec.generate_private_key(ec.SECP384R1()), ECAlgorithm),
}


@dataclass(frozen=True)
class Signer:
    kind: str
    private: Any
    kid: str = "k1"

    @property
    def algorithm(self) -> str:
        return self.kind.partition("-")[0]

    def jwk(self) -> dict[str, Any]:
        public = _MAKERS[self.kind][1].to_jwk(self.private.public_key(), as_dict=True)
        return {**public, "kid": self.kid, "alg": self.algorithm, "use": "sig"}

    def sign(self, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token; a claim set to None is left out."""
        all_claims = {k: v for k, v in {**CLAIMS, **claims}.items() if v is not None}
        return jwt.encode(all_claims, self.private, self.algorithm, headers={"kid": self.kid, **(headers or {})})


CLAIMS: dict[str, Any] = {
    "iss": "https://issuer.test",
    "sub": "acme",
    "aud": ["settlement"],
    "role": "consumer",
    "iat": int(NOW.timestamp()),
    "exp": int(NOW.timestamp()) + 600,
}


def part(value: Any) -> str:
    return base64url(json.dumps(value).encode())


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def signer(kind: str = "EdDSA", kid: str = "k1") -> Signer:
    return Signer(kind, _MAKERS[kind][0](), kid)


def write_jwks(path: Path, *signers: Signer) -> Path:
    path.write_text(json.dumps({"keys": [each.jwk() for each in signers]}), encoding="utf-8")
    return path
