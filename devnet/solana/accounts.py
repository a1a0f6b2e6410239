"""Accounts as the interface writes them: base64, Base58, and parsed for the token programs."""

import base64
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature

from devnet.known_solana import TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from devnet.solana.ledger import Ledger
from devnet.solana.programs import ACCOUNT_SIZE, MINT_SIZE

_PROGRAMS = {TOKEN_PROGRAM: "spl-token", TOKEN_2022_PROGRAM: "spl-token-2022"}
_STATES = ("uninitialized", "initialized", "frozen")
_WIDEST_BASE58 = 128


def is_mint(account: Account | None) -> bool:
    """Return whether an account is a mint of a token program."""
    if account is None or account.owner not in _PROGRAMS:
        return False
    data = account.data
    return len(data) == MINT_SIZE or (len(data) > ACCOUNT_SIZE and data[ACCOUNT_SIZE] == 1)


def is_token_account(account: Account | None) -> bool:
    """Return whether an account holds tokens."""
    if account is None or account.owner not in _PROGRAMS:
        return False
    data = account.data
    return len(data) == ACCOUNT_SIZE or (len(data) > ACCOUNT_SIZE and data[ACCOUNT_SIZE] == 2)


def mint_figures(account: Account) -> tuple[int, int]:
    """Return supply and decimals of a mint."""
    return int.from_bytes(account.data[36:44], "little"), account.data[44]


def holding(account: Account) -> tuple[Pubkey, Pubkey, int]:
    """Return mint, owner and amount of a token account."""
    data = account.data
    mint, owner = Pubkey.from_bytes(data[:32]), Pubkey.from_bytes(data[32:64])
    return mint, owner, int.from_bytes(data[64:72], "little")


def amount_of(raw: int, decimals: int) -> dict[str, Any]:
    """Return an amount as `UiTokenAmount`."""
    digits = str(raw).rjust(decimals + 1, "0")
    text = f"{digits[:-decimals]}.{digits[-decimals:]}".rstrip("0").rstrip(".") if decimals else digits
    return {"amount": str(raw), "decimals": decimals, "uiAmount": float(text), "uiAmountString": text}


def write_account(account: Account | None, options: dict[str, Any], ledger: Ledger) -> dict[str, Any] | None:
    """Return an account in the encoding asked for; what has no parser comes in base64, as from a node."""
    if account is None:
        return None
    encoding = options.get("encoding") or "base58"
    data: Any = _parsed(account, ledger) if encoding == "jsonParsed" else None
    if data is None:
        cut = options.get("dataSlice") or {"offset": 0, "length": len(account.data)}
        raw = account.data[cut["offset"] : cut["offset"] + cut["length"]]
        is_base58 = encoding == "base58"
        data = [base58(raw), "base58"] if is_base58 else [base64.b64encode(raw).decode(), "base64"]
    return {
        "data": data,
        "executable": account.executable,
        "lamports": account.lamports,
        "owner": str(account.owner),
        "rentEpoch": account.rent_epoch,
        "space": len(account.data),
    }


def base58(raw: bytes) -> str:
    """Return bytes in Base58."""
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    if len(raw) == Signature.LENGTH:
        return str(Signature.from_bytes(raw))
    number, digits = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        digits = alphabet[rest] + digits
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + digits


def too_long_for_base58(account: Account, options: dict[str, Any]) -> bool:
    """Return whether a node would refuse to write the account in Base58."""
    return (options.get("encoding") or "base58") == "base58" and len(account.data) > _WIDEST_BASE58


def _parsed(account: Account, ledger: Ledger) -> dict[str, Any] | None:
    program = _PROGRAMS.get(account.owner)
    if program is None:
        return None
    if is_mint(account):
        info, kind = _mint_info(account), "mint"
    elif is_token_account(account):
        info, kind = _holding_info(account, ledger), "account"
    else:
        return None
    return {"program": program, "parsed": {"info": info, "type": kind}, "space": len(account.data)}


def _mint_info(account: Account) -> dict[str, Any]:
    supply, decimals = mint_figures(account)
    data = account.data
    info: dict[str, Any] = {
        "decimals": decimals,
        "freezeAuthority": _option(data[46:82]),
        "isInitialized": data[45] == 1,
        "mintAuthority": _option(data[0:36]),
        "supply": str(supply),
    }
    if account.owner == TOKEN_2022_PROGRAM and len(data) > ACCOUNT_SIZE:
        info["extensions"] = [_extension(kind, value) for kind, value in _extensions(data)]
    return info


def _holding_info(account: Account, ledger: Ledger) -> dict[str, Any]:
    mint, owner, raw = holding(account)
    found = ledger.svm.get_account(mint)
    decimals = 0 if found is None else mint_figures(found)[1]
    is_native = account.data[109:113] == b"\1\0\0\0"
    return {
        "isNative": is_native,
        "mint": str(mint),
        "owner": str(owner),
        "state": _STATES[account.data[108]],
        "tokenAmount": amount_of(raw, decimals),
    }


def _option(data: bytes) -> str | None:
    return str(Pubkey.from_bytes(data[4:36])) if data[:4] == b"\1\0\0\0" else None


def _extensions(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], ACCOUNT_SIZE + 1
    while at + 4 <= len(data):
        kind, size = int.from_bytes(data[at : at + 2], "little"), int.from_bytes(data[at + 2 : at + 4], "little")
        if kind == 0:
            break
        found.append((kind, data[at + 4 : at + 4 + size]))
        at += 4 + size
    return found


def _extension(kind: int, value: bytes) -> dict[str, Any]:
    if kind == 18:
        state: dict[str, Any] = {"authority": _key(value[:32]), "metadataAddress": _key(value[32:64])}
        return {"extension": "metadataPointer", "state": state}
    if kind == 19:
        texts, at = [], 64
        for _ in range(3):
            size = int.from_bytes(value[at : at + 4], "little")
            texts.append(value[at + 4 : at + 4 + size].decode())
            at += 4 + size
        state = {"updateAuthority": _key(value[:32]), "mint": _key(value[32:64]), "additionalMetadata": []}
        state |= dict(zip(("name", "symbol", "uri"), texts, strict=True))
        return {"extension": "tokenMetadata", "state": state}
    return {"extension": "unparseableExtension"}


def _key(raw: bytes) -> str | None:
    return None if raw == bytes(32) else str(Pubkey.from_bytes(raw))
