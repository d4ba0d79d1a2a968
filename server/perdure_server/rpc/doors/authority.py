"""A small certificate authority of one's own, for trying TLS out and for tests: a CA, a server and clients, valid for days."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from perdure_server.rpc import limits

OWNER_ONLY: Final = 0o600
_BACKDATED: Final = timedelta(milliseconds=limits.CERTIFICATE_BACKDATED)


class Pair(Struct, frozen=True):
    """Where a certificate and its key are, in PEM."""

    certificate: Path
    key: Path


class Authority:
    """A CA whose key never leaves this process: what it has not signed by its end, it never will."""

    def __init__(self, directory: Path, valid: timedelta, now: datetime | None = None) -> None:
        """Writes `ca.pem` into the directory. Everything is valid for `valid` from now on."""
        self._directory = directory
        self._begin = (now or datetime.now(UTC)) - _BACKDATED
        self._end = self._begin + _BACKDATED + valid
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = _name("Perdure try-out CA")
        builder = self._builder(name, name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self._certificate = builder.add_extension(_usage(signs=True), critical=True).sign(self._key, hashes.SHA256())
        self.ca = directory / "ca.pem"
        self.ca.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def server(self, *hosts: str, file: str = "server") -> Pair:
        """A server's, for these names and addresses; it may ask itself for its health."""
        return self._issue(
            file, hosts[0], [_host(host) for host in hosts], [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        )

    def client(self, common_name: str, uri: str = "", file: str = "client") -> Pair:
        """A client's."""
        return self._issue(file, common_name, [x509.UniformResourceIdentifier(uri)] if uri else [], [ExtendedKeyUsageOID.CLIENT_AUTH])

    def _issue(self, file: str, common_name: str, names: list[x509.GeneralName], purposes: list[x509.ObjectIdentifier]) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(common_name), self._certificate.subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True).add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        pair = Pair(self._directory / f"{file}.pem", self._directory / f"{file}-key.pem")
        write_secret(pair.key, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        pair.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
        return pair

    def _builder(self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), self._begin, self._end)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        subject_identifier = x509.SubjectKeyIdentifier.from_public_key(key)
        return builder.add_extension(identifier, critical=False).add_extension(subject_identifier, critical=False)


def write_secret(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, also while it is being written."""
    path.unlink(missing_ok=True)
    path.touch(OWNER_ONLY, exist_ok=False)
    path.write_bytes(data)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
