"""The documents of tokens: every writing of their address, answers where there is none, how long each lives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import nft_pb2

from devnet import known, known_nft
from devnet.offchain import documents
from devnet.offchain.documents import ODD, good, lighthouse
from runtime.operations import load_operations
from server.nfts import metadata

if TYPE_CHECKING:
    from tests.server.nfts.conftest import Independent, Site

pytestmark = pytest.mark.devnet

LIGHTHOUSES, GOODS, DOCUMENTS = known_nft.LIGHTHOUSES, known_nft.GOODS, known_nft.DOCUMENTS


async def test_the_document_of_a_token_and_where_it_is(site: Site, web3: Independent) -> None:
    answer = await site.answer("getNftMetadata", LIGHTHOUSES, tokenId="7")
    assert await site.asked() == 1
    stated = await web3.lighthouses.functions.tokenURI(7).call()
    assert stated == f"{known_nft.LIGHTHOUSES_BASE}7"
    assert answer == {
        "chain": "ethereum",
        "contract": LIGHTHOUSES,
        "tokenId": "7",
        "blockHeight": await site.head(),
        "standard": {"erc721": True, "erc721Enumerable": True, "erc1155": False},
        "owner": known.ALICE,
        "tokenURI": f"{site.documents}/ipfs/{known_nft.CONTENT_ID}/lighthouses/7",
        "tokenURIRaw": stated,
        "metadata": lighthouse(7) | {"image": f"{site.documents}/ipfs/{known_nft.CONTENT_ID}/images/7.svg"},
    }
    assert list(answer["metadata"])[:2] == ["name", "image"]


@pytest.mark.parametrize("token_id", [1, 314592, known_nft.LARGEST_ID])
async def test_the_id_is_filled_in_for_multi_tokens(site: Site, web3: Independent, token_id: int) -> None:
    answer = await site.answer("getNftMetadata", GOODS, tokenId=str(token_id))
    assert await site.asked() == 1
    filled = f"{token_id:064x}"
    assert "owner" not in answer
    assert answer["tokenURIRaw"] == await web3.goods.functions.uri(token_id).call() == known_nft.GOODS_URI
    assert answer["tokenURI"] == f"{site.documents}/{known_nft.ARWEAVE_ID}/goods/{filled}.json"
    image = f"{site.documents}/ipfs/{known_nft.CONTENT_ID}/goods/{filled}.png"
    assert answer["metadata"] == good(token_id) | {"image": image}
    assert answer["metadata"]["properties"]["token"] == token_id


FOUND: dict[int, dict[str, Any]] = {
    2: {"name": "Encoded", "image": "{documents}/" + known_nft.ARWEAVE_ID + "/1.png"},
    3: {"name": "100% #1", "image": "data:image/svg+xml;utf8,<svg/>", "level": known_nft.LARGEST_ID},
    4: {"name": "Percent", "image": None},
    5: {"name": "100% #1", "image": "data:image/svg+xml;utf8,<svg/>", "level": known_nft.LARGEST_ID},
    9: {"name": "Named oddly", "image": None},
    10: {"name": "Named oddly", "image": None},
    23: {"name": "last", "image": None, "id": 123456789012345678901234567890, "x": [{"a": 2}]},
    24: {
        "name": "Marked",
        "image": "{documents}/" + known_nft.ARWEAVE_ID + "/1.png",
        "image_url": "{documents}/" + known_nft.ARWEAVE_ID + "/1.png",
    },
}
MISSING = {
    1: "no readable JSON object",
    6: "no readable JSON object",
    7: "address is empty",
    8: "kind that is not fetched",
    11: "HTTP 404",
    12: "no readable JSON object",
    13: "no readable JSON object",
    14: "longer than 2097152 bytes",
    15: "nested more than 64 deep",
    16: "longer than 2097152 bytes",
    17: "only https",
    18: "leaves its own folder",
    19: "not on the public internet",
    20: "names a port that is not asked",
    21: "holds credentials",
    22: "too long to answer",
}


def test_every_written_document_is_tried() -> None:
    assert sorted([*FOUND, *MISSING]) == sorted(known_nft.WRITTEN)


@pytest.mark.parametrize("token_id", FOUND)
async def test_documents_are_read_in_every_writing(site: Site, token_id: int) -> None:
    answer = await site.answer("getNftMetadata", DOCUMENTS, tokenId=str(token_id))
    expected = dict(FOUND[token_id])
    for member in expected.keys() & {"image", "image_url"}:
        if expected[member]:
            expected[member] = expected[member].format(documents=site.documents)
    assert answer["metadata"] == expected
    assert answer["tokenURIRaw"] == known_nft.WRITTEN[token_id]
    assert "metadataError" not in answer


@pytest.mark.parametrize(
    ("image", "shown"),
    [
        ("javascript:alert(1)", None),
        ("data:text/html,<script>alert(1)</script>", None),
        ("data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", None),
        ("<svg/>", None),
        ("images/1.png", None),
        ("data:image/png;base64,iVBORw0KGgo=", "data:image/png;base64,iVBORw0KGgo="),
        ("https://host.example/1.png", "https://host.example/1.png"),
    ],
)
async def test_an_image_is_an_address_or_a_picture_or_null_on_both_faces(
    site: Site, monkeypatch: pytest.MonkeyPatch, image: str, shown: str | None
) -> None:
    monkeypatch.setitem(ODD, "good one #1.json", json.dumps({"name": "Odd", "image": image, "kept": image}))
    answer, _ = await site.fresh("getNftMetadata", DOCUMENTS, tokenId="10")
    assert answer["metadata"] == {"name": "Odd", "image": shown, "kept": image}
    operation = next(one for one in load_operations() if one.name == "getNftMetadata")
    request = nft_pb2.GetNftMetadataRequest(chain="ethereum", contract=DOCUMENTS, token_id="10")
    metadata = (await site.running.ask_grpc(operation, request)).metadata
    assert (metadata.image if metadata.HasField("image") else None) == shown


async def test_members_keep_the_text_that_their_author_wrote(site: Site) -> None:
    body = {"chain": "ethereum", "contract": DOCUMENTS, "tokenId": "23"}
    response = await site.running.post({"jsonrpc": "2.0", "id": 1, "method": "getNftMetadata", "params": body})
    text = await response.text()
    for written in ('"id":123456789012345678901234567890', '[{"a":1,"a":2}]'):
        assert written in ODD["duplicates"]
        assert written in text


@pytest.mark.parametrize("token_id", MISSING)
async def test_without_a_document_the_answer_says_why(site: Site, token_id: int) -> None:
    answer = await site.answer("getNftMetadata", DOCUMENTS, tokenId=str(token_id))
    assert answer["metadata"] is None
    assert MISSING[token_id] in answer["metadataError"]
    assert answer["tokenURIRaw"] == known_nft.WRITTEN[token_id]
    assert (answer["tokenURI"] is None) == (known_nft.WRITTEN[token_id] == "")
    assert answer["owner"] == known.VITALIK
    for secret in ("127.0.0.1", "169.254", "hunter2", "http://", "https://"):
        assert secret not in answer["metadataError"]


async def test_a_contract_without_documents_has_an_owner_all_the_same(site: Site) -> None:
    answer = await site.answer("getNftMetadata", known_nft.OLD_DEEDS, tokenId="1")
    assert (answer["owner"], answer["tokenURI"], answer["tokenURIRaw"], answer["metadata"]) == (
        known.VITALIK,
        None,
        None,
        None,
    )
    assert "states no address" in answer["metadataError"]


async def test_that_there_is_no_document_is_answered_again_for_five_seconds_only(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await site.answer("getNftMetadata", DOCUMENTS, tokenId="12"))["metadata"] is None
    monkeypatch.setitem(ODD, "html", '{"name":"Recovered"}')
    site.clock.pass_seconds(4)
    answer, status = await site.post("getNftMetadata", DOCUMENTS, {}, {"tokenId": "12"})
    assert (answer["metadata"], status) == (None, "hit")
    site.clock.pass_seconds(2)
    answer = await site.answer("getNftMetadata", DOCUMENTS, tokenId="12")
    assert answer["metadata"] == {"name": "Recovered", "image": None}
    monkeypatch.setitem(ODD, "html", "gone again")
    site.clock.pass_seconds(298)
    answer = await site.answer("getNftMetadata", DOCUMENTS, tokenId="12")
    assert answer["metadata"] == {"name": "Recovered", "image": None}
    site.clock.pass_seconds(3)
    assert (await site.answer("getNftMetadata", DOCUMENTS, tokenId="12"))["metadata"] is None


@pytest.mark.parametrize("token_id", ["1", "7", "8", "18"])
async def test_what_a_contract_states_wrongly_is_asked_again_after_seconds_too(site: Site, token_id: str) -> None:
    """Contracts are mended like hosts: an address or a document in the contract itself may be set right."""
    assert (await site.answer("getNftMetadata", DOCUMENTS, tokenId=token_id))["metadata"] is None
    await site.asked()
    site.clock.pass_seconds(4)
    assert (await site.post("getNftMetadata", DOCUMENTS, {}, {"tokenId": token_id}))[1] == "hit"
    # What the contract said is kept one block time.
    site.clock.pass_seconds(9)
    answer, status = await site.post("getNftMetadata", DOCUMENTS, {}, {"tokenId": token_id})
    assert (answer["metadata"], status) == (None, "miss")


async def test_a_document_is_not_given_longer_for_being_read_twice(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer made of a document that was read before lives as long as that has left."""
    named = "good one #1.json"
    first = await site.answer("getNftMetadata", DOCUMENTS, tokenId="10", blockHeight=await site.head())
    monkeypatch.setitem(ODD, named, '{"name":"Renamed"}')
    site.clock.pass_seconds(200)
    assert (await site.answer("getNftMetadata", DOCUMENTS, tokenId="10"))["metadata"] == first["metadata"]
    site.clock.pass_seconds(99)
    assert (await site.answer("getNftMetadata", DOCUMENTS, tokenId="10"))["metadata"] == first["metadata"]
    site.clock.pass_seconds(2)
    assert (await site.answer("getNftMetadata", DOCUMENTS, tokenId="10"))["metadata"]["name"] == "Renamed"
    monkeypatch.setitem(ODD, named, '{"name":"Renamed again"}')
    passed_by, status = await site.fresh("getNftMetadata", DOCUMENTS, tokenId="10")
    assert (passed_by["metadata"]["name"], status) == ("Renamed again", "bypass")


async def test_a_caller_without_time_gets_an_answer_that_nobody_else_does(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_SLOW_SECONDS", 2.0)
    monkeypatch.setattr(metadata, "_RESERVE_SECONDS", 10.0)
    monkeypatch.setitem(ODD, "slow", '{"name":"Slow"}')
    [operation] = [found for found in load_operations() if found.name == "getNftMetadata"]
    call = site.running.channel.unary_unary(
        operation.path,
        request_serializer=operation.request.SerializeToString,
        response_deserializer=operation.response.FromString,
    )
    request = operation.request(chain="ethereum", contract=DOCUMENTS, token_id="22")
    # What is left of the time when the document is given up is a slow machine's.
    hurried: Any = await call(request, metadata=(("x-api-key", "local"),), timeout=10.5)
    assert not hurried.HasField("metadata")
    assert "too long to answer" in hurried.metadata_error
    patient: Any = await call(request, metadata=(("x-api-key", "local"),), timeout=25)
    assert patient.metadata.name == "Slow"


@pytest.mark.parametrize(
    ("method", "params", "seconds"),
    [
        ("getNftCollection", {}, 3600),
        ("getNftMetadata", {"tokenId": "7"}, 300),
        ("getNftTokens", {"address": known.VITALIK}, 300),
    ],
)
async def test_answers_live_as_long_as_the_contract_says(
    site: Site, method: str, params: dict[str, str], seconds: int
) -> None:
    async def status(**headers: str) -> str | None:
        return (await site.post(method, LIGHTHOUSES, headers, params))[1]

    assert await status() == "miss"
    await site.asked()
    site.clock.pass_seconds(seconds - 1)
    assert (await status(), await site.asked()) == ("hit", 0)
    site.clock.pass_seconds(2)
    assert await status() == "miss"
    assert await status(**{"Cache-Control": "no-cache"}) == "bypass"
