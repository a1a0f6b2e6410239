"""`[nft]`: through which gateways the documents of tokens are read."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from runtime.config_errors import Refusal
from runtime.settings.secrets import Section
from runtime.settings.values import split_list


def _check_gateway(value: str) -> str:
    """Return the base URL of a gateway, without a slash at its end."""
    fix = "give the base URL of a gateway, for example https://ipfs.io, without query and credentials"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise Refusal(fix, value="(hidden)") from None
    plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not plain or not value.isprintable():
        raise Refusal(fix, value="(hidden)")
    return value.rstrip("/")


_Gateways = Annotated[tuple[Annotated[str, AfterValidator(_check_gateway)], ...], BeforeValidator(split_list)]


class NftSettings(Section):
    """Gateways are asked in their order. Their addresses are no secrets: answers hold them."""

    ipfs_gateways: _Gateways = Field(
        default=("https://ipfs.io", "https://dweb.link"),
        description="Gateways below which `/ipfs/<content id>` lies; answers point to the first. One that is private "
        "or not on https has to stand in `fetcher.allow` as well.",
    )
    arweave_gateways: _Gateways = Field(
        default=("https://arweave.net",), description="Gateways below which `/<Arweave id>` lies, likewise."
    )

    def plain_gateways(self) -> dict[str, str]:
        """Return host and port of every gateway that is asked over http, by its key."""
        found = {}
        for name in ("ipfs_gateways", "arweave_gateways"):
            for index, gateway in enumerate(getattr(self, name)):
                parts = urlsplit(gateway)
                if parts.scheme == "http":
                    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
                    found[f"{name}[{index}]"] = f"{host}:{parts.port or 80}"
        return found
