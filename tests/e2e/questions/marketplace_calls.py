"""Published contract methods."""

from __future__ import annotations

from typing import Any

from devnet import known
from devnet import known_marketplace as places
from tests.e2e.questions.question import Question

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
BALANCE_OF = "svc_erc20_erc20api_call_balanceOf"
TRANSFER = "svc_erc20_erc20api_getLogs_Transfer"
EXECUTE = "svc_multisigwallet_safe_simulateCall_execTransaction"


def usdc(**params: Any) -> dict[str, Any]:
    """Return parameters of a template at USDC; `from_` becomes `from`."""
    return {"chain": "ethereum", "address": USDC, **{name.rstrip("_"): value for name, value in params.items()}}


def transaction(*, to: Any = known.BOB, operation: Any = 0, signer: str = "") -> list[Any]:
    """Return the arguments of a Safe's execTransaction, signed by the sender `signer` or by nobody."""
    signature = signer[2:].rjust(64, "0") + "00" * 32 + "01" if signer else ""
    return [to, "0", "0x", operation, "0", "0", "0", "0x" + "00" * 20, known.BOB, "0x" + signature]


QUESTIONS = [
    Question(BALANCE_OF, usdc(args=[known.VITALIK])),
    Question(BALANCE_OF, usdc(args=[known.VITALIK.lower()], height="26050000"), "history"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK], from_=known.BOB), "with a sender"),
    Question("svc_erc20_erc20api_call_name", usdc(address=known.UNICODE_TOKEN), "outside ASCII"),
    Question("svc_erc20_erc20api_call_decimals", {"chain": "arbitrum", "address": known.UNICODE_TOKEN}, "arbitrum"),
    Question(TRANSFER, usdc()),
    Question(TRANSFER, usdc(args=[known.ALICE, None], fromBlock="26050000", toBlock="26050004"), "filtered"),
    Question(TRANSFER, usdc(cursor="26050004:0:26050000"), "cursor"),
    Question(EXECUTE, usdc(args=transaction()), "of no wallet"),
    Question(EXECUTE, usdc(address=places.SAFE, args=transaction(), from_=known.DEVELOPER), "signed by nobody"),
    Question(EXECUTE, usdc(address=places.SAFE, args=transaction(signer=known.DEVELOPER), from_=known.DEVELOPER)),
    Question("svc_multisigwallet_safe_call_getOwners", usdc(address=places.SAFE), "a list"),
    Question("svc_multisigwallet_safe_getLogs_AddedOwner", usdc(address=places.SAFE), "indexed since 1.4.1"),
    Question("svc_multisigwallet_safe_getLogs_AddedOwner", usdc(address=places.OLD_SAFE), "1.3.0"),
    Question("svc_erc721api_erc721_call_tokenURI", usdc(address=places.COLLECTION, args=["1"])),
    Question("svc_erc721api_erc721_call_isApprovedForAll", usdc(address=places.COLLECTION, args=[known.BOB] * 2), "no"),
    Question("svc_lido_ethereum_wsteth_call_getStETHByWstETH", {"args": ["0xde0b6b3a7640000"]}, "integer in hex"),
    Question("svc_lido_ethereum_steth_getLogs_TransferShares", {"args": [known.DEVELOPER]}),
    Question("svc_lido_ethereum_lidolocator_call_treasury"),
    Question("svc_etherfi_ethereum_weeth_call_getEETHByWeETH", {"args": [1]}, "integer as a number"),
    Question("svc_ethena_ethereum_susde_call_convertToAssets", {"args": ["1"], "height": "26050001"}, "history"),
    Question("svc_cbeth_ethereum_cbeth_getLogs_ExchangeRateUpdated", {"fromBlock": "26050000"}),
    Question("svc_rocketpool_ethereum_reth_call_getCollateralRate", {"from": known.BOB}, "with a sender"),
    Question("svc_oneinch_polygon_offchainoracle_call_oracles", {}, "two lists"),
]

REFUSED = [
    Question("svc_erc20_erc20api_call_balanceof", usdc(args=[known.VITALIK]), "unpublished, wrong case"),
    Question("svc_nothing", {}, "unpublished, nothing near"),
    Question("svc_", {}, "nothing after the prefix"),
    Question(BALANCE_OF, {"address": USDC, "args": [known.VITALIK]}, "no chain"),
    Question(BALANCE_OF, {"chain": "ethereum", "args": [known.VITALIK]}, "no address"),
    Question(BALANCE_OF, usdc(chain="atlantis", args=[known.VITALIK]), "unknown chain"),
    Question(BALANCE_OF, usdc(chain="", args=[known.VITALIK]), "empty chain"),
    Question(BALANCE_OF, usdc(chain="cosmoshub", args=[known.VITALIK]), "chain of another family"),
    Question(BALANCE_OF, usdc(address="0x12", args=[known.VITALIK]), "malformed address"),
    Question(BALANCE_OF, usdc(), "no argument"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK, "1"]), "one argument too many"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK[:-1] + "6"]), "wrong checksum in an argument"),
    Question(BALANCE_OF, usdc(args=[7]), "argument of another type"),
    Question(BALANCE_OF, usdc(args={"account": known.VITALIK}), "arguments by name"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK], height="99000000"), "block beyond the head"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK], fromBlock="1"), "a range for a call"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK], from_="0x1"), "malformed sender"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK], value="1"), "coin for a function that takes none"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK], value="-1"), "negative value"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK], address=known.UNTOUCHED), "no contract there"),
    Question(BALANCE_OF, usdc(args=[known.VITALIK], address=known.REVERT_BOMBER), "a contract that only reverts"),
    Question(BALANCE_OF, usdc(args=["0x" + "1" * 200_000]), "oversized"),
    Question("svc_lido_ethereum_wsteth_call_symbol", {"chain": "ethereum"}, "chain of a fixed deployment"),
    Question("svc_lido_ethereum_wsteth_call_symbol", {"address": USDC}, "address of a fixed deployment"),
    Question(TRANSFER, usdc(args=[None, None, "5"]), "filter by what is not indexed"),
    Question(TRANSFER, usdc(args=[None] * 4), "more filters than inputs"),
    Question(TRANSFER, usdc(fromBlock="26030000", toBlock="26050000"), "window too large"),
    Question(TRANSFER, usdc(fromBlock="26050002", toBlock="26050001"), "range reversed"),
    Question(TRANSFER, usdc(cursor="later"), "no cursor"),
    Question(TRANSFER, usdc(from_=known.BOB), "a sender for a query"),
    Question(EXECUTE, usdc(args=transaction(operation=256)), "integer beyond its type"),
    Question(EXECUTE, usdc(args=transaction(to=None)), "null for an address"),
    Question(EXECUTE, usdc(args=transaction(), from_=known.UNTOUCHED, value="1"), "sender without coin"),
]
REFUSED_IN_JSON = [
    Question(BALANCE_OF, usdc(args=[known.VITALIK], height="0x10"), "height in hex"),
    Question(TRANSFER, usdc(cursor=""), "cursor empty"),
]
