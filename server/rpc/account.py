"""AccountService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import account_pb2, account_pb2_grpc

from server.chains.capabilities.accounts import ReadsBalances
from server.contracts.words import decimal_text
from server.rpc.pipeline.call import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains


class AccountServicer(account_pb2_grpc.AccountServiceServicer):
    """Reads of accounts (contract section 4.3)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def GetBalance(self, request: account_pb2.GetBalanceRequest, context: Any) -> account_pb2.GetBalanceResponse:
        """Return the native balance; `chain` is the hexadecimal chain id on EVM chains."""
        chain = self._chains.get(request.chain)
        view = open_view(request.block_height if request.HasField("block_height") else None)
        balance = await chain.capability(ReadsBalances).read_balance(request.address, view)
        decimals = chain.native.decimals
        return account_pb2.GetBalanceResponse(
            chain=chain.hex_id,
            address=balance.address,
            block_height=balance.block,
            token=chain.native.symbol,
            balance=decimal_text(balance.raw, decimals),
            balance_raw=str(balance.raw),
            decimals=decimals,
        )
