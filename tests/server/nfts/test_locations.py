"""Where documents are, out of the many ways in which contracts write that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from server.nfts.locations import MAX_FILLED, Gateways, fill_in

OLD_ID = "QmeSjSinHpPnmXmspMjwiXyN6zS4E9zccariGR3jxcaWtq"
NEW_ID = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
OTHER_ID = "k51qzi5uqu5dlvj2baxnqndepeb86cbk3ng7n3i46uzyxzyqj2xjonzllnv0v8"
ARWEAVE_ID = "bNbA3TEQVL60xlgCcqdz4ZPHFZ711cZ3hmkpGttDt_U"
GATEWAYS = Gateways(["https://one.example/", "http://two.example:8080/sub"], ["https://ar.example"])


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (f"ipfs://{OLD_ID}", f"/ipfs/{OLD_ID}"),
        (f"ipfs://{OLD_ID}/1", f"/ipfs/{OLD_ID}/1"),
        (f"ipfs://ipfs/{OLD_ID}/1.json", f"/ipfs/{OLD_ID}/1.json"),
        (f"IPFS://{NEW_ID}/a/b", f"/ipfs/{NEW_ID}/a/b"),
        (f"  ipfs://{NEW_ID}/1  ", f"/ipfs/{NEW_ID}/1"),
        (f"/ipfs/{NEW_ID}/1", f"/ipfs/{NEW_ID}/1"),
        (f"ipfs/{NEW_ID}/1", f"/ipfs/{NEW_ID}/1"),
        (OLD_ID, f"/ipfs/{OLD_ID}"),
        (f"{NEW_ID}/x", f"/ipfs/{NEW_ID}/x"),
        (f"ipfs://{OTHER_ID}/x", f"/ipfs/{OTHER_ID}/x"),
        (f"ipfs://{OLD_ID}/with space #1.json", f"/ipfs/{OLD_ID}/with%20space%20%231.json"),
        (f"ipfs://{OLD_ID}/ä%20b", f"/ipfs/{OLD_ID}/%C3%A4%20b"),
        (f"ipfs://{OLD_ID}/1?x=1", f"/ipfs/{OLD_ID}/1?x=1"),
        (f"ipfs://{OLD_ID}/..hidden/a..b", f"/ipfs/{OLD_ID}/..hidden/a..b"),
        ("ipns://app.example.org/1", "/ipns/app.example.org/1"),
    ],
)
def test_ipfs_is_found_behind_every_gateway_the_first_one_is_shown(text: str, path: str) -> None:
    found = GATEWAYS.locate(text)
    assert found.candidates == (f"https://one.example{path}", f"http://two.example:8080/sub{path}")
    assert found.shown == found.candidates[0]


@pytest.mark.parametrize("text", [f"ar://{ARWEAVE_ID}/1.json", f"AR://{ARWEAVE_ID}/1.json"])
def test_arweave_is_found_behind_its_gateways(text: str) -> None:
    assert GATEWAYS.locate(text).candidates == (f"https://ar.example/{ARWEAVE_ID}/1.json",)


def test_web_addresses_are_shown_as_they_are_and_asked_first() -> None:
    assert GATEWAYS.locate("https://meta.example/1").candidates == ("https://meta.example/1",)
    found = GATEWAYS.locate("http://meta.example/http://x")
    assert (found.shown, found.candidates[1:]) == (found.candidates[0], ("https://meta.example/http://x",))
    text = f"https://gateway.example/ipfs/{OLD_ID}/1"
    found = GATEWAYS.locate(text)
    assert found.shown == text
    assert found.candidates == (
        text,
        f"https://one.example/ipfs/{OLD_ID}/1",
        f"http://two.example:8080/sub/ipfs/{OLD_ID}/1",
    )


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("data:application/json;base64,e30=", (b"{}",)),
        ("data:application/json,%7B%7D", (b"%7B%7D", b"{}")),
        ('{"name":"x"}', (b'{"name":"x"}',)),
        ("<svg/>", (b"<svg/>",)),
    ],
)
def test_content_in_the_address_itself(text: str, content: tuple[bytes, ...]) -> None:
    found = GATEWAYS.locate(text)
    assert (found.inline, found.candidates, found.shown) == (content, (), text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "1.json",
        "ipfs://",
        "ipfs://short",
        "ipfs://../etc/passwd",
        f"ipfs://{OLD_ID}/../../admin",
        f"ipfs://{OLD_ID}/%2e%2e/%2E%2E/admin",
        f"ipfs://{OLD_ID}/a/./b",
        f"ipfs://{OLD_ID}/a\\..\\..\\b",
        f"ipfs://{OLD_ID}%2f..%2f..",
        f"ipns://../{OLD_ID}",
        f"ipns://{'a' * 200}",
        "ar://short",
        f"ar://{ARWEAVE_ID}/../other",
        "web3://0x0000000000000000000000000000000000000001/1",
        "eip155:1/erc721:0x0000000000000000000000000000000000000001/1",
        "bzz://abc",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:;base64,@@",
    ],
)
def test_what_leads_nowhere_is_shown_as_it_is_and_says_why(text: str) -> None:
    found = GATEWAYS.locate(text)
    assert (found.candidates, found.inline, found.shown) == ((), (), text.strip())
    assert found.problem


def test_without_gateways_nothing_is_asked() -> None:
    bare = Gateways([], [])
    assert bare.locate(f"ipfs://{OLD_ID}").problem == "no IPFS gateway is configured"
    assert bare.locate(f"ar://{ARWEAVE_ID}").problem == "no Arweave gateway is configured"
    assert bare.locate(f"https://g.example/ipfs/{OLD_ID}").candidates == (f"https://g.example/ipfs/{OLD_ID}",)


@given(
    st.sampled_from([f"ipfs://{OLD_ID}", f"ar://{ARWEAVE_ID}", "ipns://name", f"/ipfs/{NEW_ID}"]), st.text(max_size=40)
)
def test_no_path_leaves_the_folder_that_it_names(root: str, tail: str) -> None:
    found = GATEWAYS.locate(f"{root}/{tail}")
    for candidate in found.candidates:
        begins = URL(candidate).path.split("/")
        assert {"ipfs", "ipns"} & set(begins[:3]) or begins[1] == ARWEAVE_ID
        assert ".." not in begins


@given(st.text(max_size=80))
def test_no_text_breaks_it(text: str) -> None:
    found = GATEWAYS.locate(text)
    assert bool(found.problem) != bool(found.candidates or found.inline)


def test_the_place_of_the_id() -> None:
    hexadecimal = "000000000000000000000000000000000000000000000000000000000004cce0"  # EIP-1155's own example
    assert fill_in("https://token-cdn-domain/{id}.json", 314592) == f"https://token-cdn-domain/{hexadecimal}.json"
    assert fill_in("{id}/{id}/{ID}", 1) == f"{1:064x}/{1:064x}/{{ID}}"
    assert fill_in("x/{id}", 2**256 - 1) == "x/" + "f" * 64
    assert fill_in("{id}" * (MAX_FILLED // 64), 1) == f"{1:064x}" * (MAX_FILLED // 64)
    # Two mebibytes would become 32.
    assert fill_in("{id}" * (MAX_FILLED // 64 + 1), 1) == "{id}" * (MAX_FILLED // 64 + 1)
