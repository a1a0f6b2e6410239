"""The JSON of messages and transactions from their bytes, against what the SDK's REST gateway writes, literally."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cosmpy.protos.cosmos.authz.v1beta1.tx_pb2 import MsgExec
from cosmpy.protos.cosmos.bank.v1beta1.tx_pb2 import MsgSend
from cosmpy.protos.cosmos.gov.v1.tx_pb2 import MsgVote
from cosmpy.protos.cosmos.tx.v1beta1.tx_pb2 import AuthInfo, ModeInfo, TxBody, TxRaw
from google.protobuf import json_format
from google.protobuf.any_pb2 import Any as Packed
from hypothesis import given, settings
from hypothesis import strategies as st

from devnet.cosmos.world import CHAINS
from server.chains.cosmos.raw_transactions import MOST_BYTES, decode_transaction
from server.chains.cosmos.sdk_json import MOST_ANYS, MOST_DEPTH, Unwritable, Writing, kind_of

ROOT = Path(__file__).resolve().parents[4]
KEY = base64.b64encode(bytes(32)).decode()
COIN = {"denom": CHAINS["cosmoshub"].denom, "amount": "5"}
ZERO_COIN = {"denom": "", "amount": "0"}
ZERO_HEIGHT = {"revision_number": "0", "revision_height": "0"}
PUBKEY = {"@type": "/cosmos.crypto.ed25519.PubKey", "key": KEY}
UNKNOWN = Packed(type_url="/osmosis.gamm.v1beta1.MsgSwapExactAmountIn", value=b"\x0a\x01a")
UNKNOWN_JSON = {"@type": UNKNOWN.type_url, "value": "CgFh"}


def packed(message: Any) -> Packed:
    found = Packed()
    found.Pack(message, type_url_prefix="/")
    return found


def of(type_url: str, **values: Any) -> Packed:
    """Return a message of that type in an `Any`, its values as protobuf's own JSON."""
    # Protobuf's own JSON looks for types among those that were imported.
    assert kind_of(PUBKEY["@type"]) is not None
    kind: Any = kind_of(type_url)
    message = json_format.ParseDict(values, kind())
    return Packed(type_url=type_url, value=message.SerializeToString())


def raw(*messages: Packed, auth: AuthInfo | None = None) -> bytes:
    body, info = TxBody(messages=messages), auth or AuthInfo()
    signed = TxRaw(body_bytes=body.SerializeToString(), auth_info_bytes=info.SerializeToString(), signatures=[b"\1\2"])
    return bytes(signed.SerializeToString())


def only_message(*messages: Packed) -> Any:
    [message] = decode_transaction(raw(*messages))["body"]["messages"]
    # As a whole it has to be JSON, contract messages included.
    return json.loads(msgspec.json.encode(message))


GO_WRITES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # Members without a value are there; what cannot be missing is written whole.
    (
        "/cosmos.staking.v1beta1.MsgDelegate",
        {"delegator_address": "a"},
        {"delegator_address": "a", "validator_address": "", "amount": ZERO_COIN},
    ),
    # Decimals are kept as whole numbers of 10^-18.
    (
        "/cosmos.staking.v1beta1.MsgCreateValidator",
        {
            "description": {"moniker": "m"},
            "commission": {"rate": "50000000000000000", "max_rate": "1200000000000000000", "max_change_rate": "1"},
            "min_self_delegation": "1",
            "pubkey": PUBKEY,
            "value": COIN,
        },
        {
            "description": {"moniker": "m", "identity": "", "website": "", "security_contact": "", "details": ""},
            "commission": {
                "rate": "0.050000000000000000",
                "max_rate": "1.200000000000000000",
                "max_change_rate": "0.000000000000000001",
            },
            "min_self_delegation": "1",
            "delegator_address": "",
            "validator_address": "",
            "pubkey": PUBKEY,
            "value": COIN,
        },
    ),
    # Numbers that may be missing are null.
    (
        "/cosmos.staking.v1beta1.MsgEditValidator",
        {"validator_address": "v"},
        {
            "description": {"moniker": "", "identity": "", "website": "", "security_contact": "", "details": ""},
            "validator_address": "v",
            "commission_rate": None,
            "min_self_delegation": None,
        },
    ),
    # A contract's message is JSON itself; an integer beyond 2^53 keeps its digits.
    (
        "/cosmwasm.wasm.v1.MsgExecuteContract",
        {"msg": base64.b64encode(b'{ "swap": {"n": [1, 2]} }').decode(), "funds": [COIN]},
        {"sender": "", "contract": "", "msg": {"swap": {"n": [1, 2]}}, "funds": [COIN]},
    ),
    # Bytes without any are null; enums of that module have words of their own.
    (
        "/cosmwasm.wasm.v1.MsgStoreCode",
        {"sender": "a", "instantiate_permission": {"permission": "ACCESS_TYPE_EVERYBODY"}},
        {"sender": "a", "wasm_byte_code": None, "instantiate_permission": {"permission": "Everybody", "addresses": []}},
    ),
    ("/cosmwasm.wasm.v1.MsgStoreCode", {}, {"sender": "", "wasm_byte_code": None, "instantiate_permission": None}),
    (
        "/cosmos.gov.v1.MsgVote",
        {"proposal_id": "18446744073709551615", "option": "VOTE_OPTION_YES"},
        {"proposal_id": "18446744073709551615", "voter": "", "option": "VOTE_OPTION_YES", "metadata": ""},
    ),
    (
        "/ibc.applications.transfer.v1.MsgTransfer",
        {"token": COIN, "timeout_timestamp": "7"},
        {
            "source_port": "",
            "source_channel": "",
            "token": COIN,
            "sender": "",
            "receiver": "",
            "timeout_height": ZERO_HEIGHT,
            "timeout_timestamp": "7",
            "memo": "",
            "encoding": "",
        },
    ),
    # Times: of no, 3, 6 or 9 places; a time that cannot be missing and was never set is that of Go.
    (
        "/cosmos.feegrant.v1beta1.PeriodicAllowance",
        {"basic": {"expiration": "2030-01-02T03:04:05.5Z"}, "period": "3600.000001s"},
        {
            "basic": {"spend_limit": [], "expiration": "2030-01-02T03:04:05.500Z"},
            "period": "3600.000001s",
            "period_spend_limit": [],
            "period_can_spend": [],
            "period_reset": "0001-01-01T00:00:00Z",
        },
    ),
    # Of several only the chosen one; hashes in hex where Go keeps them so.
    (
        "/cosmos.staking.v1beta1.StakeAuthorization",
        {"allow_list": {"address": ["v"]}, "authorization_type": "AUTHORIZATION_TYPE_DELEGATE"},
        {"max_tokens": None, "allow_list": {"address": ["v"]}, "authorization_type": "AUTHORIZATION_TYPE_DELEGATE"},
    ),
    (
        "/ibc.lightclients.tendermint.v1.ConsensusState",
        {"timestamp": "1970-01-01T00:00:00Z", "next_validators_hash": base64.b64encode(b"\xab\x01").decode()},
        {"timestamp": "1970-01-01T00:00:00Z", "root": {"hash": None}, "next_validators_hash": "AB01"},
    ),
]


@pytest.mark.parametrize(("type_url", "values", "written"), GO_WRITES, ids=[row[0] for row in GO_WRITES])
def test_messages_are_written_as_go_does(type_url: str, values: dict[str, Any], written: dict[str, Any]) -> None:
    assert only_message(of(type_url, **values)) == {"@type": type_url, **written}


def test_an_envelope_is_written_with_all_its_members() -> None:
    multi = ModeInfo(multi=ModeInfo.Multi(mode_infos=[ModeInfo(single=ModeInfo.Single(mode=127))]))
    multi.multi.bitarray.extra_bits_stored, multi.multi.bitarray.elems = 3, b"\xa0"
    auth = AuthInfo()
    auth.signer_infos.add(mode_info=multi, sequence=7)
    auth.signer_infos.add()
    auth.fee.gas_limit = 200_000
    assert decode_transaction(raw(auth=auth)) == {
        "body": {
            "messages": [],
            "memo": "",
            "timeout_height": "0",
            "unordered": False,
            "timeout_timestamp": None,
            "extension_options": [],
            "non_critical_extension_options": [],
        },
        "auth_info": {
            "signer_infos": [
                {
                    "public_key": None,
                    "mode_info": {
                        "multi": {
                            "bitarray": {"extra_bits_stored": 3, "elems": "oA=="},
                            "mode_infos": [{"single": {"mode": "SIGN_MODE_LEGACY_AMINO_JSON"}}],
                        }
                    },
                    "sequence": "7",
                },
                {"public_key": None, "mode_info": None, "sequence": "0"},
            ],
            "fee": {"amount": [], "gas_limit": "200000", "payer": "", "granter": ""},
            "tip": None,
        },
        "signatures": ["AQI="],
    }


def test_what_is_not_known_stays_its_type_and_bytes() -> None:
    send = of("/cosmos.bank.v1beta1.MsgSend", amount=[COIN])
    written = decode_transaction(raw(send, UNKNOWN, packed(MsgExec(grantee="g", msgs=[UNKNOWN, send]))))
    sent = {"@type": send.type_url, "from_address": "", "to_address": "", "amount": [COIN]}
    assert written["body"]["messages"] == [
        sent,
        UNKNOWN_JSON,
        {"@type": "/cosmos.authz.v1beta1.MsgExec", "grantee": "g", "msgs": [UNKNOWN_JSON, sent]},
    ]


NOT_OF_THEIR_TYPE = {
    "cut": b"\x0a\x05a",
    "a field of a newer version": MsgSend(from_address="a").SerializeToString() + b"\x7a\x01b",
    "such a field within a message": b"\x1a\x06\x0a\x01a\x7a\x01b",
    "text that is none": b"\x0a\x01\xff",
    "an amount that is none": b"\x1a\x05\x12\x03abc",
}


@pytest.mark.parametrize("value", NOT_OF_THEIR_TYPE.values(), ids=NOT_OF_THEIR_TYPE)
def test_bytes_that_are_not_of_their_type_stay_bytes(value: bytes) -> None:
    # What would be left out is not left out without a word.
    type_url = "/cosmos.bank.v1beta1.MsgSend"
    written = only_message(Packed(type_url=type_url, value=value))
    assert written == {"@type": type_url, "value": base64.b64encode(value).decode()}


def test_a_contract_s_message_that_is_no_json_stays_bytes() -> None:
    for text in (b"{", b'{"a":\xff}', b"[" * 100_000):
        message = of("/cosmwasm.wasm.v1.MsgExecuteContract", msg=base64.b64encode(text).decode())
        assert only_message(message) == {"@type": message.type_url, "value": base64.b64encode(message.value).decode()}


def test_a_type_that_is_none_and_numbers_without_a_name() -> None:
    for type_url in ("", "/", "/cosmos.bank.v1beta1.", "/cosmos.bank.v1beta1.MsgNone", "cosmos.bank.v1beta1.MsgSend"):
        assert only_message(Packed(type_url=type_url, value=b"a")) == {"@type": type_url, "value": "YQ=="}
    vote = packed(MsgVote(option=77))  # type: ignore[arg-type]
    assert only_message(vote)["option"] == 77


def test_messages_are_taken_apart_to_a_depth() -> None:
    message = packed(MsgSend(from_address="inmost"))
    for _ in range(MOST_ANYS + 5):
        message = packed(MsgExec(msgs=[message]))
    written, levels = only_message(message), 0
    while "msgs" in written:
        [written], levels = written["msgs"], levels + 1
    assert levels == MOST_ANYS
    rest = MsgExec.FromString(base64.b64decode(written["value"]))
    assert len(rest.msgs) == 1
    mode = ModeInfo()
    # Two messages each.
    for _ in range(MOST_DEPTH * 2 // 3):
        mode = ModeInfo(multi=ModeInfo.Multi(mode_infos=[mode]))
    auth = AuthInfo()
    auth.signer_infos.add(mode_info=mode)
    with pytest.raises(Unwritable):
        decode_transaction(raw(auth=auth))


def test_what_is_written_is_bounded() -> None:
    small = of("/cosmos.bank.v1beta1.MsgSend", amount=[COIN])
    # Two bytes each.
    coins = Packed(type_url=small.type_url, value=b"\x1a\x00" * 900_000)
    first, large, last = decode_transaction(raw(small, coins, small))["body"]["messages"]
    assert set(first) == {"@type", "from_address", "to_address", "amount"}
    assert set(large) == set(last) == {"@type", "value"}
    with pytest.raises(Unwritable):
        decode_transaction(raw(*[Packed()] * 300_000))
    with pytest.raises(Unwritable):
        decode_transaction(raw(Packed(value=bytes(MOST_BYTES))))


def test_envelopes_that_are_none() -> None:
    whole = raw(of("/cosmos.bank.v1beta1.MsgSend", amount=[COIN]), auth=AuthInfo(signer_infos=[{}]))  # type: ignore[list-item]
    decode_transaction(whole)
    whole_body = TxRaw.FromString(whole).body_bytes
    for end in range(1, len(whole_body)):
        # A body cut between its fields is a body, but of less.
        bodies = TxRaw(body_bytes=whole_body[:end]).SerializeToString()
        with pytest.raises(Unwritable):
            decode_transaction(bodies)
    for odd in (whole[:-1], whole + b"\x22\x00", TxRaw(body_bytes=b"\x7a\x00").SerializeToString()):
        with pytest.raises(Unwritable):
            decode_transaction(odd)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_transaction_or_none(data: bytes) -> None:
    for odd in (data, raw(Packed(type_url="/cosmos.authz.v1beta1.MsgExec", value=data))):
        try:
            msgspec.json.encode(decode_transaction(odd))
        except Unwritable:
            assert odd is data


def test_types_are_imported_when_one_is_first_met() -> None:
    code = (
        "import sys, server.app\n"
        "from server.chains.cosmos.sdk_json import kind_of\n"
        "loaded = lambda: {name for name in sys.modules if name.split('.')[0] in ('cosmpy', 'cosmos', 'ibc')}\n"
        "assert not loaded()\n"
        "assert kind_of('/ibc.core.channel.v9.MsgNone') is None and not loaded()\n"
        "assert kind_of('/cosmos.bank.v1beta1.MsgSend') is not None\n"
        "assert 'cosmos.bank.v1beta1.tx_pb2' in loaded() and not any(name.startswith('ibc') for name in loaded())\n"
        "assert not {'requests', 'ecdsa', 'nacl', 'bcrypt', 'jsonschema'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, env={"PYTHONPATH": f"{ROOT}:{ROOT}/generated"})


def test_every_package_of_the_table_can_be_imported() -> None:
    table = tomllib.loads((ROOT / "server/chains/cosmos/sdk_types.toml").read_text(encoding="utf-8"))
    for package in table["packages"]:
        assert kind_of(f"/{package}.None") is None
    writing = Writing()
    for kind in (kind_of("/ibc.lightclients.tendermint.v1.Header"), kind_of("/cosmos.group.v1.MsgExec")):
        assert kind is not None
        assert writing.write(kind())
