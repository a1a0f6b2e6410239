"""Block hashes as CometBFT computes them: Merkle trees over encoded fields (RFC 6962 prefixes).

Source: CometBFT specification, core data structures, Header and Merkle trees.
"""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cosmpy.protos.tendermint.types.types_pb2 import BlockID, Header
from google.protobuf.wrappers_pb2 import BytesValue, Int64Value, StringValue

if TYPE_CHECKING:
    from google.protobuf.message import Message


def merkle_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root of a tree over these leaves."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + merkle_root(leaves[:split]) + merkle_root(leaves[split:])).digest()


def data_hash(transactions: Sequence[bytes]) -> bytes:
    """Return the hash of a block's transactions."""
    return merkle_root([hashlib.sha256(data).digest() for data in transactions])


def header_hash(header: Header) -> bytes:
    """Return the hash of a block: that of its header."""
    last: BlockID = header.last_block_id
    fields: list[Message] = [
        header.version,
        StringValue(value=header.chain_id),
        Int64Value(value=header.height),
        header.time,
        last,
        *(
            BytesValue(value=getattr(header, name))
            for name in (
                "last_commit_hash",
                "data_hash",
                "validators_hash",
                "next_validators_hash",
                "consensus_hash",
                "app_hash",
                "last_results_hash",
                "evidence_hash",
                "proposer_address",
            )
        ),
    ]
    return merkle_root([field.SerializeToString() for field in fields])
