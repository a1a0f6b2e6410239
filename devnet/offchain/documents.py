"""A stand-in of an IPFS and an Arweave gateway: the documents of the local NFTs, and what hosts answer instead of one.

Both lie below `/content`, as behind a public gateway: `/content/ipfs/<content id>/...` and `/content/<Arweave id>/...`.
"""

import asyncio
import gzip
import json
from functools import cache
from typing import Any

from aiohttp import web

from devnet import known_nft

_BASE = "/content"
_JSON = "application/json"
_SLOW_SECONDS = 30


def add_routes(app: web.Application) -> None:
    """Serve the gateway below `/content`."""
    for root in (f"/ipfs/{known_nft.CONTENT_ID}", f"/{known_nft.ARWEAVE_ID}"):
        app.router.add_get(f"{_BASE}{root}/lighthouses/{{number}}", _lighthouse)
        app.router.add_get(f"{_BASE}{root}/goods/{{number}}.json", _good)
        app.router.add_get(f"{_BASE}{root}/odd/{{name}}", _odd)


def settings(authority: str) -> dict[str, Any]:
    """Return what the gateway's settings need to read documents at `host:port`, as the table `nft` is."""
    base = [f"http://{authority}{_BASE}"]
    return {"ipfs_gateways": base, "arweave_gateways": base}


def lighthouse(number: int) -> dict[str, Any]:
    """Return the document of a lighthouse."""
    return {
        "name": f"Lighthouse #{number}",
        "description": "Stands on the local chain.",
        "image": f"ipfs://{known_nft.CONTENT_ID}/images/{number}.svg",
        "attributes": [{"trait_type": "height", "value": 20 + number % 7, "display_type": "number"}],
    }


def good(token_id: int) -> dict[str, Any]:
    """Return the document of a token of GOODS; its image's address has a place for the id."""
    return {
        "name": f"Goods {token_id % 1000}",
        "decimals": 0,
        "image": f"ipfs://{known_nft.CONTENT_ID}/goods/{{id}}.png",
        "properties": {"token": token_id},
    }


# What is not a document as it should be; the text is sent as it is.
ODD = {
    "good one #1.json": '{"name":"Named oddly"}',
    "html": "<html><body>Gateway timeout</body></html>",
    "broken": '{"name":"Broken",}',
    "huge": '{"name":"' + "x" * (3 << 20) + '"}',
    "deep": '{"name":"Deep","a":' + "[" * 500 + "]" * 500 + "}",
    "duplicates": '{"name":"first","id":123456789012345678901234567890,"x":1.10,"name":"last","x":[{"a":1,"a":2}]}',
    "marked": '\ufeff{"name":"Marked","image_url":"ar://' + known_nft.ARWEAVE_ID + '/1.png","image":null}',
}
_REDIRECTS = {
    "redirect": "good one %231.json",
    "to-metadata-service": "http://169.254.169.254/latest/meta-data/",
}


@cache
def _bomb() -> bytes:
    """Return some kilobytes that unpack to 8 MiB."""
    return gzip.compress(b" " * (8 << 20))


async def _lighthouse(request: web.Request) -> web.Response:
    return web.json_response(lighthouse(int(request.match_info["number"])))


async def _good(request: web.Request) -> web.Response:
    digits = request.match_info["number"]
    if len(digits) != 64 or digits != digits.lower():
        raise web.HTTPNotFound
    return web.Response(text=json.dumps(good(int(digits, 16))), content_type=_JSON)


async def _odd(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name in _REDIRECTS:
        raise web.HTTPFound(_REDIRECTS[name])
    if name == "slow":
        await asyncio.sleep(_SLOW_SECONDS)
    if name == "bomb":
        return web.Response(body=_bomb(), headers={"Content-Encoding": "gzip"}, content_type=_JSON)
    if name not in ODD:
        raise web.HTTPNotFound
    kind = "text/html" if name == "html" else "text/plain"
    return web.Response(text=ODD[name], content_type=kind)
