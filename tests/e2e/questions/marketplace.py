"""The marketplace's catalogue."""

from __future__ import annotations

from tests.e2e.questions.question import Question

QUESTIONS = [
    Question("listMarketplaceMethods"),
    Question("listMarketplaceMethods", {"appId": "erc20"}, "of one app"),
    Question("listMarketplaceMethods", {"chain": "polygon"}, "of one chain"),
    Question("listMarketplaceMethods", {"chain": "bitcoin"}, "none on that chain"),
    Question("getMarketplaceContract", {"appId": "erc20"}, "template"),
    Question("getMarketplaceContract", {"appId": "oneinch"}, "six deployments"),
]

REFUSED = [
    Question("listMarketplaceMethods", {"chain": "polygn"}, "unknown chain"),
    Question("listMarketplaceMethods", {"chain": ""}, "empty chain"),
    Question("listMarketplaceMethods", {"appId": "erc21"}, "unknown app"),
    Question("listMarketplaceMethods", {"appId": ""}, "empty appId"),
    Question("listMarketplaceMethods", {"appId": "a" * 65}, "long appId"),
    Question("getMarketplaceContract", {}, "no appId"),
    Question("getMarketplaceContract", {"appId": "multisig"}, "unknown app, a near one"),
    Question("getMarketplaceContract", {"appId": "ERC20"}, "appId in upper case"),
    Question("getMarketplaceContract", {"appId": "nothing like any"}, "unknown app, none near"),
    Question("getMarketplaceContract", {"appId": "a" * 65}, "long appId"),
]
