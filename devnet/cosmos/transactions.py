"""Transactions as real bytes: built, signed, checked and printed with the chains' own protobuf types."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cosmpy.crypto.keypairs import PrivateKey, PublicKey
from cosmpy.protos.cosmos.bank.v1beta1.tx_pb2 import MsgSend
from cosmpy.protos.cosmos.base.v1beta1.coin_pb2 import Coin
from cosmpy.protos.cosmos.crypto.secp256k1.keys_pb2 import PubKey
from cosmpy.protos.cosmos.staking.v1beta1.tx_pb2 import MsgDelegate, MsgUndelegate
from cosmpy.protos.cosmos.tx.signing.v1beta1.signing_pb2 import SIGN_MODE_DIRECT
from cosmpy.protos.cosmos.tx.v1beta1.tx_pb2 import AuthInfo, Fee, ModeInfo, SignDoc, SignerInfo, Tx, TxBody, TxRaw
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message

from devnet import known_cosmos as known

Json = dict[str, Any]
MESSAGES: dict[str, type[Message]] = {
    "/" + kind.DESCRIPTOR.full_name: kind for kind in (MsgSend, MsgDelegate, MsgUndelegate)
}


def coin(denom: str, amount: int) -> Coin:
    """Return an amount as a message."""
    return Coin(denom=denom, amount=str(amount))


@dataclass(frozen=True)
class Signer:
    """An account that signs on a chain, with the account's number there."""

    key: PrivateKey
    chain_id: str
    account_number: int


def sign(signer: Signer, sequence: int, messages: Sequence[Message], fee: Coin, memo: str = "") -> bytes:
    """Return the bytes of a signed transaction."""
    body = TxBody(memo=memo)
    for message in messages:
        body.messages.add().Pack(message, type_url_prefix="/")
    info = SignerInfo(sequence=sequence, mode_info=ModeInfo(single=ModeInfo.Single(mode=SIGN_MODE_DIRECT)))
    info.public_key.Pack(PubKey(key=signer.key.public_key.public_key_bytes), type_url_prefix="/")
    auth = AuthInfo(signer_infos=[info], fee=Fee(amount=[fee], gas_limit=200_000))
    signed = SignDoc(
        body_bytes=body.SerializeToString(),
        auth_info_bytes=auth.SerializeToString(),
        chain_id=signer.chain_id,
        account_number=signer.account_number,
    )
    signature = signer.key.sign(signed.SerializeToString(), deterministic=True)
    raw = TxRaw(body_bytes=signed.body_bytes, auth_info_bytes=signed.auth_info_bytes, signatures=[signature])
    return bytes(raw.SerializeToString())


@dataclass(frozen=True)
class Decoded:
    """A transaction taken apart; `payer` is the raw public key of its signer."""

    raw: TxRaw
    tx: Tx
    messages: tuple[Message, ...]
    payer: bytes
    sequence: int

    def is_signed(self, chain_id: str, account_number: int) -> bool:
        """Return whether the signature fits the bytes, the chain and the account."""
        signed = SignDoc(
            body_bytes=self.raw.body_bytes,
            auth_info_bytes=self.raw.auth_info_bytes,
            chain_id=chain_id,
            account_number=account_number,
        )
        return bool(PublicKey(self.payer).verify(signed.SerializeToString(), self.raw.signatures[0]))


def decode(data: bytes) -> Decoded | None:
    """Return a transaction taken apart; None for bytes that are none, or hold a message that is not modelled."""
    try:
        raw = TxRaw.FromString(data)
        tx = Tx(
            body=TxBody.FromString(raw.body_bytes),
            auth_info=AuthInfo.FromString(raw.auth_info_bytes),
            signatures=raw.signatures,
        )
        payer = PubKey.FromString(tx.auth_info.signer_infos[0].public_key.value).key
        messages = tuple(MESSAGES[packed.type_url].FromString(packed.value) for packed in tx.body.messages)
    except (DecodeError, IndexError, KeyError):
        return None
    if not messages or not raw.signatures or not payer:
        return None
    return Decoded(raw, tx, messages, payer, tx.auth_info.signer_infos[0].sequence)


def tx_json(tx: Tx) -> Json:
    """Return a transaction as the REST gateway prints it: defaults included, absent messages null."""
    printed: Json = MessageToDict(tx, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    printed["auth_info"].setdefault("tip", None)
    printed["body"].setdefault("timeout_timestamp", None)
    return printed


def hash_of(data: bytes) -> str:
    """Return the hash of a transaction, 64 upper-case hex digits."""
    return hashlib.sha256(data).hexdigest().upper()


def fee_of(denom: str) -> Coin:
    """Return the fee that every seeded transaction pays."""
    return coin(denom, known.FEE)
