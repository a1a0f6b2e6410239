"""NFT contracts, and the documents of their tokens."""

from __future__ import annotations

from devnet import known, known_nft
from tests.e2e.questions.question import Question, ethereum

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
LIGHTHOUSES = ethereum(contract=known_nft.LIGHTHOUSES)
GOODS = ethereum(contract=known_nft.GOODS)
DOCUMENTS = ethereum(contract=known_nft.DOCUMENTS)
VITALIK = {"address": known.VITALIK}
OPERATIONS = {
    "getNftCollection": {},
    "getNftMetadata": {"tokenId": "1"},
    "getNftTokenOwner": {"tokenId": "1"},
    "getNftBalance": VITALIK,
    "getNftTokens": VITALIK,
    "getNftErc1155Balance": VITALIK | {"tokenId": "1"},
    "getNftBatchBalance": {"addresses": [known.VITALIK], "tokenIds": ["1"]},
}

QUESTIONS = [
    Question("getNftCollection", LIGHTHOUSES),
    Question("getNftCollection", LIGHTHOUSES | {"blockHeight": 26050003}, "history"),
    Question("getNftCollection", GOODS, "neither name nor supply"),
    Question("getNftCollection", ethereum(contract=known_nft.OLD_DEEDS), "bytes32 texts"),
    Question("getNftMetadata", LIGHTHOUSES | {"tokenId": "7"}),
    Question("getNftMetadata", LIGHTHOUSES | {"tokenId": "7", "blockHeight": 26050003}, "history"),
    Question("getNftMetadata", GOODS | {"tokenId": str(known_nft.LARGEST_ID)}, "ERC-1155, the largest id"),
    Question("getNftMetadata", DOCUMENTS | {"tokenId": "3"}, "data address, large integers"),
    Question("getNftMetadata", DOCUMENTS | {"tokenId": "23"}, "members twice"),
    Question("getNftMetadata", DOCUMENTS | {"tokenId": "12"}, "no document"),
    Question("getNftMetadata", DOCUMENTS | {"tokenId": "19"}, "a private address"),
    Question("getNftTokenOwner", LIGHTHOUSES | {"tokenId": "0"}),
    Question("getNftBalance", LIGHTHOUSES | VITALIK),
    Question("getNftBalance", LIGHTHOUSES | VITALIK | {"blockHeight": 26050003}, "history"),
    Question("getNftTokens", LIGHTHOUSES | {"address": known.ALICE}, "more than are listed"),
    Question("getNftTokens", LIGHTHOUSES | {"address": known.UNTOUCHED}, "none"),
    Question("getNftTokens", VITALIK | {"chain": "arbitrum", "contract": known_nft.OLD_DEEDS}, "arbitrum"),
    Question("getNftErc1155Balance", GOODS | VITALIK | {"tokenId": "314592"}),
    Question(
        "getNftBatchBalance",
        GOODS | {"addresses": [known.VITALIK, known.ALICE], "tokenIds": [str(known_nft.LARGEST_ID), "1"]},
    ),
]

REFUSED = [
    *(Question(name, ethereum(**others), "no contract") for name, others in OPERATIONS.items()),
    *(Question(name, ethereum(contract="0x12", **others), "short contract") for name, others in OPERATIONS.items()),
    *(
        Question(name, ethereum(contract="0x" + "a" * 5000, **others), "oversized contract")
        for name, others in OPERATIONS.items()
    ),
    *(
        Question(name, {"chain": "etherum", "contract": known_nft.GOODS, **others}, "unknown chain")
        for name, others in OPERATIONS.items()
    ),
    *(
        Question(name, {"chain": "solana", "contract": known_nft.GOODS, **others}, "family without the operation")
        for name, others in OPERATIONS.items()
    ),
    *(
        Question(name, ethereum(contract=known.UNTOUCHED, **others), "no code there")
        for name, others in OPERATIONS.items()
    ),
    Question("getNftCollection", ethereum(contract=known_nft.REVERTER), "refuses everything"),
    Question("getNftCollection", LIGHTHOUSES | {"blockHeight": -1}, "negative height"),
    Question("getNftCollection", LIGHTHOUSES | {"blockHeight": 99_000_000}, "height beyond the head"),
    Question("getNftMetadata", LIGHTHOUSES, "no token"),
    Question("getNftMetadata", LIGHTHOUSES | {"tokenId": "-1"}, "negative token"),
    Question("getNftMetadata", LIGHTHOUSES | {"tokenId": str(2**256)}, "token too large"),
    Question("getNftMetadata", LIGHTHOUSES | {"tokenId": "0x1"}, "token in hex"),
    Question("getNftMetadata", LIGHTHOUSES | {"tokenId": "5000"}, "never minted"),
    Question("getNftMetadata", ethereum(contract=USDC, tokenId="1"), "an ERC-20 token"),
    Question("getNftTokenOwner", LIGHTHOUSES | {"tokenId": str(known_nft.BURNT)}, "burnt"),
    Question("getNftTokenOwner", GOODS | {"tokenId": "1"}, "ERC-1155"),
    Question("getNftTokenOwner", LIGHTHOUSES | {"tokenId": "1" * 5000}, "oversized token"),
    Question("getNftBalance", LIGHTHOUSES, "no address"),
    Question("getNftBalance", LIGHTHOUSES | {"address": "0x" + "0" * 40}, "zero address"),
    Question("getNftBalance", GOODS | VITALIK, "ERC-1155"),
    Question("getNftTokens", DOCUMENTS | VITALIK, "not enumerable"),
    Question("getNftTokens", ethereum(contract=known_nft.BOASTER) | VITALIK, "states lists that it lacks"),
    Question("getNftTokens", ethereum(contract=known_nft.LIAR) | VITALIK, "answers everything alike"),
    Question("getNftErc1155Balance", LIGHTHOUSES | VITALIK | {"tokenId": "1"}, "ERC-721"),
    Question("getNftErc1155Balance", GOODS | VITALIK, "no token"),
    Question("getNftBatchBalance", GOODS, "no pairs"),
    Question("getNftBatchBalance", GOODS | {"addresses": [known.VITALIK], "tokenIds": ["1", "2"]}, "unequal lists"),
    Question("getNftBatchBalance", GOODS | {"addresses": [], "tokenIds": []}, "empty lists"),
    Question("getNftBatchBalance", GOODS | {"addresses": [known.VITALIK] * 101, "tokenIds": ["1"] * 101}, "101 pairs"),
    Question("getNftBatchBalance", GOODS | {"addresses": ["0x12"], "tokenIds": ["1"]}, "short address"),
    Question("getNftBatchBalance", GOODS | {"addresses": [known.VITALIK], "tokenIds": ["x"]}, "no number"),
]
