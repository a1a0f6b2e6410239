"""The driver's answers against what is known of the world and against the other client's."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from solana.rpc.models import TokenAccountOpts
from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer

from devnet import known_solana as known
from devnet.solana import programs, world
from devnet.solana.facade import answer_one
from server.chains.solana.layouts import metadata_address
from server.chains.view import ReadView
from server.errors import ArchiveRequired, InvalidArgument, NotAToken, NotFound, NotSupported, Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from solana.rpc.async_api import AsyncClient

    from devnet.solana.ledger import Ledger
    from tests.operations import Operations
    from tests.server.chains.solana.conftest import Front
    from tests.tallies import CallTally

pytestmark = pytest.mark.devnet

MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
METADATA = [
    (known.USDC, known.USDC_METADATA),
    (known.TOKEN_2022, known.TOKEN_2022_METADATA),
    (known.POINTING, known.POINTING_METADATA),
    (known.NAMELESS, (None, None, None)),
    (known.WRAPPED_SOL, (None, None, None)),
]
HELD = [
    (known.USDC, sum(known.ALICE_USDC)),
    (known.TOKEN_2022, sum(known.ALICE_TOKEN_2022)),
    (known.WRAPPED_SOL, known.ALICE_WRAPPED),
    (known.NAMELESS, known.ALICE_NAMELESS),
    (known.POINTING, 0),
]


async def test_health_and_height(driver: Operations, judge: AsyncClient):
    health = await driver.read_health()
    slot = (await judge.get_slot()).value
    assert (health.state, health.height) == ("ok", slot)
    assert health.latency is not None
    assert await driver.read_height(ReadView()) == slot


async def test_balance(driver: Operations, judge: AsyncClient, tally: CallTally):
    view = ReadView()
    balance = await driver.read_balance(str(known.ALICE), view)
    reported = await judge.get_balance(known.ALICE)
    assert (balance.raw, balance.block) == (reported.value, reported.context.slot)
    assert (balance.raw, balance.decimals, view.block) == (known.ALICE_LAMPORTS, 9, reported.context.slot)
    assert (await driver.read_balance(str(known.UNTOUCHED), ReadView())).raw == 0
    assert tally.requests == [1, 1]


@pytest.mark.parametrize(("mint", "raw"), HELD)
async def test_token_balance_is_the_sum_of_all_accounts(
    driver: Operations, judge: AsyncClient, tally: CallTally, mint: Pubkey, raw: int
):
    balance = await driver.read_token_balance(str(known.ALICE), str(mint), ReadView())
    assert (balance.raw, balance.decimals) == (raw, known.DECIMALS[str(mint)])
    rows = (await judge.get_token_accounts_by_owner_json_parsed(known.ALICE, TokenAccountOpts(mint=mint))).value
    assert balance.raw == sum(int(row.account.data.parsed["info"]["tokenAmount"]["amount"]) for row in rows)
    assert tally.requests == [2]


async def test_a_node_that_parses_accounts_all_the_same(driver: Operations, node: Front, judge: AsyncClient):
    mint = known.USDC
    parsed = await judge.get_token_accounts_by_owner_json_parsed(known.ALICE, TokenAccountOpts(mint=mint))
    minted = await judge.get_account_info_json_parsed(mint)
    node.twists["getTokenAccountsByOwner"] = lambda _: {"result": json.loads(parsed.to_json())["result"]}
    account = json.loads(minted.to_json())["result"]
    node.twists["getMultipleAccounts"] = lambda _: {"result": account | {"value": [account["value"]]}}
    balance = await driver.read_token_balance(str(known.ALICE), str(mint), ReadView())
    assert (balance.raw, balance.decimals) == (sum(known.ALICE_USDC), 6)


@pytest.mark.parametrize(("mint", "texts"), METADATA)
async def test_metadata(
    driver: Operations, judge: AsyncClient, tally: CallTally, mint: Pubkey, texts: tuple[str | None, ...]
):
    token = (await driver.read_token_metadata(str(mint), ReadView())).solana
    reported = tuple(getattr(token, name) if token.HasField(name) else None for name in ("name", "symbol", "uri"))
    assert reported == texts
    supply = (await judge.get_token_supply(mint)).value
    assert (token.total_supply, token.decimals) == (supply.amount, supply.decimals)
    assert tally.requests == [1]


async def test_metadata_behind_a_pointer_to_a_third_account(driver: Operations, ledger: Ledger, tally: CallTally):
    mint, target = known.key_of("far mint"), known.key_of("far metadata").pubkey()
    world.make_mint(ledger, mint, target, 4)
    texts = ("Far\0away", " FAR ", "u" * 300)
    ledger.svm.set_account(target, programs.written_metadata(10**7, mint.pubkey(), known.BANK, texts))
    token = (await driver.read_token_metadata(str(mint.pubkey()), ReadView())).solana
    assert (token.name, token.symbol, token.uri, token.decimals) == ("Faraway", "FAR", "u" * 256, 4)
    assert tally.requests == [1, 1]
    # Metadata of another mint is not believed.
    ledger.svm.set_account(target, programs.written_metadata(10**7, known.USDC, known.BANK, texts))
    token = (await driver.read_token_metadata(str(mint.pubkey()), ReadView())).solana
    assert not token.HasField("name")


def test_the_address_of_metaplex_metadata():
    assert str(metadata_address(known.USDC)) == "5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq"


async def test_blocks_in_the_nodes_own_bytes(driver: Operations, judge: AsyncClient, tally: CallTally):
    slot = known.FIRST_SLOT + 17
    block = (await driver.read_block_by_number(slot, ReadView())).solana
    reported = (await judge.get_block(slot, max_supported_transaction_version=0)).value
    native = json.loads(block.native.json)
    assert (block.number, block.hash) == (slot, str(reported.blockhash))
    assert (native["blockHeight"], native["parentSlot"], native["blockTime"]) == (
        reported.block_height,
        reported.parent_slot,
        reported.block_time,
    )
    assert native["signatures"] == [str(one.transaction.signatures[0]) for one in reported.transactions]
    assert tally.requests == [1]


@pytest.mark.parametrize(
    ("slot", "error"),
    [
        (known.SKIPPED[0], NotFound),
        (known.FIRST_SLOT + 10**7, NotFound),
        (5, ArchiveRequired),
        (-1, InvalidArgument),
        (1 << 63, InvalidArgument),
    ],
)
async def test_slots_without_a_block(driver: Operations, slot: int, error: type[Exception]):
    with pytest.raises(error):
        await driver.read_block_by_number(slot, ReadView())


async def test_transactions(driver: Operations, judge: AsyncClient, ledger: Ledger, tally: CallTally):
    for signature in (world.versioned(ledger), world.failed(ledger), next(iter(ledger.executed))):
        tally.requests.clear()
        found = (await driver.read_transaction(signature, ReadView())).solana
        assert tally.requests == [1]
        reported = (
            await judge.get_transaction(Signature.from_string(signature), max_supported_transaction_version=0)
        ).value
        assert found.block_number == reported.slot
        assert found.from_address == str(reported.transaction.transaction.message.account_keys[0])
        native, meta = json.loads(found.native.json), reported.transaction.meta
        assert native["meta"]["fee"] == meta.fee
        assert native["meta"]["preBalances"] == meta.pre_balances
        assert native["meta"]["postBalances"] == meta.post_balances
        assert (native["meta"]["err"] is None) == (meta.err is None)


async def test_a_plain_transfer_tells_its_sender_and_receiver(driver: Operations, ledger: Ledger):
    """The receiver of the second stands in a look-up table; the third failed, and still says what it was."""
    ends = [(known.BANK, known.ALICE), (known.BANK, known.BOB), (known.BOB, known.ALICE)]
    signatures = [next(iter(ledger.executed)), world.versioned(ledger), world.failed(ledger)]
    for signature, (sender, receiver) in zip(signatures, ends, strict=True):
        found = (await driver.read_transaction(signature, ReadView())).solana
        assert (found.from_address, found.to) == (str(sender), str(receiver))


async def test_the_sender_of_a_transfer_need_not_pay_its_fee(driver: Operations, ledger: Ledger):
    """Notes and fee settings stand beside a transfer; somebody else pays."""
    bank, bob = known.key_of("bank"), known.key_of("bob")
    memo = Instruction(Pubkey.from_string(MEMO), b"rent", [])
    limit = Instruction(Pubkey.from_string("ComputeBudget111111111111111111111111111111"), b"\x02\x40\x0d\x03\x00", [])
    pay = transfer(TransferParams(from_pubkey=known.BOB, to_pubkey=known.ALICE, lamports=1))
    executed = ledger.execute([limit, pay, memo], [bank, bob])
    found = (await driver.read_transaction(str(executed.transaction.signatures[0]), ReadView())).solana
    assert (found.from_address, found.to) == (str(known.BOB), str(known.ALICE))


async def test_what_is_no_plain_transfer_has_no_receiver(driver: Operations, ledger: Ledger):
    """Two transfers, and a transfer between calls of other programs (wrapped SOL)."""
    pay = transfer(TransferParams(from_pubkey=known.BANK, to_pubkey=known.ALICE, lamports=1))
    twice = ledger.execute([pay, pay], [known.key_of("bank")])
    wrapped = next(one for one in ledger.executed.values() if len(one.transaction.message.instructions) == 3)
    for executed in (twice, wrapped):
        found = (await driver.read_transaction(str(executed.transaction.signatures[0]), ReadView())).solana
        assert found.from_address == str(known.BANK)
        assert not found.HasField("to")


def _without_instructions(message: dict[str, Any]) -> None:
    del message["instructions"]


def _with_odd_data(message: dict[str, Any]) -> None:
    message["instructions"][0]["data"] = "0OIl"


def _with_an_account_that_is_not_there(message: dict[str, Any]) -> None:
    message["instructions"][0]["accounts"] = [0, 99]


def _with_negative_places(message: dict[str, Any]) -> None:
    message["instructions"][0]["accounts"] = [-1, -2]


@pytest.mark.parametrize(
    "twist", [_without_instructions, _with_odd_data, _with_an_account_that_is_not_there, _with_negative_places]
)
async def test_instructions_that_cannot_be_read_tell_no_receiver(
    driver: Operations, node: Front, ledger: Ledger, twist: Callable[[dict[str, Any]], None]
):
    signature = next(iter(ledger.executed))
    params = [signature, {"encoding": "json", "maxSupportedTransactionVersion": 0}]
    answer = answer_one(ledger, {"id": 1, "method": "getTransaction", "params": params})["result"]
    twist(answer["transaction"]["message"])
    node.twists["getTransaction"] = lambda _: {"result": answer}
    found = (await driver.read_transaction(signature, ReadView())).solana
    assert (found.from_address, found.HasField("to")) == (str(known.BANK), False)


async def test_the_version_that_a_node_names_is_asked_for(driver: Operations, node: Front):
    asked: list[int] = []

    def clamp(params: list[Any]) -> dict[str, Any] | None:
        asked.append(params[1]["maxSupportedTransactionVersion"])
        if asked[-1] >= 2:
            return None
        words = 'Transaction version (2) is not supported by the requesting client. "maxSupportedTransactionVersion": 2'
        return {"error": {"code": -32015, "message": words}}

    node.twists["getBlock"] = clamp
    await driver.read_block_by_number(known.FIRST_SLOT + 17, ReadView())
    assert asked == [1, 2]
    # A node that never has enough is not asked for ever.
    node.twists["getBlock"] = lambda params: {
        "error": {
            "code": -32015,
            "message": f'"maxSupportedTransactionVersion": {params[1]["maxSupportedTransactionVersion"] + 1}',
        }
    }
    node.asked.clear()
    with pytest.raises(NotSupported):
        await driver.read_block_by_number(known.FIRST_SLOT + 17, ReadView())
    assert len(node.asked) == 3


@pytest.mark.parametrize(
    ("status", "error"),
    [(None, NotFound), ({"slot": 5, "confirmationStatus": "processed"}, Pending)],
)
async def test_unknown_and_pending_transactions_differ(
    driver: Operations, node: Front, status: dict[str, Any] | None, error: type[Exception]
):
    node.twists["getSignatureStatuses"] = lambda _: {"result": {"context": {"slot": 9}, "value": [status]}}
    with pytest.raises(error):
        await driver.read_transaction(str(Signature.new_unique()), ReadView())


async def test_old_state_is_refused_without_asking(driver: Operations, tally: CallTally):
    alice, usdc = str(known.ALICE), str(known.USDC)
    for read in (
        driver.read_balance(alice, ReadView(block=5)),
        driver.read_token_balance(alice, usdc, ReadView(block=5)),
        driver.read_token_metadata(usdc, ReadView(block=5)),
    ):
        with pytest.raises(NotSupported) as refusal:
            await read
        assert refusal.value.field == "blockHeight"
    assert tally.requests == []


async def test_what_is_no_mint(driver: Operations):
    for address in (known.ALICE, known.UNTOUCHED, known.METADATA_PROGRAM):
        with pytest.raises(NotAToken, match=str(address)) as refused:
            await driver.read_token_metadata(str(address), ReadView())
        assert refused.value.field == "address"
        with pytest.raises(NotAToken, match=str(address)) as refused:
            await driver.read_token_balance(str(known.ALICE), str(address), ReadView())
        assert refused.value.field == "token"


async def test_bad_addresses_reach_no_node(driver: Operations, tally: CallTally):
    bad = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
    reads = [
        (driver.read_balance(bad, ReadView()), "address"),
        (driver.read_token_balance(bad, str(known.USDC), ReadView()), "address"),
        (driver.read_token_balance(str(known.ALICE), bad, ReadView()), "token"),
        (driver.read_token_metadata(bad, ReadView()), "address"),
        (driver.read_transaction(bad, ReadView()), "hash"),
    ]
    for read, name in reads:
        with pytest.raises(InvalidArgument) as refusal:
            await read
        assert refusal.value.field == name
    assert tally.requests == []


async def test_passed_calls(driver: Operations, node: Front):
    params = json.dumps([str(known.USDC), {"encoding": "base64"}]).encode()
    answer = json.loads(await driver.pass_call("getAccountInfo", params, ReadView()))
    assert len(base64.b64decode(answer["value"]["data"][0])) == programs.MINT_SIZE
    node.asked.clear()
    full = json.dumps([known.FIRST_SLOT, {"transactionDetails": "full"}]).encode()
    for method, written in (
        ("sendTransaction", b'["AA"]'),
        ("requestAirdrop", b"[]"),
        ("getProgramAccounts", b"[]"),
        ("getBlock", full),
        ("getBlock", b"[300000000]"),
        ("getMultipleAccounts", json.dumps([["a"] * 101]).encode()),
    ):
        with pytest.raises(InvalidArgument):
            await driver.pass_call(method, written, ReadView())
    assert node.asked == []
