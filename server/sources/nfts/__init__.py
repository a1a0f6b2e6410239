"""NFT contracts and the documents of their tokens."""

from server.sources.nfts.contracts import NftContracts
from server.sources.nfts.documents import Document
from server.sources.nfts.locations import Gateways
from server.sources.nfts.metadata import Metadata, MetadataReader
from server.sources.nfts.standards import Standard

__all__ = ["Document", "Gateways", "Metadata", "MetadataReader", "NftContracts", "Standard"]
