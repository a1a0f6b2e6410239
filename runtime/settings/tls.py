"""`[http.tls]`, `[grpc.tls]` and the like: by which certificate a listener serves, and whose clients it takes."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic evaluates the annotation
from typing import Self

from pydantic import Field, model_validator

from runtime.certificates import CertificateError, CertificateFiles
from runtime.config_errors import Refusal
from runtime.settings.secrets import Section


class TlsSettings(Section):
    """TLS of one listener; without a certificate it serves plain text."""

    cert_file: Path | None = Field(
        default=None,
        description="File of the certificate with its chain (PEM) that the listener serves with; unset means no TLS. "
        "The files are read again within seconds of a change.",
    )
    key_file: Path | None = Field(
        default=None, description="File of the certificate's private key (PEM, without passphrase)."
    )
    client_ca_file: Path | None = Field(
        default=None,
        description="File of the authorities (PEM) by one of which a client's certificate has to be signed. Unset "
        "means that clients need none.",
    )

    @property
    def files(self) -> CertificateFiles | None:
        """The files, None without TLS."""
        if self.cert_file is None or self.key_file is None:
            return None
        return CertificateFiles(self.cert_file, self.key_file, self.client_ca_file)

    @model_validator(mode="after")
    def _load(self) -> Self:
        if self.cert_file is None:
            for name in ("key_file", "client_ca_file"):
                if getattr(self, name) is not None:
                    raise Refusal("a listener with TLS needs its certificate: add cert_file", member=name)
            return self
        if self.key_file is None:
            raise Refusal("a certificate needs its private key: add key_file", member="cert_file")
        files = self.files
        assert files is not None
        try:
            files.load()
        except CertificateError as error:
            hidden = "(hidden)" if error.member == "key_file" else None
            raise Refusal(error.fix, member=error.member, value=hidden) from None
        return self


class TlsClientSettings(Section):
    """How a transcoder reaches a private listener that has TLS."""

    ca_file: Path | None = Field(
        default=None,
        description="File of the authorities (PEM) that the server's certificate is checked by; unset means no TLS. "
        "Read at the start.",
    )
    cert_file: Path | None = Field(
        default=None, description="File of the certificate (PEM) that is shown to a server that asks for one."
    )
    key_file: Path | None = Field(default=None, description="File of that certificate's private key (PEM).")
    server_name: str | None = Field(
        default=None, description="Name that the server's certificate has to bear, where it is not that of the target."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.ca_file is None:
            for name in ("cert_file", "key_file", "server_name"):
                if getattr(self, name) is not None:
                    raise Refusal("TLS needs the authorities to check the server by: add ca_file", member=name)
        if (self.cert_file is None) != (self.key_file is None):
            raise Refusal("a certificate and its key go together: give both", member="cert_file")
        for name in ("ca_file", "cert_file", "key_file"):
            path = getattr(self, name)
            try:
                if path is not None:
                    path.read_bytes()
            except OSError:
                raise Refusal("give the path of a readable file in PEM", member=name) from None
        return self
