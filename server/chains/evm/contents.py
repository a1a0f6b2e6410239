"""Whether blocks and receipts match their hashes and bloom filters.

A block's hash is the Keccak-256 of its RLP-encoded header, and a receipt's bloom filter has three bits for the address
and for every topic of its logs. What a proxy, or a node with a damaged database, changed on the way does not fit any
more. Which layout a chain's headers have, and whether its receipts have blooms, stands in its table in chains.toml.

Source: Ethereum yellow paper, section 4.3 and 4.4.1; EIP-1559, EIP-4895, EIP-4844, EIP-4788, EIP-7685.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from server.chains.evm.documents import is_null, items, read_members, text, texts
from server.contracts.keccak import keccak
from server.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import msgspec

    from server.chains.evm.logs.entries import LogEntry
    from server.chains.facts import ChainFacts
    from server.upstream.connector import CallPolicy
    from server.upstream.pool import Pool

    Members = dict[str, msgspec.Raw]

Document = TypeVar("Document")

FIRST_MATCHES = 3
"""So many documents of an endpoint must fit before one that does not counts."""

# Members of a header in their order; those of `_LATER` came with later forks, each with all before it.
_FIRST = (
    "parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty",
    "number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce",
)  # fmt: skip
_LATER = ("baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash")
_LAYOUTS = {"ethereum": (_FIRST, _LATER)}
_QUANTITIES = frozenset(
    {"difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas"}
)
# What nodes return of a block beside its header.
_BESIDE = frozenset({"hash", "size", "totalDifficulty", "transactions", "uncles", "withdrawals"})


class Contents:
    """The checks of one chain, and how often each endpoint's documents passed them."""

    def __init__(self, facts: ChainFacts) -> None:
        self._layout = _LAYOUTS[facts.header] if facts.header else None
        self._has_blooms = facts.bloom
        self._matches: Counter[tuple[str, str]] = Counter()

    def fits_block(self, result: bytes) -> bool | None:
        """Return whether a block's hash comes out of its header; None where that cannot be checked.

        A member that is not known may belong to the header of a later fork: then it cannot be checked.
        """
        if self._layout is None:
            return None
        try:
            return _fits(read_members(result), *self._layout)
        except (KeyError, ValueError):
            return None

    def fits_receipt(self, result: bytes) -> bool | None:
        """Return whether a receipt's bloom filter is that of its logs; None where that cannot be checked."""
        if not self._has_blooms:
            return None
        try:
            members = read_members(result)
            stated = bytes.fromhex(text(members["logsBloom"])[2:])
            bloom = 0
            for log in items(members["logs"]):
                entry = read_members(log)
                bloom |= bloom_bits(text(entry["address"]).lower())
                for topic in texts(entry["topics"]):
                    bloom |= bloom_bits(topic.lower())
            return stated == bloom.to_bytes(256, "big")
        except (KeyError, ValueError):
            return None

    @property
    def has_blooms(self) -> bool:
        """Whether the chain's bloom filters are those of its logs."""
        return self._has_blooms

    def fits_logs(self, block: bytes, logs: Sequence[LogEntry], *, are_all: bool) -> bool | None:
        """Return whether a block's bloom filter, returned with its header, holds the logs returned of the block.

        `are_all`: of all its logs, so that one that is missing shows as well. None where it cannot be checked.
        """
        if block == b"null" or not self.fits_block(block):
            return None
        stated = read_bloom(block)
        bloom = 0
        for log in logs:
            for written in (log.address, *log.topics):
                bloom |= bloom_bits(written.lower())
        if are_all:
            return stated == bloom
        return bloom & ~stated == 0 if logs else None

    def suspects(self, kind: str, endpoint: str, fits: bool | None) -> bool:
        """Return whether a document is a fault of its endpoint: it does not fit, and earlier ones of its kind did."""
        if fits:
            self._matches[kind, endpoint] += 1
        return fits is False and self._matches[kind, endpoint] >= FIRST_MATCHES


def read_bloom(block: bytes) -> int:
    """Return the bloom filter in a block's header; KeyError or ValueError where it has none."""
    return int(text(read_members(block)["logsBloom"]), 16)


async def check_contents(
    pool: Pool,
    contents: Contents,
    kind: str,
    ask: Callable[[CallPolicy], Awaitable[tuple[tuple[Document, bool | None] | None, str]]],
    policy: CallPolicy,
) -> tuple[tuple[Document, bool | None] | None, str]:
    """Return a document (and whether it fits) and its endpoint; a faulty one is asked of another endpoint.

    If another endpoint returns one that fits, that is the answer, and the first endpoint is excluded until it agrees
    with most others. Where none does, the document stands: the layout may have changed for all.
    """
    found, endpoint = await ask(policy)
    if found is None or not contents.suspects(kind, endpoint, found[1]):
        return found, endpoint
    pool.report_invalid(endpoint)
    try:
        other, answerer = await ask(replace(policy, prefer=None, found_invalid=policy.found_invalid | {endpoint}))
    except GatewayError:
        return found, endpoint
    if other is None or answerer == endpoint or not other[1]:
        return found, endpoint
    contents.suspects(kind, answerer, True)
    pool.contradict(endpoint, f"answered a {kind} whose contents do not fit, unlike another endpoint")
    return other, answerer


def _fits(members: Members, first: tuple[str, ...], later: tuple[str, ...]) -> bool | None:
    known = [name for name in later if not is_null(members.get(name))]
    unknown = members.keys() - _BESIDE - set(first) - set(later)
    if any(not is_null(members[name]) for name in unknown) or tuple(known) != later[: len(known)]:
        return None
    encoded = b"".join(_encode(text(members[name]), is_number=name in _QUANTITIES) for name in (*first, *known))
    return bool(keccak(_head(0xC0, len(encoded)) + encoded) == bytes.fromhex(text(members["hash"])[2:]))


def _encode(written: str, *, is_number: bool) -> bytes:
    """Return a member as RLP: a number without leading zeros, everything else as the bytes it is."""
    if is_number:
        number = int(written, 16)
        content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    else:
        content = bytes.fromhex(written[2:])
    if len(content) == 1 and content[0] < 0x80:
        return content
    return _head(0x80, len(content)) + content


def _head(base: int, length: int) -> bytes:
    if length <= 55:
        return bytes([base + length])
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([base + 55 + len(size)]) + size


@lru_cache(maxsize=4096)
def bloom_bits(written: str) -> int:
    """Return the three bits of an address or topic (lower-case hex) in the filter, as a number of 2048 bits."""
    digest = keccak(bytes.fromhex(written[2:]))
    bloom = 0
    for at in (0, 2, 4):
        bloom |= 1 << (int.from_bytes(digest[at : at + 2], "big") & 2047)
    return bloom
