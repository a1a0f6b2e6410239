"""The hash of the fast library is that of the specification, and of the library it replaced, at every length."""

from __future__ import annotations

import random
import sys
from importlib import util

import pytest
from eth_hash.backends.pycryptodome import keccak256 as replaced

from server.contracts.keccak import keccak

# The first are of the Keccak team's ShortMsgKAT_256, the others of Ethereum (its empty list, an ERC-20 event).
VECTORS = {
    "": "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
    "cc": "eead6dbfc7340a56caedc044696a168870549a6a7f6f56961e84a54bd9970b8a",
    "41fb": "a8eaceda4d47b3281a795ad9e1ea2122b407baf9aabcb9e18b5717b7873537d2",
    "c0": "1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    b"Transfer(address,address,uint256)".hex(): "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
}
_RATE = 136
_LANE = (1 << 64) - 1


def _rotated(lane: int, by: int) -> int:
    return (lane << by | lane >> (64 - by)) & _LANE


def _permuted(lanes: list[list[int]]) -> list[list[int]]:
    """Keccak-f[1600] as its authors write it in a few lines, lanes by x and y."""
    register = 1
    for _ in range(24):
        parity = [a[0] ^ a[1] ^ a[2] ^ a[3] ^ a[4] for a in lanes]
        mixed = [parity[(x + 4) % 5] ^ _rotated(parity[(x + 1) % 5], 1) for x in range(5)]
        lanes = [[lane ^ mixed[x] for lane in lanes[x]] for x in range(5)]
        x, y, current = 1, 0, lanes[1][0]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, lanes[x][y] = lanes[x][y], _rotated(current, (step + 1) * (step + 2) // 2 % 64)
        for y in range(5):
            row = [lanes[x][y] for x in range(5)]
            for x in range(5):
                lanes[x][y] = row[x] ^ (~row[(x + 1) % 5] & _LANE & row[(x + 2) % 5])
        for bit in range(7):
            register = (register << 1 ^ (register >> 7) * 0x71) % 256
            if register & 2:
                lanes[0][0] ^= 1 << ((1 << bit) - 1)
    return lanes


def reference(data: bytes) -> bytes:
    """Keccak[512] with 256 bits of output and the padding of before the standard."""
    padded = bytearray(data + b"\x01" + b"\0" * (-(len(data) + 1) % _RATE))
    padded[-1] |= 0x80
    lanes = [[0] * 5 for _ in range(5)]
    for start in range(0, len(padded), _RATE):
        for index in range(_RATE // 8):
            lane = padded[start + 8 * index : start + 8 * index + 8]
            lanes[index % 5][index // 5] ^= int.from_bytes(lane, "little")
        lanes = _permuted(lanes)
    return b"".join(lanes[x][0].to_bytes(8, "little") for x in range(4))


def test_vectors_of_the_keccak_team_and_of_ethereum():
    for data, digest in VECTORS.items():
        assert keccak(bytes.fromhex(data)).hex() == digest
        assert reference(bytes.fromhex(data)).hex() == digest


def test_every_length_up_to_500_hashes_as_the_library_before():
    seeded = random.Random(52)
    for length in range(501):
        data = seeded.randbytes(length)
        assert keccak(data) == keccak(bytearray(data)) == replaced(data), length


def test_lengths_about_a_block_hash_as_the_specification_has_it():
    seeded = random.Random(53)
    for length in (*range(8), 31, 32, 64, *range(134, 139), *range(270, 275), 407, 408, 409, 500):
        data = seeded.randbytes(length)
        assert keccak(data) == reference(data), length


def test_text_is_refused():
    with pytest.raises(TypeError):
        keccak("0x")  # type: ignore[arg-type]


def test_without_the_fast_library_the_other_one_hashes(monkeypatch):
    monkeypatch.setitem(sys.modules, "sha3", None)  # as if not installed: importing it raises ModuleNotFoundError
    spec = util.find_spec("server.contracts.keccak")
    assert spec is not None
    assert spec.loader is not None
    without = util.module_from_spec(spec)
    spec.loader.exec_module(without)
    assert without.keccak is not keccak
    assert without.keccak(b"").hex() == VECTORS[""]
