"""Addresses in the documents of strangers: which are rewritten, and that nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.nfts.documents import MAX_ADDRESSES, MAX_DOCUMENT_BYTES, DocumentError, parse_document, rewrite
from server.nfts.locations import Gateways

CID = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
TRANSACTION = "a" * 43
GATEWAYS = Gateways(["https://ipfs.example", "https://second.example"], ["https://arweave.example"])
FIRST = f"https://ipfs.example/ipfs/{CID}"
ID = f"{7:064x}"


def rewritten(body: str, token_id: int | None = None) -> bytes:
    return rewrite(parse_document(body.encode()), GATEWAYS, token_id).others


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        (f"ipfs://{CID}/1.mp4", f"{FIRST}/1.mp4"),
        (f"IPFS://ipfs/{CID}", FIRST),
        (f"ipfs://{CID}/a b#1?.png", f"{FIRST}/a%20b%231?.png"),
        (f"ipns://{CID}/x", f"https://ipfs.example/ipns/{CID}/x"),
        (f"ar://{TRANSACTION}/x", f"https://arweave.example/{TRANSACTION}/x"),
    ],
)
def test_addresses_are_rewritten_at_any_depth(stated: str, shown: str) -> None:
    def document(address: str) -> dict[str, Any]:
        return {
            "animation_url": address,
            "properties": {"files": [{"uri": address, "size": 10**30}, [address]]},
            "text": f"see {address}",
            'quoted "\\': f'"{address}" \\',
        }

    for text in (json.dumps(document(stated)), json.dumps(document(stated)).replace("/", "\\/")):
        assert json.loads(rewritten(text)) == document(shown) | {
            "text": f"see {stated}",
            'quoted "\\': f'"{stated}" \\',
        }


@pytest.mark.parametrize(
    "others",
    [
        '{"ipfs://x":1, "a":"ipfs://too-short"}',
        f'{{"ipfs://{CID}" : {{"ar://{TRANSACTION}":1.10}}}}',
        f'{{"a":"ipfs://{CID} is where it lies"}}',
        f'{{"a":"ipfs://{CID}/../../names"}}',
        f'{{"a":"https://other.example/ipfs/{CID}","b":"{CID}","c":"{{id}}"}}',
        '{"a":"\\"ipfs://' + CID + '"}',
    ],
)
def test_what_is_no_address_stays(others: str) -> None:
    body = f'{{"name":"{{id}}",{others[1:]}'
    document = rewrite(parse_document(body.encode()), GATEWAYS, None)
    assert (document.name, document.others) == ("{id}", parse_document(others.encode()).others)


def test_the_id_of_an_erc_1155_token_stands_in_every_text_but_names_of_members() -> None:
    body = (
        f'{{"name":"No. {{id}}","image":"ipfs://{CID}/{{id}}.png","decimals":0,'
        f'"{{id}}":"\\u0022{{id}}{{id}}","localization":{{"uri":"ipfs://{CID}/{{locale}}-{{id}}.json"}}}}'
    )
    document = rewrite(parse_document(body.encode()), GATEWAYS, 7)
    assert (document.name, document.image) == (f"No. {ID}", f"{FIRST}/{ID}.png")
    assert json.loads(document.others) == {
        "decimals": 0,
        "{id}": f'"{ID}{ID}',
        "localization": {"uri": f"ipfs://{CID}/{{locale}}-{ID}.json"},
    }


def test_a_document_does_not_grow_beyond_what_documents_may_be() -> None:
    """64 digits in the place of four bytes would make 32 MiB of two."""
    most = (MAX_DOCUMENT_BYTES - 100) // 64
    for member in ("name", "a"):
        fits = parse_document(f'{{"{member}":"{"{id}" * most}"}}'.encode())
        assert rewrite(fits, GATEWAYS, 7) == rewrite(
            parse_document(f'{{"{member}":"{ID * most}"}}'.encode()), GATEWAYS, None
        )
        large = parse_document(f'{{"{member}":"{"{id}" * (most + 10)}"}}'.encode())
        assert rewrite(large, GATEWAYS, 7) == large
    address = parse_document(f'{{"image":"ipfs://{CID}/{"{id}" * (most + 10)}"}}'.encode())
    assert rewrite(address, GATEWAYS, 7).image is None


def test_a_document_has_only_so_many_addresses_rewritten() -> None:
    stated = [f"ipfs://{CID}/{number}" for number in range(MAX_ADDRESSES + 5)]
    shown = json.loads(rewritten(json.dumps({"a": ["x", *stated]})))["a"]
    assert shown[1 : MAX_ADDRESSES + 1] == [f"{FIRST}/{number}" for number in range(MAX_ADDRESSES)]
    assert shown[MAX_ADDRESSES + 1 :] == stated[MAX_ADDRESSES:]


JSON = st.recursive(
    st.one_of(
        st.none(), st.integers(), st.text(), st.sampled_from([f"ipfs://{CID}", "{id}", '"', "\\", f"ar://{CID}"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=20,
)


def expected(value: Any) -> Any:
    """The same, computed on the values instead of the bytes."""
    if isinstance(value, str):
        return FIRST if value == f"ipfs://{CID}" else value.replace("{id}", ID)
    if isinstance(value, list):
        return [expected(each) for each in value]
    return {name: expected(each) for name, each in value.items()} if isinstance(value, dict) else value


@given(st.dictionaries(st.text(), JSON, max_size=5), st.booleans())
def test_any_document_is_rewritten_as_its_values_are(members: dict[str, Any], is_ascii: bool) -> None:
    members = {name: value for name, value in members.items() if name not in ("name", "image")}
    try:
        others = rewritten(json.dumps(members, ensure_ascii=is_ascii), 7)
    except (DocumentError, UnicodeEncodeError):
        return  # half of a surrogate pair
    assert json.loads(others or b"{}") == expected(members)
