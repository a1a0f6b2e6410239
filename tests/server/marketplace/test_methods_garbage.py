"""Whatever is written into the parameters of a published method, the answer is one, or says what the caller did."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet import known_marketplace as places
from tests.server.marketplace.conftest import METHODS

if TYPE_CHECKING:
    from tests.server.marketplace.conftest import Marketplace

pytestmark = pytest.mark.devnet

NAMES = [name for name, method in METHODS.items() if method.deployment.chain in (None, "ethereum", "polygon")]
ADDRESSES = [
    *(known.VITALIK, known.BOB.lower(), places.SAFE, places.COLLECTION, places.STETH, known.REVERT_BOMBER),
    *(known.RETURN_BOMBER, known.GAS_BURNER, known.SILENT_CONTRACT, known.HOSTILE_TOKEN, known.UNTOUCHED),
    *(known.MULTICALL3, known.DELEGATED, "0x" + "00" * 20, "0x" + "0" * 39 + "1", "0x" + "0" * 39 + "9"),
    *("0x12", "0X" + "A" * 40, None, 7),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**64, 2**256 - 1, 2**256, 1.5, 1e300, "", "0x", "0x0", "1", "-1", "abc", "\u0661"),
    *("0x" + "ff" * 32, "0x" + "ab" * 5000, [], [1], {}, {"a": 1}, "latest", "\u00e9\u0000"),
]
HEIGHTS: list[Any] = [
    *(26050000, 26050005, "26050005", "latest", 0, 1, -1, 99999999, 2**53, 2**60, "0x10", None, "x", 26049999, 1.0),
    *("26050005:1", "26050005:1:26050000", "1:2:3", "26050005:0:99999999", ":", "26050005:999999999"),
]
CHAINS: list[Any] = ["ethereum"] * 8 + ["polygon", "arbitrum", "solana", "nowhere", None, 5]


def garbage(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if kind < 0.5:
        return chance.choice(ADDRESSES)
    if kind < 0.6 and depth < 3:
        return [garbage(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    return chance.choice(VALUES)


def likely(kind: str, chance: random.Random) -> Any:
    """Return a value that mostly fits the type."""
    if chance.random() < 0.1:
        return garbage(chance)
    signed = "0x" + known.DEVELOPER[2:].rjust(64, "0") + "00" * 32 + "01"
    fitting: dict[str, list[Any]] = {"address": ADDRESSES[:16], "bool": [True, False], "bytes": ["0x", "0x12", signed]}
    return chance.choice(fitting.get(kind, [0, 1, 2, "5", "0xff", 255, str(2**256 - 1)]))


def params(name: str, chance: random.Random) -> dict[str, Any]:
    method = METHODS[name]
    args: Any = [likely(one["type"], chance) for one in method.abi_item["inputs"]]
    given: dict[str, Any] = {"args": garbage(chance) if chance.random() < 0.1 else args}
    if method.app.is_template or chance.random() < 0.05:
        given |= {"chain": chance.choice(CHAINS), "address": chance.choice(ADDRESSES)}
    searches = method.operation == "getLogs"
    for names, pool, likelihood in (
        (("from",), ADDRESSES, 0.02 if searches else 0.2),
        (("value",), VALUES, 0.02 if searches else 0.2),
        (("height",), HEIGHTS, 0.02 if searches else 0.2),
        (("fromBlock", "toBlock", "cursor"), HEIGHTS, 0.3 if searches else 0.02),
    ):
        given |= {one: chance.choice(pool) for one in names if chance.random() < likelihood}
    return given


@pytest.mark.parametrize("seed", range(8))
async def test_garbage_is_the_callers_mistake(seed: int, marketplace: Marketplace) -> None:
    chance = random.Random(seed)
    codes = set()
    for _ in range(6):
        names = chance.choices(NAMES, k=50)
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": name, "params": params(name, chance)}
            for number, name in enumerate(names)
        ]
        answers = await (await marketplace.gateway.post(batch)).json()
        for question, answer in zip(batch, answers, strict=True):
            code = answer["error"]["code"] if "error" in answer else 0
            assert code in (0, 400, 404), (question, answer)
            codes.add(code)
    assert codes == {0, 400, 404}
