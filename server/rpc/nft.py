"""NftService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import common_pb2, nft_balance_pb2, nft_pb2, nft_pb2_grpc

from server.contracts.address import parse_address
from server.errors import InvalidArgument
from server.nfts.contracts import NftContracts
from server.nfts.locations import Gateways
from server.nfts.metadata import MetadataReader
from server.rpc.pipeline.call import current, open_view

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from runtime.settings import Settings
    from server.chains.registry import Chains
    from server.fetch import GuardedFetcher
    from server.nfts.calls import Standard
    from server.nfts.documents import Document
    from server.upstream.cache import Cache


class NftServicer(nft_pb2_grpc.NftServiceServicer):
    """Reads of NFT contracts (contract section 4.6)."""

    def __init__(
        self,
        chains: Chains,
        settings: Settings,
        fetcher: GuardedFetcher,
        cache: Cache | None,
        lifetime: AsyncExitStack,
    ) -> None:
        self._contracts = NftContracts(chains)
        gateways = Gateways(settings.nft.ipfs_gateways, settings.nft.arweave_gateways)
        self._metadata = MetadataReader(fetcher, gateways, cache)
        lifetime.push_async_callback(self._metadata.close)

    async def GetNftCollection(
        self, request: nft_pb2.GetNftCollectionRequest, context: Any
    ) -> nft_pb2.GetNftCollectionResponse:
        """Return a collection's description of itself."""
        contract = parse_address(request.contract, "contract")
        view = open_view(request.block_height if request.HasField("block_height") else None)
        found = await self._contracts.read_collection(request.chain, contract, view)
        return nft_pb2.GetNftCollectionResponse(
            chain=request.chain,
            contract=contract,
            block_height=view.block,
            name=found.name,
            symbol=found.symbol,
            total_supply=None if found.total_supply is None else str(found.total_supply),
            standard=_standard(found.standard),
        )

    async def GetNftMetadata(
        self, request: nft_pb2.GetNftMetadataRequest, context: Any
    ) -> nft_pb2.GetNftMetadataResponse:
        """Return a token's owner and document."""
        contract, token_id = parse_address(request.contract, "contract"), int(request.token_id)
        view = open_view(request.block_height if request.HasField("block_height") else None)
        token = await self._contracts.read_token(request.chain, contract, token_id, view)
        use = current().cache
        found = await self._metadata.read(
            token.uri, token_id, is_multi=token.is_multi, deadline=view.deadline, is_fresh=use.bypass
        )
        if found.seconds is not None:
            use.lasts(found.seconds)
        return nft_pb2.GetNftMetadataResponse(
            chain=request.chain,
            contract=contract,
            token_id=request.token_id,
            block_height=view.block,
            standard=_standard(token.standard),
            owner=token.owner,
            token_uri=found.uri,
            token_uri_raw=token.uri,
            metadata=None if found.document is None else _document(found.document),
            metadata_error=found.problem,
        )

    async def GetNftTokenOwner(
        self, request: nft_pb2.GetNftTokenOwnerRequest, context: Any
    ) -> nft_pb2.GetNftTokenOwnerResponse:
        """Return the owner of a token."""
        contract, view = parse_address(request.contract, "contract"), open_view()
        owner = await self._contracts.read_owner(request.chain, contract, int(request.token_id), view)
        return nft_pb2.GetNftTokenOwnerResponse(
            chain=request.chain, contract=contract, token_id=request.token_id, owner=owner, block_height=view.block
        )

    async def GetNftBalance(
        self, request: nft_balance_pb2.GetNftBalanceRequest, context: Any
    ) -> nft_balance_pb2.GetNftBalanceResponse:
        """Return how many tokens of a collection an account holds."""
        contract = parse_address(request.contract, "contract")
        account = parse_address(request.address, "address")
        view = open_view(request.block_height if request.HasField("block_height") else None)
        balance = await self._contracts.read_balance(request.chain, contract, account, view)
        return nft_balance_pb2.GetNftBalanceResponse(
            chain=request.chain, contract=contract, address=account, block_height=view.block, balance=str(balance)
        )

    async def GetNftTokens(
        self, request: nft_balance_pb2.GetNftTokensRequest, context: Any
    ) -> nft_balance_pb2.GetNftTokensResponse:
        """Return the tokens that an account holds."""
        contract = parse_address(request.contract, "contract")
        account = parse_address(request.address, "address")
        view = open_view()
        listing = await self._contracts.read_tokens(request.chain, contract, account, view)
        return nft_balance_pb2.GetNftTokensResponse(
            chain=request.chain,
            contract=contract,
            address=account,
            token_ids=[str(token_id) for token_id in listing.token_ids],
            total=str(listing.total),
            capped=listing.total > len(listing.token_ids),
            block_height=view.block,
        )

    async def GetNftErc1155Balance(
        self, request: nft_balance_pb2.GetNftErc1155BalanceRequest, context: Any
    ) -> nft_balance_pb2.GetNftErc1155BalanceResponse:
        """Return how much of a token an account holds."""
        contract = parse_address(request.contract, "contract")
        account = parse_address(request.address, "address")
        view, pair = open_view(), (account, int(request.token_id))
        [balance] = await self._contracts.read_multi_balances(request.chain, contract, [pair], view)
        return nft_balance_pb2.GetNftErc1155BalanceResponse(
            chain=request.chain,
            contract=contract,
            address=account,
            token_id=request.token_id,
            balance=str(balance),
            block_height=view.block,
        )

    async def GetNftBatchBalance(
        self, request: nft_balance_pb2.GetNftBatchBalanceRequest, context: Any
    ) -> nft_balance_pb2.GetNftBatchBalanceResponse:
        """Return how much of a token each account of many holds."""
        contract = parse_address(request.contract, "contract")
        if len(request.addresses) != len(request.token_ids):
            raise InvalidArgument(
                f"addresses has {len(request.addresses)} entries and tokenIds {len(request.token_ids)}: "
                "write one token id for every address",
                field="tokenIds",
            )
        accounts = [parse_address(text, f"addresses[{index}]") for index, text in enumerate(request.addresses)]
        pairs = list(zip(accounts, map(int, request.token_ids), strict=True))
        view = open_view()
        balances = await self._contracts.read_multi_balances(request.chain, contract, pairs, view)
        rows = [
            nft_balance_pb2.NftPairBalance(address=account, token_id=text, balance=str(balance))
            for account, text, balance in zip(accounts, request.token_ids, balances, strict=True)
        ]
        return nft_balance_pb2.GetNftBatchBalanceResponse(
            chain=request.chain, contract=contract, results=rows, block_height=view.block
        )


def _standard(standard: Standard) -> nft_pb2.NftStandard:
    return nft_pb2.NftStandard(
        erc721=standard.erc721, erc721_enumerable=standard.erc721_enumerable, erc1155=standard.erc1155
    )


def _document(document: Document) -> nft_pb2.NftDocument:
    native = common_pb2.NativeJson(json=document.others.decode()) if document.others else None
    return nft_pb2.NftDocument(name=document.name, image=document.image, native=native)
