"""Names in normal form, in wire form and hashed, against the vectors of the standards and against web3."""

from __future__ import annotations

import subprocess
import sys

import pytest
import web3  # noqa: F401  (ens.utils brings it in on its first call, and raises the recursion limit by it)
from ens.utils import dns_encode_name, normal_name_to_hash
from ens_normalize import DisallowedSequence, ens_normalize
from hypothesis import given, settings
from hypothesis import strategies as st

from server.names.normalisation import MAX_CHARACTERS, Unnormalisable, dns_encode, namehash, normalise
from tests.examples import examples

NORMAL = {
    "nick.eth": "nick.eth",
    "Nick.ETH": "nick.eth",
    "RaFFY🚴‍♂️.eTh": "raffy🚴‍♂.eth",
    "_x.eth": "_x.eth",
    "my-name.eth": "my-name.eth",
    "Faß.de": "faß.de",
}
HASHES = {
    "eth": "93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
    "ens.eth": "4e34d3a81dc3a20f71bbdf2160492ddaa17ee7e5523757d47153379c13cb46df",
    "addr.reverse": "91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2",
    "nick.eth": "05a67c0ee82964c4f7394cdd47fee7f4d9503a23c09c38341779ea012afe6e00",
}
REFUSED = [
    "",
    ".",
    "a..eth",
    ".eth",
    "eth.",
    "x_.eth",
    "xn--abc.eth",
    "\N{CYRILLIC SMALL LETTER DZE}park.eth",
    "ens\N{ZERO WIDTH JOINER}.eth",
    "a b.eth",
    "vitalik.eth\n",
    "vitalik\n.eth",
    "\N{SOFT HYPHEN}",
    "a" * (MAX_CHARACTERS + 1),
    "\N{BICYCLIST}" * 64,
]
"""The third from the end is nothing once normalised; the last has 256 bytes in one label."""


@pytest.mark.parametrize(("text", "normal"), NORMAL.items())
async def test_normal_forms(text: str, normal: str) -> None:
    assert await normalise(text) == normal


@pytest.mark.parametrize("text", REFUSED)
async def test_what_is_no_name(text: str) -> None:
    with pytest.raises(Unnormalisable) as caught:
        await normalise(text)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "digest"), HASHES.items())
def test_hashes(name: str, digest: str) -> None:
    assert namehash(name).hex() == digest


def test_wire_form() -> None:
    assert dns_encode("my.name.eth").hex() == "026d79046e616d650365746800"
    assert dns_encode("a" * 255) == b"\xff" + b"a" * 255 + b"\0"


ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.text("abcXYZ019-_.·'ßøéждα漢字\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16}🚴♂👨👩👧1️⃣ \n", max_size=40),
)


@settings(max_examples=examples(80), deadline=None)
@given(text=ANY_TEXT)
async def test_any_text_is_a_name_or_is_refused(text: str) -> None:
    try:
        normal = await normalise(text)
    except Unnormalisable:
        return
    assert await normalise(normal) == normal
    assert all(0 < len(label.encode()) < 256 for label in normal.split("."))
    assert namehash(normal) == normal_name_to_hash(normal)
    assert dns_encode(normal) == dns_encode_name(normal)


@settings(max_examples=examples(80), deadline=None)
@given(text=st.from_regex(r"[a-z0-9.]{0,30}", fullmatch=True))
async def test_plain_names_are_judged_as_the_tables_judge_them(text: str) -> None:
    try:
        expected = ens_normalize(text)
    except DisallowedSequence:
        expected = ""
    if expected:
        assert await normalise(text) == expected
    else:
        with pytest.raises(Unnormalisable):
            await normalise(text)


def test_many_may_be_the_first_to_need_the_tables() -> None:
    program = (
        "import asyncio\n"
        "from server.names.normalisation import normalise\n"
        "async def late(turn):\n"
        "    await asyncio.sleep(turn / 1000)\n"
        "    return await normalise('My-Name.eth')\n"
        "async def main():\n"
        "    return await asyncio.gather(*map(late, range(100)))\n"
        "assert asyncio.run(main()) == ['my-name.eth'] * 100\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_plain_names_need_no_tables() -> None:
    program = (
        "import asyncio, sys\n"
        "from server.names.normalisation import normalise\n"
        "assert asyncio.run(normalise('pay.vitalik123.eth')) == 'pay.vitalik123.eth'\n"
        "assert 'ens_normalize' not in sys.modules\n"
        "assert asyncio.run(normalise('My-Name.eth')) == 'my-name.eth'\n"
        "assert 'ens_normalize' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
