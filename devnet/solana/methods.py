"""The methods of the interface, each a function of the ledger and its parameters."""

import base64
from collections.abc import Callable
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from devnet import known_solana as known
from devnet.solana.accounts import (
    amount_of,
    holding,
    is_mint,
    is_token_account,
    mint_figures,
    too_long_for_base58,
    write_account,
)
from devnet.solana.errors import RpcError, cleaned_up, not_yet, skipped
from devnet.solana.ledger import Block, Ledger, Rejected
from devnet.solana.transactions import write_block, write_transaction
from devnet.solana.world import gift

Params = list[Any]
Method = Callable[[Ledger, Params], Any]

_VERSION = "3.0.0"
_MOST_ACCOUNTS = 100
_MOST_SIGNATURES = 1000
_MOST_BLOCKS = 500_000


def get_health(ledger: Ledger, params: Params) -> str:
    """Answer that the node keeps pace."""
    return "ok"


def get_version(ledger: Ledger, params: Params) -> dict[str, Any]:
    """Return a plausible version."""
    return {"feature-set": 1, "solana-core": _VERSION}


def get_genesis_hash(ledger: Ledger, params: Params) -> str:
    """Return the real chain's, because its addresses are used."""
    return known.GENESIS


def get_slot(ledger: Ledger, params: Params) -> int:
    """Return the newest slot, whatever the commitment: every block is final at once."""
    _options(params, 0)
    return ledger.slot


def get_block_height(ledger: Ledger, params: Params) -> int:
    """Return the number of blocks, which does not count skipped slots."""
    return ledger.head.height


def get_epoch_info(ledger: Ledger, params: Params) -> dict[str, Any]:
    """Return where the head stands in its epoch."""
    epoch, index = divmod(ledger.slot, 432_000)
    return {
        "absoluteSlot": ledger.slot,
        "blockHeight": ledger.head.height,
        "epoch": epoch,
        "slotIndex": index,
        "slotsInEpoch": 432_000,
        "transactionCount": len(ledger.executed),
    }


def get_first_available_block(ledger: Ledger, params: Params) -> int:
    """Return the oldest slot that is kept."""
    return ledger.first


def get_latest_blockhash(ledger: Ledger, params: Params) -> Any:
    """Return the newest blockhash, the only one that transactions may name."""
    value = {"blockhash": ledger.head.blockhash, "lastValidBlockHeight": ledger.head.height + 150}
    return _at(ledger, value)


def get_block(ledger: Ledger, params: Params) -> Any:
    """Return the block of a slot."""
    slot, options = _slot(params), _options(params, 1)
    if options.get("commitment") == "processed":
        raise RpcError(-32602, "Method does not support commitment below `confirmed`")
    return write_block(_block(ledger, slot), options, ledger)


def get_block_time(ledger: Ledger, params: Params) -> int:
    """Return the time of a slot's block."""
    return _block(ledger, _slot(params)).time


def get_blocks(ledger: Ledger, params: Params) -> list[int]:
    """Return the slots with a block in a range."""
    first = _slot(params)
    last = params[1] if len(params) > 1 and isinstance(params[1], int) else ledger.slot
    if last - first > _MOST_BLOCKS:
        raise RpcError(-32602, f"Slot range too large; max {_MOST_BLOCKS}")
    return ledger.slots(first, last)


def get_balance(ledger: Ledger, params: Params) -> Any:
    """Return the lamports of an account, 0 for one that does not exist."""
    key = _key(params, 0)
    _options(params, 1)
    return _at(ledger, ledger.svm.get_balance(key) or 0)


def get_account_info(ledger: Ledger, params: Params) -> Any:
    """Return an account."""
    options = _options(params, 1)
    return _at(ledger, _written(ledger, _key(params, 0), options))


def get_multiple_accounts(ledger: Ledger, params: Params) -> Any:
    """Return up to 100 accounts."""
    wanted = params[0] if params else None
    if not isinstance(wanted, list) or len(wanted) > _MOST_ACCOUNTS:
        raise RpcError(-32602, f"Too many inputs provided; max {_MOST_ACCOUNTS}")
    options = {"encoding": "base64"} | _options(params, 1)
    return _at(ledger, [_written(ledger, _key(wanted, index), options) for index in range(len(wanted))])


def get_token_supply(ledger: Ledger, params: Params) -> Any:
    """Return the supply of a mint."""
    account = ledger.svm.get_account(_key(params, 0))
    if account is None or not is_mint(account):
        raise RpcError(-32602, "Invalid param: not a Token mint" if account else "Invalid param: could not find mint")
    return _at(ledger, amount_of(*mint_figures(account)))


def get_token_account_balance(ledger: Ledger, params: Params) -> Any:
    """Return what a token account holds."""
    account = ledger.svm.get_account(_key(params, 0))
    if account is None or not is_token_account(account):
        words = "not a Token account" if account else "could not find account"
        raise RpcError(-32602, f"Invalid param: {words}")
    mint, _, raw = holding(account)
    return _at(ledger, amount_of(raw, mint_figures(_known(ledger, mint))[1]))


def get_token_accounts_by_owner(ledger: Ledger, params: Params) -> Any:
    """Return an owner's accounts of a mint or of a token program."""
    owner, options = _key(params, 0), _options(params, 2)
    wanted = params[1] if len(params) > 1 and isinstance(params[1], dict) else {}
    mint = None
    if "mint" in wanted:
        mint = _key([wanted["mint"]], 0)
        account = ledger.svm.get_account(mint)
        if account is None or not is_mint(account):
            raise RpcError(-32602, "Invalid param: could not find mint")
        program = account.owner
    elif "programId" in wanted:
        program = _key([wanted["programId"]], 0)
        if program not in (known.TOKEN_PROGRAM, known.TOKEN_2022_PROGRAM):
            raise RpcError(-32602, "Invalid param: unrecognized Token program id")
    else:
        raise RpcError(-32602, "Invalid params: a mint or a programId is needed")
    found = []
    for key, account in ledger.svm.get_program_accounts(program):
        if is_token_account(account):
            held, holder, _ = holding(account)
            if holder == owner and mint in (None, held):
                found.append({"account": write_account(account, options, ledger), "pubkey": str(key)})
    return _at(ledger, found)


def get_transaction(ledger: Ledger, params: Params) -> Any:
    """Return a transaction by its first signature, null for an unknown one."""
    executed = ledger.executed.get(str(_signature(params, 0)))
    options = _options(params, 1)
    if executed is None:
        return None
    block = ledger.blocks[executed.slot]
    place = {"blockTime": block.time, "slot": executed.slot, "transactionIndex": 0}
    return place | write_transaction(executed, options, ledger)


def get_signature_statuses(ledger: Ledger, params: Params) -> Any:
    """Return how transactions ended."""
    wanted = params[0] if params and isinstance(params[0], list) else []
    return _at(ledger, [_status(ledger, str(_signature(wanted, index))) for index in range(len(wanted))])


def get_signatures_for_address(ledger: Ledger, params: Params) -> list[dict[str, Any]]:
    """Return the transactions that name an account, newest first."""
    key, options = _key(params, 0), _options(params, 1)
    limit = options.get("limit") or _MOST_SIGNATURES
    found: list[dict[str, Any]] = []
    before, until = options.get("before"), options.get("until")
    for signature, executed in reversed(ledger.executed.items()):
        if signature == until:
            break
        if before is not None:
            before = None if signature == before else before
            continue
        if key in executed.keys and len(found) < limit:
            found.append(
                {
                    "blockTime": ledger.blocks[executed.slot].time,
                    "confirmationStatus": "finalized",
                    "err": executed.error,
                    "memo": None,
                    "signature": signature,
                    "slot": executed.slot,
                }
            )
    return found


def get_minimum_balance(ledger: Ledger, params: Params) -> int:
    """Return the lamports that keep an account of that size."""
    return int(ledger.svm.minimum_balance_for_rent_exemption(int(params[0])))


def send_transaction(ledger: Ledger, params: Params) -> str:
    """Execute a transaction in a block of its own and return its signature."""
    options = _options(params, 1)
    try:
        is_base64 = options.get("encoding") == "base64"
        raw = base64.b64decode(params[0], validate=True) if is_base64 else _from_base58(params[0])
        transaction = VersionedTransaction.from_bytes(raw)
    except (ValueError, IndexError, TypeError):
        raise RpcError(-32602, "invalid transaction: failed to deserialize") from None
    try:
        return str(ledger.submit(transaction).transaction.signatures[0])
    except Rejected as error:
        data = {"accounts": None, "err": error.reason, "logs": error.logs, "unitsConsumed": 0}
        raise RpcError(-32002, f"Transaction simulation failed: {error.reason}", data) from None


def request_airdrop(ledger: Ledger, params: Params) -> str:
    """Send lamports from the bank and return the signature."""
    return gift(ledger, _key(params, 0), int(params[1]))


METHODS: dict[str, Method] = {
    "getHealth": get_health,
    "getVersion": get_version,
    "getGenesisHash": get_genesis_hash,
    "getSlot": get_slot,
    "getBlockHeight": get_block_height,
    "getEpochInfo": get_epoch_info,
    "getFirstAvailableBlock": get_first_available_block,
    "minimumLedgerSlot": get_first_available_block,
    "getLatestBlockhash": get_latest_blockhash,
    "getBlock": get_block,
    "getBlockTime": get_block_time,
    "getBlocks": get_blocks,
    "getBalance": get_balance,
    "getAccountInfo": get_account_info,
    "getMultipleAccounts": get_multiple_accounts,
    "getTokenSupply": get_token_supply,
    "getTokenAccountBalance": get_token_account_balance,
    "getTokenAccountsByOwner": get_token_accounts_by_owner,
    "getTransaction": get_transaction,
    "getSignatureStatuses": get_signature_statuses,
    "getSignaturesForAddress": get_signatures_for_address,
    "getMinimumBalanceForRentExemption": get_minimum_balance,
    "sendTransaction": send_transaction,
    "requestAirdrop": request_airdrop,
}


def _at(ledger: Ledger, value: Any) -> dict[str, Any]:
    return {"context": {"apiVersion": _VERSION, "slot": ledger.slot}, "value": value}


def _block(ledger: Ledger, slot: int) -> Block:
    if slot in ledger.blocks:
        return ledger.blocks[slot]
    if slot < ledger.first:
        raise cleaned_up(slot, ledger.first)
    raise not_yet(slot) if slot > ledger.slot else skipped(slot)


def _options(params: Params, position: int) -> dict[str, Any]:
    """Return the options at a position without those that are null; checks what a node checks in them."""
    found = params[position] if len(params) > position else None
    if found is None:
        return {}
    if isinstance(found, str):
        return {"encoding": found}
    if not isinstance(found, dict):
        raise RpcError(-32602, "Invalid params: an object is needed")
    options = {name: value for name, value in found.items() if value is not None}
    if options.get("commitment", "finalized") not in ("processed", "confirmed", "finalized"):
        raise RpcError(-32602, "Invalid params: unknown variant for `commitment`.")
    return options


def _slot(params: Params) -> int:
    if not params or isinstance(params[0], bool) or not isinstance(params[0], int) or params[0] < 0:
        raise RpcError(-32602, "Invalid params: invalid type, expected u64.")
    return params[0]


def _key(params: Params, position: int) -> Pubkey:
    try:
        return Pubkey.from_string(params[position])
    except (ValueError, IndexError, TypeError) as error:
        words = "WrongSize" if "size" in str(error) else "Invalid"
        raise RpcError(-32602, f"Invalid param: {words}") from None


def _signature(params: Params, position: int) -> Signature:
    try:
        return Signature.from_string(params[position])
    except (ValueError, IndexError, TypeError):
        raise RpcError(-32602, "Invalid param: Invalid") from None


def _written(ledger: Ledger, key: Pubkey, options: dict[str, Any]) -> Any:
    account = ledger.svm.get_account(key)
    if account is not None and too_long_for_base58(account, options):
        raise RpcError(
            -32600, "Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding."
        )
    return write_account(account, options, ledger)


def _known(ledger: Ledger, key: Pubkey) -> Account:
    account = ledger.svm.get_account(key)
    if account is None:
        raise RpcError(-32602, "Invalid param: could not find mint")
    return account


def _status(ledger: Ledger, signature: str) -> dict[str, Any] | None:
    executed = ledger.executed.get(signature)
    if executed is None:
        return None
    return {
        "confirmationStatus": "finalized",
        "confirmations": None,
        "err": executed.error,
        "slot": executed.slot,
        "status": {"Ok": None} if executed.error is None else {"Err": executed.error},
    }


def _from_base58(text: str) -> bytes:
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number = 0
    for letter in text:
        number = number * 58 + alphabet.index(letter)
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
