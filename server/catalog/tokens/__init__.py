"""The tokens that the gateway knows (contract section 2.5 and more): names, addresses and decimals on every chain.

One file per token in `data`, named after its symbol in lower case:

    symbol = "WETH"
    name = "Wrapped Ether"                     # left out: nobody knows, the symbol stands for it
    price = "ETH"                              # the symbol that prices it; left out: its own
    coingecko = "weth"                         # ids at sources of prices
    defillama = ["coingecko:weth"]
    is_doubtful = true                         # it is not certain which asset the symbol means
    checked = 2026-11-20                       # when the sources were read
    deployments = [
        { chain = "ethereum", address = "0xC0...", decimals = 18, kind = "issued", sources = ["aave"] },
    ]

Further entries of a deployment: `symbol` where the contract calls itself differently, `form` to tell two of one symbol
apart, `is_priced = false` where the token's price does not fit, `mirrors_native = true` for a contract that shows the
own coin's balance once more, `unverified = "address"` or `"decimals"` for what is not confirmed. Kinds: `coin` (the
chain's own), `issued` (by the issuer, or the chain's usual wrapper), `oft` (the issuer's own form for several chains);
`canonical-bridge`, `bridge` and `peg` are claims on a bridge or a custodian.
"""

from server.catalog.tokens.catalogue import Listing, TokenCatalogue, load_tokens, read_catalogue
from server.catalog.tokens.deployment import NATIVE, Deployment
from server.catalog.tokens.mistakes import TokenMistake
from server.catalog.tokens.search import Match, TokenSearch
from server.catalog.tokens.token import Token

__all__ = [
    "NATIVE",
    "Deployment",
    "Listing",
    "Match",
    "Token",
    "TokenCatalogue",
    "TokenMistake",
    "TokenSearch",
    "load_tokens",
    "read_catalogue",
]
