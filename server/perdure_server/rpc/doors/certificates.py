"""The server's certificate and key, and the CA of its clients, read and checked before gRPC gets them.

gRPC asks for the certificates at every handshake (`dynamic_ssl_server_credentials`), so a new one counts from the next connection on.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import grpc
from msgspec import Struct

from perdure_server.rpc.doors.invalid import DoorsInvalid
from perdure_server.rpc.doors.reloading import read_file

if TYPE_CHECKING:
    from datetime import datetime

    from cryptography import x509


class TlsFiles(Struct, frozen=True):
    """Where they are, in PEM. `client_ca` None: clients show no certificate; else all of them must."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """All of them."""
        return (self.certificate, self.key) if self.client_ca is None else (self.certificate, self.key, self.client_ca)


class Certificates(Struct, frozen=True):
    """What gRPC takes, and until when it is good."""

    configuration: grpc.ServerCertificateConfiguration
    good_until: "datetime"

    def __repr__(self) -> str:
        return f"Certificates(good_until={self.good_until:%Y-%m-%d})"


def read_certificates(files: TlsFiles, now: "Callable[[], datetime]") -> Certificates:
    """Read and check them. Raises DoorsInvalid: a file is missing or no PEM, the key is another's, the certificate has expired."""
    chain, key = read_file(files.certificate), read_file(files.key)
    leaf = _certificates(files.certificate, chain)[0]
    _check_key(files, key, leaf)
    if leaf.not_valid_after_utc <= now():
        raise DoorsInvalid([f"{files.certificate}: has expired on {leaf.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"])
    roots = None
    if files.client_ca is not None:
        roots = read_file(files.client_ca)
        _certificates(files.client_ca, roots)
    return Certificates(grpc.ssl_server_certificate_configuration([(key, chain)], roots), leaf.not_valid_after_utc)


def server_credentials(current: Callable[[], Certificates], mutual: bool) -> grpc.ServerCredentials:
    """Credentials that show whatever is current at the time of a handshake. `mutual`: clients must have a certificate of the client CA."""
    shown = current()

    def fetch() -> grpc.ServerCertificateConfiguration | None:  # called by gRPC's own threads
        nonlocal shown
        newest = current()
        if newest is shown:
            return None
        shown = newest
        return newest.configuration

    # The stubs do not know that None means "no change".
    fetching = cast("Callable[[], grpc.ServerCertificateConfiguration]", fetch)
    return grpc.dynamic_ssl_server_credentials(shown.configuration, fetching, mutual)


def _certificates(path: Path, data: bytes) -> "list[x509.Certificate]":
    from cryptography import x509  # noqa: PLC0415 -- only a server with TLS needs it, and it takes its time

    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError:
        raise DoorsInvalid([f"{path}: holds no certificate in PEM"]) from None


def _check_key(files: TlsFiles, data: bytes, leaf: "x509.Certificate") -> None:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 -- as above
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 -- as above

    try:
        key = load_pem_private_key(data, password=None)
    except TypeError:
        raise DoorsInvalid(
            [f"{files.key}: is encrypted; the server takes a key without a password, in a file that only it can read"]
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise DoorsInvalid([f"{files.key}: holds no private key in PEM"]) from None
    if key.public_key() != leaf.public_key():
        raise DoorsInvalid([f"{files.key}: is not the key of the certificate in {files.certificate}"])
