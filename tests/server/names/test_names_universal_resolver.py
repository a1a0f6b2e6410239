"""What the Universal Resolver may revert with or return, each put in its place as code that does exactly that."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from eth_abi.abi import encode

from devnet import known, known_names
from server.errors import NotFound, NotSupported, Reverted, UpstreamUnavailable
from server.names import lookups
from server.names.names import load_errors
from server.rpc.pipeline.errors import facts_of
from tests.server.names import gateway

if TYPE_CHECKING:
    from tests.server.names.conftest import Site

pytestmark = pytest.mark.devnet

RETURN, REVERT = 0xF3, 0xFD
OWN = bytes.fromhex(known_names.UNIVERSAL_RESOLVER[2:])


def always(ending: int, data: bytes) -> bytes:
    """Return runtime code that ends every call with `data`: CODECOPY of what follows it, then RETURN or REVERT."""
    size = len(data).to_bytes(3, "big")
    return b"\x62" + size + b"\x60\x10\x5f\x39\x62" + size + b"\x5f" + bytes([ending]) + b"\0\0" + data


def lookup(sender: bytes, urls: list[str], data: bytes = b"", extra: bytes = b"") -> bytes:
    packed = encode(["address", "string[]", "bytes", "bytes4", "bytes"], [sender, urls, data, b"back", extra])
    return lookups.OFFCHAIN_LOOKUP + packed


@pytest.mark.parametrize("selector", load_errors(), ids=lambda selector: load_errors()[selector].signature)
async def test_every_known_error_has_its_meaning(selector: bytes, site: Site) -> None:
    await site.put(always(REVERT, selector + bytes(64)))
    expected = {"absent": NotFound, "unreachable": UpstreamUnavailable}[load_errors()[selector].means]
    with pytest.raises(expected):
        await site.resolve("vitalik.eth")
    with pytest.raises(expected):
        await site.reverse(known.VITALIK)


async def test_an_unknown_error_is_reported_as_a_revert(site: Site) -> None:
    await site.put(always(REVERT, bytes.fromhex("deadbeef") + bytes(32)))
    with pytest.raises(Reverted, match="0xdeadbeef") as caught:
        await site.resolve("vitalik.eth")
    assert facts_of(caught.value)["selector"] == "0xdeadbeef"


async def test_without_the_universal_resolver_nothing_is_taken_for_missing(site: Site) -> None:
    await site.put(b"")
    for question in (site.resolve("vitalik.eth"), site.reverse(known.VITALIK)):
        with pytest.raises(NotSupported, match="Universal Resolver"):
            await question


@pytest.mark.parametrize("data", [bytes(31), bytes(32), b"\xff" * 96, encode(["uint256"], [2**200]) * 3])
async def test_an_answer_that_cannot_be_read_is_an_outage(data: bytes, site: Site) -> None:
    await site.put(always(RETURN, data))
    for question in (site.resolve("vitalik.eth"), site.reverse(known.VITALIK)):
        with pytest.raises(UpstreamUnavailable):
            await question


@pytest.mark.parametrize("result", [b"", bytes(32), b"\xff" * 32, bytes(20), b"garbage"])
async def test_what_a_resolver_makes_up_is_no_address(result: bytes, site: Site) -> None:
    await site.put(always(RETURN, encode(["bytes", "address"], [result, known.ALICE])))
    with pytest.raises(NotFound):
        await site.resolve("vitalik.eth")


@pytest.mark.parametrize(
    "name", ["", "Vitalik.eth", "a..eth", "x" * 300, "vitalik.eth\n", "\N{ZERO WIDTH JOINER}", "a\0b"]
)
async def test_what_a_reverse_record_makes_up_is_no_name(name: str, site: Site) -> None:
    await site.put(always(RETURN, encode(["string", "address", "address"], [name, known.ALICE, known.ALICE])))
    with pytest.raises(NotFound, match="no primary name"):
        await site.reverse(known.VITALIK)


async def test_a_lookup_of_another_contract_is_not_followed(site: Site) -> None:
    await site.put(
        always(REVERT, lookup(b"\x11" * 20, [f"http://127.0.0.1:{site.gateway.port}/names/{{sender}}/{{data}}.json"]))
    )
    with pytest.raises(NotFound, match="not its resolver's own"):
        await site.resolve("vitalik.eth")
    assert not site.gateway.asked


@pytest.mark.parametrize(
    "revert",
    [
        lookup(OWN, ["https://a.example/"] * 9),
        lookup(OWN, ["https://a.example/"], extra=bytes(300_000)),
        lookup(OWN, ["https://a.example/"])[:150],
    ],
    ids=["urls", "extra", "cut"],
)
async def test_a_lookup_beyond_the_bounds_is_not_followed(revert: bytes, site: Site) -> None:
    await site.put(always(REVERT, revert))
    with pytest.raises(NotSupported, match="look-up"):
        await site.resolve("vitalik.eth")


async def test_a_plain_lookup_without_a_batch_is_followed_too(site: Site) -> None:
    url = f"http://127.0.0.1:{site.gateway.port}/names/{{sender}}/{{data}}.json"
    await site.put(always(REVERT, lookup(OWN, [url], b"\1\2\3")))
    with pytest.raises(UpstreamUnavailable):
        await site.resolve("vitalik.eth")
    [asked] = site.gateway.asked
    assert (asked.sender, asked.data) == (known_names.UNIVERSAL_RESOLVER.lower(), b"\1\2\3")


async def test_a_plain_lookup_may_end_in_no_record(site: Site) -> None:
    url = f"http://127.0.0.1:{site.gateway.port}/names/{{sender}}/{{data}}.json"
    await site.put(always(REVERT, lookup(OWN, [url], b"\1")))
    site.gateway.behave = gateway.status(404)
    with pytest.raises(NotFound, match="no record"):
        await site.resolve("vitalik.eth")


async def test_a_template_that_multiplies_the_data_is_not_filled_in(site: Site) -> None:
    url = f"http://127.0.0.1:{site.gateway.port}/names/" + "{data}" * 300
    await site.put(always(REVERT, lookup(OWN, [url] * 8, bytes(200_000))))
    began = time.process_time()
    with pytest.raises(UpstreamUnavailable):
        await site.resolve("vitalik.eth")
    assert time.process_time() - began < 1
    assert not site.gateway.asked


async def test_requests_of_one_question_are_bounded(site: Site) -> None:
    base = f"http://127.0.0.1:{site.gateway.port}/names/{{sender}}/{{data}}.json"
    queries = [(OWN, [f"{base}?{turn}" for turn in range(8)], bytes([number])) for number in range(16)]
    batch = lookups.QUERY + encode(["(address,string[],bytes)[]"], [queries])
    await site.put(always(REVERT, lookup(OWN, ["x-batch-gateway:true"], batch)))
    site.gateway.behave = gateway.status(500)
    with pytest.raises((UpstreamUnavailable, NotSupported)):
        await site.resolve("vitalik.eth")
    assert len(site.gateway.asked) == 16
