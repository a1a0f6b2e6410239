"""What is certain about the NFT contracts of the local ethereum, and about the documents of their tokens.

Two are as published (OpenZeppelin's presets); the others are our own and odd. Their addresses are the last 20 bytes of
a Keccak-256 digest of words of ours. Content ids are made up as well: nothing else has them.
"""

from base64 import b64encode

from devnet import known

# ERC-721, enumerable, ids from 0 on: ALICE holds the first ALICE_HAS, VITALIK the next VITALIK_HAS, the last is burnt.
LIGHTHOUSES = "0x1405DFC955AB436413284d2fe29F1744441312c6"
LIGHTHOUSES_NAME, LIGHTHOUSES_SYMBOL = "Waypost Lighthouses", "LIGHT"
ALICE_HAS, VITALIK_HAS = 105, 3
BURNT = ALICE_HAS + VITALIK_HAS

# ERC-1155 without names; amounts by holder and id.
GOODS = "0x9C5D3f7263d55C50e6896d1889dc7d8D896e3141"
LARGEST_ID = 2**256 - 1
GOODS_HELD = {
    (known.VITALIK, 1): 25,
    (known.VITALIK, 314592): 2**255,
    (known.VITALIK, LARGEST_ID): 1,
    (known.ALICE, 1): 7,
}

DOCUMENTS = "0xBB202773e91d883ab118C57cA387c24D6b2cD209"  # ERC-721 without lists; a document of each kind
OLD_DEEDS = "0x6E7C36Ff2A0E56fD3159B6c920E20c47ED62498e"  # no interface detection; 0 to 2 exist; on arbitrum too
BOASTER = "0xE7B691Fd5034Fe650937BE02E9C7Ef0F90fA95Df"  # states lists that it does not have
LIAR = "0xCdC8be866B9b36082e63DC48384015Dc013DbbCD"  # answers any call with the number 1
REVERTER = "0x183aD38e213D828C7Da42e849ae581d0B367C0F9"  # refuses any call without a reason

CONTENT_ID = "bafybeiwaypostwaypostwaypostwaypostwaypostwaypostwaypost234"
ARWEAVE_ID = "waypost-waypost-waypost-waypost-waypost-123"
LIGHTHOUSES_BASE = f"ipfs://{CONTENT_ID}/lighthouses/"
GOODS_URI = f"ar://{ARWEAVE_ID}/goods/{{id}}.json"

ENCODED = b'{"name":"Encoded","image":"ar://%s/1.png"}' % ARWEAVE_ID.encode()

# What stands at DOCUMENTS' token ids: the address of the document as the contract states it.
ON_CHAIN = f'{{"name":"100% #1","image":"data:image/svg+xml;utf8,<svg/>","level":{LARGEST_ID}}}'
WRITTEN = {
    1: "data:application/json;base64," + b64encode(ENCODED[:-9]).decode(),
    2: "data:application/json;base64," + b64encode(ENCODED).decode(),
    3: f"data:application/json;utf8,{ON_CHAIN}",
    4: "data:application/json,%7B%22name%22%3A%22Percent%22%7D",
    5: ON_CHAIN,
    6: "<svg xmlns='http://www.w3.org/2000/svg'/>",
    7: "",
    8: "web3://0x1405DFC955AB436413284d2fe29F1744441312c6/1",
    9: f"ipfs://ipfs/{CONTENT_ID}/odd/redirect",
    10: f"{CONTENT_ID}/odd/good one #1.json",
    11: f"ipfs://{CONTENT_ID}/odd/missing",
    12: f"ipfs://{CONTENT_ID}/odd/html",
    13: f"ipfs://{CONTENT_ID}/odd/broken",
    14: f"ipfs://{CONTENT_ID}/odd/huge",
    15: f"ipfs://{CONTENT_ID}/odd/deep",
    16: f"ipfs://{CONTENT_ID}/odd/bomb",
    17: f"ipfs://{CONTENT_ID}/odd/to-metadata-service",
    18: f"ipfs://{CONTENT_ID}/../../names",
    19: "https://169.254.169.254/latest/meta-data/",
    20: "http://127.0.0.1:8545/",
    21: "https://operator:hunter2@example.org/1.json",
    22: f"ipfs://{CONTENT_ID}/odd/slow",
    23: f"ipfs://{CONTENT_ID}/odd/duplicates",
    24: f"ar://{ARWEAVE_ID}/odd/marked",
}
