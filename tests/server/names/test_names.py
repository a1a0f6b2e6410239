"""resolveENS and reverseENS against the real registry and resolver, and what they cost in requests."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from ens.utils import dns_encode_name
from eth_utils.crypto import keccak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from web3 import Web3

from devnet import known, known_names
from server.errors import InvalidArgument, NotFound, UpstreamUnavailable
from server.names.normalisation import Unnormalisable, normalise
from server.upstream.cache import Cache
from tests.faults import simulator
from tests.server.names.conftest import opened

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.server.names.conftest import Site

pytestmark = pytest.mark.devnet

ON_CHAIN = {name: address for name, address in known_names.ADDRESSES.items() if name != known_names.SHOUTED}
PRIMARY = {
    account: name
    for account, name in known_names.REVERSE.items()
    if name not in (known_names.SHOUTED, known_names.NO_ADDRESS) and account != known_names.LIAR
}
RESOLVER = [
    {
        "type": "function",
        "name": "addr",
        "stateMutability": "view",
        "inputs": [{"type": "bytes32"}],
        "outputs": [{"type": "address"}],
    }
]


@pytest.mark.parametrize("name", ON_CHAIN)
async def test_a_name_resolves_in_one_request(name: str, site: Site) -> None:
    await normalise("🚴.eth")  # the tables are loaded before anything is counted
    assert await site.resolve(name) == ON_CHAIN[name]
    assert [asked.methods for asked in site.proxy.asked] == [["eth_call"]]


@pytest.mark.parametrize("name", ON_CHAIN)
async def test_web3_reads_the_same_record_from_the_resolver_itself(name: str, site: Site) -> None:
    resolver = Web3().eth.contract(known_names.PUBLIC_RESOLVER, abi=RESOLVER)
    data = resolver.encode_abi("addr", [Web3().ens.namehash(name)])
    word = await site.node.call("eth_call", {"to": known_names.PUBLIC_RESOLVER, "data": data}, "latest")
    assert Web3.to_checksum_address(word[-40:]) == await site.resolve(name)


@pytest.mark.parametrize("address", PRIMARY)
async def test_an_address_has_its_primary_name(address: str, site: Site) -> None:
    assert await site.reverse(address) == PRIMARY[address]
    assert await site.resolve(PRIMARY[address]) == address


async def test_a_primary_name_takes_one_request(site: Site) -> None:
    assert await site.reverse(known.VITALIK) == "vitalik.eth"
    assert [asked.methods for asked in site.proxy.asked] == [["eth_call"]]


async def test_a_name_is_asked_for_in_its_normal_form(site: Site) -> None:
    assert await site.resolve("VitaLik.ETH") == known.VITALIK
    assert await site.resolve("RaFFY🚴‍♂️.eTh") == known_names.CYCLIST


async def test_records_under_another_form_are_not_found(site: Site) -> None:
    with pytest.raises(NotFound):
        await site.resolve(known_names.SHOUTED)


async def test_wildcards_answer_for_what_lies_below(site: Site) -> None:
    name = f"who.ever.{known_names.WILDCARD}"
    wire = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    assert await site.resolve(name) == Web3.to_checksum_address(keccak(wire)[-20:])
    assert len(site.proxy.asked) == 1


async def test_only_the_universal_resolver_is_believed(site: Site) -> None:
    assert await site.resolve(known_names.INTEGRATION) == known_names.INTEGRATION_ADDRESS


ABSENT = [
    known_names.UNREGISTERED,
    known_names.NO_RESOLVER,
    known_names.NO_ADDRESS,
    *known_names.ODD_RESOLVERS,
    "sub.alice.eth",
    "eth",
    "0x" + "ab" * 20,
    ".".join(["a"] * 60) + ".eth",
]


@pytest.mark.parametrize("name", ABSENT)
async def test_what_does_not_resolve_is_not_found(name: str, site: Site) -> None:
    with pytest.raises(NotFound, match=r"^the name does not resolve: "):
        await site.resolve(name)


@pytest.mark.parametrize("address", [known.UNTOUCHED, known_names.LIAR, known_names.SHOUTER, known_names.HOARDER])
async def test_an_address_without_a_proper_record_has_no_primary_name(address: str, site: Site) -> None:
    with pytest.raises(NotFound, match=r"^the address has no primary name: "):
        await site.reverse(address)


async def test_a_record_that_no_longer_points_back_is_no_name(site: Site) -> None:
    data = (
        Web3()
        .eth.contract(
            abi=[RESOLVER[0] | {"name": "setAddr", "inputs": [{"type": "bytes32"}, {"type": "address"}], "outputs": []}]
        )
        .encode_abi("setAddr", [Web3().ens.namehash("alice.eth"), known.BOB])
    )
    assert await site.reverse(known.ALICE) == "alice.eth"
    await site.node.call(
        "eth_sendTransaction", {"from": known.DEVELOPER, "to": known_names.PUBLIC_RESOLVER, "data": data}
    )
    await site.node.call("evm_mine")
    with pytest.raises(NotFound):
        await site.reverse(known.ALICE)
    assert await site.resolve("alice.eth") == known.BOB


async def test_names_that_are_asked_for_at_once_share_one_request(site: Site) -> None:
    names = [f"caller{number}.{known_names.WILDCARD}" for number in range(30)]
    found = await asyncio.gather(*map(site.resolve, names))
    assert found == [known_names.wildcard_address(dns_encode_name(name)) for name in names]
    assert [asked.methods for asked in site.proxy.asked] == [[*["eth_call"] * 30, "eth_chainId"]]


async def test_resolvers_that_burn_gas_or_burst_harm_nobody_beside_them(site: Site) -> None:
    hostile = [name for name in known_names.ODD_RESOLVERS for _ in range(3)]
    questions = [site.resolve(name) for name in [*hostile, *ON_CHAIN]]
    answers = await asyncio.gather(*questions, return_exceptions=True)
    assert all(isinstance(answer, NotFound) for answer in answers[: len(hostile)])
    assert answers[len(hostile) :] == list(ON_CHAIN.values())
    site.proxy.asked.clear()
    assert await site.resolve("alice.eth") == known.ALICE
    assert len(site.proxy.asked) == 1, "the Universal Resolver is not blamed for what the resolvers did"


async def test_a_name_is_asked_of_the_node_once_per_block(devnet: Devnet) -> None:
    async with opened(devnet, cache=Cache(1 << 20)) as site:
        for _ in range(3):
            assert await site.resolve("vitalik.eth") == known.VITALIK
            assert await site.reverse(known.VITALIK) == "vitalik.eth"
        assert len(site.proxy.asked) == 2


@pytest.mark.parametrize("fault", [simulator.drop, simulator.broken, simulator.too_many, simulator.web_page])
async def test_a_dead_node_is_an_outage_never_a_missing_name(fault: simulator.Fault, site: Site) -> None:
    site.proxy.fault = fault
    for question in (site.resolve("vitalik.eth"), site.reverse(known.VITALIK), site.resolve(known_names.UNREGISTERED)):
        with pytest.raises(UpstreamUnavailable):
            await question


async def test_a_node_that_is_not_there_is_an_outage(site: Site) -> None:
    await site.proxy.stop()
    with pytest.raises(UpstreamUnavailable):
        await site.resolve("vitalik.eth")


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=st.one_of(st.text(max_size=40), st.text("aäß.-_🚴‍♂️ \n", max_size=30), st.from_regex(r"[a-z]{1,5}\.eth")))
async def test_any_text_is_answered(text: str, site: Site) -> None:
    try:
        normal = await normalise(text)
    except Unnormalisable:
        with pytest.raises(InvalidArgument) as caught:
            await site.resolve(text)
        assert caught.value.field == "name"
        return
    with suppress(NotFound):
        assert await site.resolve(text) == await site.resolve(normal)
