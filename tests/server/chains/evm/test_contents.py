"""Headers hashed anew and bloom filters computed anew, against blocks of Ethereum mainnet."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from server.chains.evm.contents import FIRST_MATCHES, Contents
from server.chains.facts import load_facts

ETHEREUM = load_facts()["ethereum"]

# Block 23513000 of Ethereum mainnet (5 October 2025, Prague), as chain explorers and forge-std's stdRlp test have it.
PRAGUE: dict[str, Any] = {
    "hash": "0x65407618ec1f44bd793f024f9ce855d7287ea4a9d7ae4c9e672362a372b9ded4",
    "parentHash": "0x5b5b6bff48fe6a2167a2c70193bd1ec94e140ad09ebca6d64f468bc273518d36",
    "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    "miner": "0x4838b106fce9647bdf1e7877bf73ce8b0bad5f97",
    "stateRoot": "0x9099fb0c9d079059756770f425953cbc7965cf14a6f99e2007ceb5fc0c86f695",
    "transactionsRoot": "0x0ed75b9475c7d88f3656ae833b9af1249efe1d51234ae9c318e92fb9bbc58cef",
    "receiptsRoot": "0x5a70f4c705bec8d642aef9d9fa593a9292a2b70e85fe303cc20f407af4814be4",
    "logsBloom": "0x9ff9dbe477c99f97b7556c0ffaf95a41bbeb73bdee22fd307bf7739ae6d7bf37eb3defd7f3ff78d772d5d7b5fc3fb5dd"
    "dfd9d3f8fe85aeffbfa92cc29aaff5b7e5edf80e6e4addfc7cdbf1ce895bbd71d71d9a756a74cdbcbf7ddca5cbf306d9fedf3b278a7f13ef35"
    "45ab52fecd7cfb4eefef63f8e8c6e5a1b8ee57874ff67f0f5beeffd7bc503f6379c76f2ff6a4fff17d7fddbbff336ef42fd1d43ad3bddee246"
    "af87a6bdfe977ffb35f57a5dfdfca566d5e5d8f7fc9cba4f4531e666f5f0f3d7bcaf65b7e7708dcdf679afe6b4add57f6f4a3e397efb9cdf9f"
    "77f0f7fbcf3bb3bc880b2b71c0b4eee1dee95f72e5ffcd9eefeffc37fecd84ba435ebdf70d",
    "difficulty": "0x0",
    "number": hex(23513000),
    "gasLimit": hex(44999914),
    "gasUsed": hex(21103837),
    "timestamp": hex(1759684559),
    "extraData": "0x546974616e2028746974616e6275696c6465722e78797a29",
    "mixHash": "0x542df7cb12be5ee5281247c44fbef1a534899cacf6f4a7cbb005e451dd416de6",
    "nonce": "0x0000000000000000",
    "baseFeePerGas": hex(132339429),
    "withdrawalsRoot": "0x740234ba028832cd35e1e2923133d136e54fbded84e1e1f1f21747508c8edb92",
    "blobGasUsed": hex(786432),
    "excessBlobGas": hex(68157440),
    "parentBeaconBlockRoot": "0x30297d32b4bb781dea1b6861b8b15db62f4428d1ae766615b4c29cd515df3a9d",
    "requestsHash": "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "size": "0x1e8f1",
    "transactions": [],
    "uncles": [],
    "withdrawals": [],
}
# Block 0 of Ethereum mainnet (Frontier): the genesis that every client ships.
GENESIS: dict[str, Any] = {
    "hash": "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
    "parentHash": "0x" + "00" * 32,
    "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    "miner": "0x" + "00" * 20,
    "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
    "transactionsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
    "receiptsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
    "logsBloom": "0x" + "00" * 256,
    "difficulty": hex(17179869184),
    "number": "0x0",
    "gasLimit": hex(5000),
    "gasUsed": "0x0",
    "timestamp": "0x0",
    "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
    "mixHash": "0x" + "00" * 32,
    "nonce": "0x0000000000000042",
    "totalDifficulty": hex(17179869184),
    "transactions": [],
    "uncles": [],
}


def fits(block: dict[str, Any], **changed: Any) -> bool | None:
    return Contents(ETHEREUM).fits_block(json.dumps(block | changed).encode())


@pytest.mark.parametrize("block", [PRAGUE, GENESIS], ids=["Prague", "genesis"])
def test_the_hash_of_a_mainnet_header_comes_out_of_its_contents(block: dict[str, Any]) -> None:
    assert fits(block) is True


@pytest.mark.parametrize("name", [name for name in PRAGUE if name not in ("size", "transactions", "uncles")])
def test_a_header_changed_in_any_member_does_not_fit(name: str) -> None:
    if name == "withdrawals":
        return
    written = PRAGUE[name]
    last = "1" if written[-1] != "1" else "2"
    assert fits(PRAGUE, **{name: written[:-1] + last}) is False


def test_members_of_later_forks_and_of_other_layouts_cannot_be_judged() -> None:
    assert fits(PRAGUE, blockAccessListHash="0x" + "11" * 32) is None
    assert fits(PRAGUE, blockAccessListHash=None) is True
    assert fits(PRAGUE, withdrawalsRoot=None) is None
    assert Contents(ETHEREUM).fits_block(b"null") is None
    assert Contents(ETHEREUM).fits_block(b'{"hash": 1}') is None
    assert Contents(ETHEREUM).fits_block(json.dumps(PRAGUE | {"nonce": "0xzz"}).encode()) is None


def test_chains_that_were_not_verified_are_off() -> None:
    assert [facts.slug for facts in load_facts().values() if facts.header or facts.bloom] == ["ethereum"]
    off = Contents(replace(ETHEREUM, header="", bloom=False))
    assert off.fits_block(json.dumps(PRAGUE).encode()) is None
    assert off.fits_receipt(b'{"logs": [], "logsBloom": "0x"}') is None


# One Transfer of WETH: the bits of its address and topics were set one by one in the filter that anvil made of it.
def test_a_bloom_filter_without_logs_is_empty() -> None:
    contents = Contents(ETHEREUM)
    empty = {"logs": [], "logsBloom": "0x" + "00" * 256}
    assert contents.fits_receipt(json.dumps(empty).encode()) is True
    full = PRAGUE["logsBloom"]
    assert contents.fits_receipt(json.dumps({"logs": [], "logsBloom": full}).encode()) is False


def test_nothing_is_suspected_before_the_first_documents_fitted() -> None:
    contents = Contents(ETHEREUM)
    for _ in range(FIRST_MATCHES):
        assert not contents.suspects("block", "alpha", False)
        assert not contents.suspects("block", "alpha", True)
    assert contents.suspects("block", "alpha", False)
    assert not contents.suspects("block", "alpha", None)
    assert not contents.suspects("receipt", "alpha", False)
    assert not contents.suspects("block", "beta", False)
