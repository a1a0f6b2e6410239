"""Files of a listener's certificate, read and tried in a handshake before anything is served with them."""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NO_TIME_CHECK = 0x200000  # X509_V_FLAG_NO_CHECK_TIME, which the library does not name


class CertificateError(Exception):
    """Files that cannot be served with: the setting's member that is at fault, and what to write instead."""

    def __init__(self, member: str, fix: str) -> None:
        super().__init__(member, fix)
        self.member = member
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a listener serves with. `expires_at` is in unix seconds."""

    context: ssl.SSLContext
    chain: bytes
    key: bytes
    client_authorities: bytes | None
    expires_at: float


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The files of a listener's certificate."""

    certificate: Path
    key: Path
    client_authorities: Path | None

    def state(self) -> tuple[tuple[int, int, int], ...]:
        """Return what changes with the files: their inodes, times and sizes; what is not there is nothing."""
        found = []
        for path in (self.certificate, self.key, self.client_authorities):
            if path is not None:
                with suppress(OSError):
                    now = path.stat()
                    found.append((now.st_ino, now.st_mtime_ns, now.st_size))
        return tuple(found)

    def load(self) -> Certificate:
        """Return the certificate, proved in a handshake; CertificateError for files that cannot be served with."""
        contents = {}
        for member, path in (
            ("cert_file", self.certificate),
            ("key_file", self.key),
            ("client_ca_file", self.client_authorities),
        ):
            try:
                contents[member] = None if path is None else path.read_bytes()
            except OSError as error:
                fix = f"the file cannot be read ({error.strerror}): give a readable file in PEM"
                raise CertificateError(member, fix) from None
        context = _server_context(self.certificate, self.key)
        expires_at = _try(context, contents["cert_file"] or b"")
        if self.client_authorities is not None:
            context = _server_context(self.certificate, self.key)
            try:
                context.load_verify_locations(self.client_authorities)
            except (OSError, ValueError):
                fix = "give a file that holds the certificates of authorities in PEM"
                raise CertificateError("client_ca_file", fix) from None
            context.verify_mode = ssl.CERT_REQUIRED
        return Certificate(
            context, contents["cert_file"] or b"", contents["key_file"] or b"", contents["client_ca_file"], expires_at
        )


def _server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without an answer of its own the library asks for a passphrase at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError):
        fix = "give files of a certificate and of its own private key, in PEM and without passphrase"
        raise CertificateError("cert_file", fix) from None
    return context


def _try(server: ssl.SSLContext, chain: bytes) -> float:
    """Return when the certificate runs out, as a client reads it that trusts this very certificate."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(_NO_TIME_CHECK)
    try:
        client.load_verify_locations(cadata=chain.decode("ascii", "replace"))
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        here = client.wrap_bio(to_client, to_server)
        there = server.wrap_bio(to_server, to_client, server_side=True)
        for side in (here, there, here, there):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
        found = here.getpeercert()
    except (OSError, ValueError):
        found = None
    if not found:
        raise CertificateError("cert_file", "no handshake comes about with the certificate: give a server's own")
    return float(ssl.cert_time_to_seconds(str(found["notAfter"])))
