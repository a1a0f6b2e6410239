"""What the REST routes share: the query, its height, its refusals, pages."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from bech32 import bech32_decode, bech32_encode, convertbits

from devnet.cosmos.ledger import Ledger
from devnet.cosmos.state import State

Json = dict[str, Any]
HEIGHT = "x-cosmos-block-height"
_PAGE = 100


class Refused(Exception):
    """An error as the gateway answers it: HTTP status, gRPC code, words."""

    def __init__(self, status: int, code: int, words: str) -> None:
        super().__init__(words)
        self.status, self.code, self.words = status, code, words

    def response(self) -> web.Response:
        """Return it as a response."""
        body = {"code": self.code, "message": self.words, "details": []}
        return web.json_response(body, status=self.status)


@dataclass(frozen=True)
class Query:
    """One GET: path arguments, query, and the state and height that it is answered at."""

    ledger: Ledger
    path: Mapping[str, str]
    values: Mapping[str, str]
    state: State
    height: int

    @classmethod
    def of(cls, ledger: Ledger, request: web.Request) -> "Query":
        """Return the query of a request. Raises Refused for a height whose state is not there."""
        text = request.headers.get(HEIGHT, "0")
        if not text.isdigit():
            raise Refused(400, 3, f"invalid height header {HEIGHT!r}: {text}")
        height = int(text) or ledger.head.height
        if height > ledger.head.height:
            words = "cannot query with height in the future; please provide a valid height"
            raise Refused(400, 3, f"{words}: invalid height")
        block = ledger.block(height)
        if block is None:
            words = f"failed to load state at height {height}; version does not exist"
            raise Refused(500, 2, f"{words} (latest height: {ledger.head.height}): invalid request")
        return cls(ledger, request.match_info, request.query, block.state, height)


def addressed(query: Query, name: str, kind: str = "", status: int = 400) -> str:
    """Return the Bech32 address of a path argument. Raises Refused as the module would."""
    text = query.path[name]
    prefix, data = bech32_decode(text)
    code = 3 if status == 400 else 2
    if prefix is None or data is None:
        raise Refused(status, code, "decoding bech32 failed: invalid checksum")
    wanted = query.ledger.chain.prefix + kind
    if prefix != wanted:
        raise Refused(status, code, f"invalid Bech32 prefix; expected {wanted}, got {prefix}")
    return text


def bech32(prefix: str, data: bytes) -> str:
    """Return bytes as an address; hex where there is no prefix."""
    words = convertbits(data, 8, 5)
    return data.hex() if not prefix or words is None else str(bech32_encode(prefix, words))


def paged(query: Query, name: str, rows: list[Json]) -> Json:
    """Return one page of rows. Raises Refused for a bad key or limit."""
    try:
        limit = int(query.values.get("pagination.limit", "0")) or _PAGE
        key = query.values.get("pagination.key", "")
        start = int(base64.b64decode(key, validate=True)) if key else int(query.values.get("pagination.offset", "0"))
    except ValueError:
        raise Refused(400, 3, "invalid pagination") from None
    end = start + limit
    following = base64.b64encode(str(end).encode()).decode() if end < len(rows) else None
    total = "0" if key else str(len(rows))
    return {name: rows[start:end], "pagination": {"next_key": following, "total": total}}


def printed(body: Json, height: int) -> web.Response:
    """Return an answer with the header that states its height."""
    return web.Response(
        text=json.dumps(body),
        content_type="application/json",
        headers={"Grpc-Metadata-X-Cosmos-Block-Height": str(height)},
    )
