"""NFT contracts and the documents of their tokens."""

from server.nfts.calls import Standard
from server.nfts.contracts import NftContracts
from server.nfts.documents import Document
from server.nfts.locations import Gateways
from server.nfts.metadata import Metadata, MetadataReader

__all__ = ["Document", "Gateways", "Metadata", "MetadataReader", "NftContracts", "Standard"]
