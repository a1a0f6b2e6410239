"""Blocks and transactions as the interface writes them."""

import base64
from typing import Any

from solders.message import MessageV0

from devnet.solana.accounts import amount_of, base58, holding, is_token_account, mint_figures
from devnet.solana.errors import BAD_ENCODING, RpcError, unsupported_version
from devnet.solana.ledger import Block, Executed, Ledger


def write_transaction(executed: Executed, options: dict[str, Any], ledger: Ledger) -> dict[str, Any]:
    """Return `transaction`, `meta` and, where the caller takes versions, `version`. Raises RpcError."""
    version = version_of(executed)
    allowed = options.get("maxSupportedTransactionVersion")
    if version != "legacy" and (allowed is None or int(allowed) < int(version)):
        raise unsupported_version(int(version))
    written = {"meta": _meta(executed, ledger), "transaction": _encoded(executed, options.get("encoding") or "json")}
    return written if allowed is None else written | {"version": version}


def write_block(block: Block, options: dict[str, Any], ledger: Ledger) -> dict[str, Any]:
    """Return a block at the level of detail asked for. Raises RpcError."""
    details = options.get("transactionDetails") or "full"
    written: dict[str, Any] = {
        "blockHeight": block.height,
        "blockTime": block.time,
        "blockhash": block.blockhash,
        "parentSlot": block.parent_slot,
        "previousBlockhash": block.previous,
    }
    if options.get("rewards") is not False:
        written["rewards"] = []
    if details == "signatures":
        written["signatures"] = [str(executed.transaction.signatures[0]) for executed in block.transactions]
    elif details in ("full", "accounts"):
        full = [write_transaction(executed, options, ledger) for executed in block.transactions]
        written["transactions"] = full if details == "full" else [_accounts_only(one) for one in full]
    return written


def version_of(executed: Executed) -> str | int:
    """Return `legacy` or the version's number."""
    return 0 if isinstance(executed.transaction.message, MessageV0) else "legacy"


def _accounts_only(written: dict[str, Any]) -> dict[str, Any]:
    transaction = written["transaction"]
    keys = [
        {"pubkey": key, "signer": number < len(transaction["signatures"]), "source": "transaction", "writable": True}
        for number, key in enumerate(transaction["message"]["accountKeys"])
    ]
    return written | {"transaction": {"accountKeys": keys, "signatures": transaction["signatures"]}}


def _encoded(executed: Executed, encoding: str) -> Any:
    raw = bytes(executed.transaction)
    if encoding == "base64":
        return [base64.b64encode(raw).decode(), "base64"]
    if encoding in ("base58", "binary"):
        return [base58(raw), "base58"]
    if encoding not in ("json", "jsonParsed"):
        raise RpcError(-32602, BAD_ENCODING)
    message = executed.transaction.message
    written: dict[str, Any] = {
        "accountKeys": [str(key) for key in message.account_keys],
        "header": {
            "numReadonlySignedAccounts": message.header.num_readonly_signed_accounts,
            "numReadonlyUnsignedAccounts": message.header.num_readonly_unsigned_accounts,
            "numRequiredSignatures": message.header.num_required_signatures,
        },
        "instructions": [_instruction(one, 1) for one in message.instructions],
        "recentBlockhash": str(message.recent_blockhash),
    }
    if isinstance(message, MessageV0):
        written["addressTableLookups"] = [
            {
                "accountKey": str(lookup.account_key),
                "readonlyIndexes": list(lookup.readonly_indexes),
                "writableIndexes": list(lookup.writable_indexes),
            }
            for lookup in message.address_table_lookups
        ]
    return {"message": written, "signatures": [str(signature) for signature in executed.transaction.signatures]}


def _instruction(instruction: Any, height: int) -> dict[str, Any]:
    return {
        "accounts": list(instruction.accounts),
        "data": base58(bytes(instruction.data)),
        "programIdIndex": instruction.program_id_index,
        "stackHeight": height,
    }


def _meta(executed: Executed, ledger: Ledger) -> dict[str, Any]:
    message = executed.transaction.message
    writable, readonly = ledger.looked_up(message) if isinstance(message, MessageV0) else ([], [])
    return {
        "computeUnitsConsumed": executed.meta["units"],
        "err": executed.error,
        "fee": executed.meta["fee"],
        "innerInstructions": [
            {"index": index, "instructions": [_instruction(one, height) for one, height in inner]}
            for index, inner in enumerate(executed.meta["inner"])
            if inner
        ],
        "loadedAddresses": {"readonly": [str(key) for key in readonly], "writable": [str(key) for key in writable]},
        "logMessages": executed.meta["logs"],
        "postBalances": _balances(executed, executed.after),
        "postTokenBalances": _token_balances(executed, executed.after, ledger),
        "preBalances": _balances(executed, executed.before),
        "preTokenBalances": _token_balances(executed, executed.before, ledger),
        "rewards": [],
        "status": {"Ok": None} if executed.error is None else {"Err": executed.error},
    }


def _balances(executed: Executed, accounts: dict[Any, Any]) -> list[int]:
    return [0 if (account := accounts[key]) is None else account.lamports for key in executed.keys]


def _token_balances(executed: Executed, accounts: dict[Any, Any], ledger: Ledger) -> list[dict[str, Any]]:
    written = []
    for index, key in enumerate(executed.keys):
        account = accounts[key]
        if not is_token_account(account):
            continue
        mint, owner, raw = holding(account)
        found = ledger.svm.get_account(mint)
        decimals = 0 if found is None else mint_figures(found)[1]
        written.append(
            {
                "accountIndex": index,
                "mint": str(mint),
                "owner": str(owner),
                "programId": str(account.owner),
                "uiTokenAmount": amount_of(raw, decimals),
            }
        )
    return written
