"""Where a token's document or image is, out of the many ways in which contracts write that.

`ipfs://` (with and without a second `ipfs/`), `ipns://`, bare content ids and `/ipfs/` paths lead to the configured
IPFS gateways, `ar://` to the Arweave gateways, https addresses to themselves; `data:` and bare JSON or SVG hold the
content itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from server.fetch import parse_data_url

if TYPE_CHECKING:
    from collections.abc import Sequence

# Content ids: version 0 (base58), version 1 in any of the bases that are in use.
_CID = r"(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|[bBfFkKzZuU][A-Za-z0-9_-]{40,127})"
_IPFS = re.compile(rf"(?:ipfs://|/ipfs/|ipfs/)(?:ipfs/)*(?P<root>{_CID})(?P<tail>[/?#].*)?", re.IGNORECASE | re.DOTALL)
_IPNS = re.compile(
    r"(?:ipns://|/ipns/)(?P<root>[A-Za-z0-9][A-Za-z0-9._-]{0,127})(?P<tail>[/?#].*)?", re.IGNORECASE | re.DOTALL
)
_BARE = re.compile(r"(?P<root>Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,120})(?P<tail>[/?#].*)?", re.DOTALL)
_ARWEAVE = re.compile(r"ar://(?P<root>[A-Za-z0-9_-]{43})(?P<tail>[/?#].*)?", re.IGNORECASE | re.DOTALL)
_HTTP = re.compile(r"https?://", re.IGNORECASE)
_PLAIN_HTTP = re.compile(r"\Ahttp://", re.IGNORECASE)
_HTTP_IPFS = re.compile(rf"https://[^/?#]+/ipfs/(?P<root>{_CID})(?P<tail>[/?#].*)?", re.IGNORECASE | re.DOTALL)
_BEGIN_CONTENT = ("{", "<")
PLACE = "{id}"
"""Where ERC-1155 has the token id filled in."""

MAX_FILLED = 2 << 20
"""The longest text, in characters, that an id is filled in for."""

_KEPT = "/%:@!$&'()*+,;=~-._?"


class Location(NamedTuple):
    """Where something is.

    `shown` is its address as callers can use it. `candidates` are addresses to fetch it from, the best first; `inline`
    holds the content itself, in each way in which it may be meant. Neither: `problem` states why.
    """

    shown: str
    candidates: tuple[str, ...] = ()
    inline: tuple[bytes, ...] = ()
    problem: str | None = None


class Gateways:
    """Locates documents through gateways: base URLs below which `/ipfs/<content id>` or `/<Arweave id>` lie."""

    def __init__(self, ipfs: Sequence[str], arweave: Sequence[str]) -> None:
        self._ipfs = tuple(base.rstrip("/") for base in ipfs)
        self._arweave = tuple(base.rstrip("/") for base in arweave)

    def show(self, text: str) -> str:
        """Return the address that the text is as callers can use it; content in its place stays as it is."""
        text = text.strip()
        return text if _is_data(text) or text[:1] in _BEGIN_CONTENT else self.locate(text).shown

    def locate(self, text: str) -> Location:
        """Return where the text leads."""
        text = text.strip()
        if _is_data(text):
            found = parse_data_url(text)
            return Location(text, inline=found.candidates) if found else Location(text, problem="its data is broken")
        if text[:1] in _BEGIN_CONTENT:
            return Location(text, inline=(text.encode("utf-8", "replace"),))
        for pattern, kind, bases, folder in (
            (_IPFS, "IPFS", self._ipfs, "/ipfs/"),
            (_IPNS, "IPFS", self._ipfs, "/ipns/"),
            (_BARE, "IPFS", self._ipfs, "/ipfs/"),
            (_ARWEAVE, "Arweave", self._arweave, "/"),
        ):
            if match := pattern.fullmatch(text):
                return _behind(match, kind, bases, folder, text)
        if _HTTP.match(text):
            match = _HTTP_IPFS.fullmatch(text)
            others = _behind(match, "IPFS", self._ipfs, "/ipfs/", text).candidates if match else ()
            # Plain http is asked only where the configuration allows the host; most others answer over TLS as well.
            secure = _PLAIN_HTTP.sub("https://", text)
            return Location(text, candidates=tuple(dict.fromkeys((text, secure, *others))))
        if not text:
            return Location(text, problem="its address is empty")
        return Location(text, problem="its address is of a kind that is not fetched")


def _is_data(text: str) -> bool:
    return text[:5].lower() == "data:"


def fill_in(text: str, token_id: int) -> str:
    """Return the text with every `{id}` as EIP-1155 asks: 64 hex digits in lower case, without 0x.

    A text that would become longer than `MAX_FILLED` characters stays as it is: four characters turn into 64.
    """
    filled = f"{token_id:064x}"
    size = len(text) + text.count(PLACE) * (len(filled) - len(PLACE))
    return text.replace(PLACE, filled) if size <= MAX_FILLED else text


def _behind(match: re.Match[str], kind: str, bases: Sequence[str], folder: str, text: str) -> Location:
    """Return what lies behind gateways; a path that would leave its folder is not asked for."""
    tail = match["tail"] or ""
    path = unquote(tail.partition("?")[0]).replace("\\", "/")
    if any(part in (".", "..") for part in path.split("/")):
        return Location(text, problem="its address leaves its own folder")
    if not bases:
        return Location(text, problem=f"no {kind} gateway is configured")
    candidates = tuple(f"{base}{folder}{match['root']}{quote(tail, safe=_KEPT)}" for base in bases)
    return Location(candidates[0], candidates)
