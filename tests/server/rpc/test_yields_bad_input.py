"""What callers of the eight yield operations get wrong: a 400 or 404 that names the parameter, the same on both faces.

What can be derived from the descriptors for every operation is in tests/server/rpc/test_every_operation.py;
pools of a wrong form and protocols on wrong chains are in test_error_matrix.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.server.rpc.refusals import ask_grpc, ask_json, refused
from tests.server.rpc.yields_table import MARKET, OPERATIONS, YIELDS

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.slow

WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
RIGHT: dict[str, dict[str, Any]] = {
    "getYieldsLending": {"chain": "ethereum", "protocol": "lend-a", "pool": "USDC"},
    "getYieldsVaults": {"chain": "ethereum", "protocol": "vault-b", "pool": MARKET},
    "getYieldsBest": {},
    "getYieldsBalance": {"chain": "ethereum", "protocol": "lend-a", "pool": "USDC", "address": WALLET},
    "getYieldsPrice": {"chain": "ethereum", "protocol": "lend-a", "pool": "USDC"},
    "getYieldsYieldAImpliedApy": {"chain": "ethereum", "pool": MARKET, "address": WALLET},
    "getLendCVaults": {"chain": "ethereum"},
    "getLendCVaultData": {"chain": "ethereum", "vaults": [MARKET]},
}
OF_A_POOL = ("getYieldsLending", "getYieldsVaults", "getYieldsBalance", "getYieldsPrice")
# No address at all, too short, too long, without its mark, of a wrong checksum, of another kind of chain, a name.
NO_ADDRESS = (
    "",
    "0x",
    "0x12",
    WALLET[:-1],
    WALLET + "0",
    WALLET[2:],
    "0xD8" + WALLET[4:],
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    "vitalik.eth",
    "0x" + "é" * 40,
    "\x00" * 42,
    " " + WALLET,
)

INVALID, UNKNOWN = "INVALID_ARGUMENT", "CHAIN_UNKNOWN"
# operation, what is written instead, code, reason, parameter
CASES: list[tuple[str, dict[str, Any], int, str, str]] = []
for _name, _members in RIGHT.items():
    CASES += [(_name, {member: None}, 400, INVALID, member) for member in _members]
    if "chain" in _members:
        CASES += [
            (_name, {"chain": chain}, 404, UNKNOWN, "chain")
            for chain in ("etherium", "ETHEREUM", "1", "0x1", "x" * 200, "é", "../ethereum")
        ]
        CASES += [
            (_name, {"chain": chain}, 400, "CHAIN_UNSUPPORTED", "chain")
            for chain in ("solana", "bitcoin", "starknet", "cosmoshub", "gnosis", "linea", "xlayer")
        ]
    for _field in ("address", "pool") if _name == "getYieldsYieldAImpliedApy" else ("address",):
        if _field in _members:
            CASES += [(_name, {_field: text}, 400, INVALID, _field) for text in NO_ADDRESS]
for _name in OF_A_POOL:
    CASES += [
        (_name, {"pool": pool}, 400, INVALID, "pool") for pool in ("", "x" * 201, "x" * 5000, "\x00", "a\nb", " USDC")
    ]
CASES += [("getLendCVaultData", {"vaults": [text]}, 400, INVALID, "vaults[0]") for text in NO_ADDRESS]
CASES += [
    ("getLendCVaultData", {"vaults": [MARKET, "0x12"]}, 400, INVALID, "vaults[1]"),
    ("getLendCVaultData", {"vaults": []}, 400, INVALID, "vaults"),
    ("getLendCVaultData", {"vaults": [MARKET] * 51}, 400, INVALID, "vaults"),
    ("getYieldsBest", {"token": ""}, 400, INVALID, "token"),
    ("getYieldsBest", {"token": "x" * 41}, 400, INVALID, "token"),
    ("getYieldsBest", {"minTvl": -1}, 400, INVALID, "minTvl"),
    ("getYieldsBest", {"minTvl": -0.001}, 400, INVALID, "minTvl"),
    ("getYieldsBest", {"limit": 0}, 400, INVALID, "limit"),
    ("getYieldsBest", {"limit": -1}, 400, INVALID, "limit"),
    ("getYieldsBest", {"limit": 1001}, 400, INVALID, "limit"),
]
# Values that protobuf's own JSON reader does not take, or that only JSON can carry.
JSON_CASES: list[tuple[str, dict[str, Any], str, str]] = [
    *((name, {"protocol": text}, INVALID, "protocol") for name in OF_A_POOL for text in ("lend-z", "LEND-A", "", "1")),
    *((name, {"protocol": value}, INVALID, "protocol") for name in OF_A_POOL for value in (1, True, [], {}, None)),
    *((name, {"pool": value}, INVALID, "pool") for name in OF_A_POOL for value in (1, 1.5, True, [], ["USDC"], {})),
    *((name, {"surprise": 1}, "UNKNOWN_PARAMETER", "surprise") for name in RIGHT),
    *((name, {"blockHeight": 1}, "UNKNOWN_PARAMETER", "blockHeight") for name in RIGHT),
    ("getLendCVaultData", {"vaults": ""}, INVALID, "vaults"),
    ("getLendCVaultData", {"vaults": f"{MARKET},"}, INVALID, "vaults"),
    ("getLendCVaultData", {"vaults": f"{MARKET},,{MARKET}"}, INVALID, "vaults"),
    ("getLendCVaultData", {"vaults": ",".join([MARKET] * 51)}, INVALID, "vaults"),
    ("getLendCVaultData", {"vaults": 1}, INVALID, "vaults"),
    ("getLendCVaultData", {"vaults": [1]}, INVALID, "vaults[0]"),
    ("getYieldsBest", {"type": "savings"}, INVALID, "type"),
    ("getYieldsBest", {"type": ""}, INVALID, "type"),
    ("getYieldsBest", {"type": 1}, INVALID, "type"),
    ("getYieldsBest", {"limit": 1.5}, INVALID, "limit"),
    ("getYieldsBest", {"limit": True}, INVALID, "limit"),
    ("getYieldsBest", {"limit": "ten"}, INVALID, "limit"),
    ("getYieldsBest", {"limit": 2**53}, INVALID, "limit"),
    ("getYieldsBest", {"minTvl": "much"}, INVALID, "minTvl"),
    ("getYieldsBest", {"minTvl": True}, INVALID, "minTvl"),
    ("getYieldsBest", {"token": 1}, INVALID, "token"),
    ("getYieldsBest", {"token": ["USDC"]}, INVALID, "token"),
]


def test_the_tables_are_of_all_operations() -> None:
    assert RIGHT.keys() == {operation.name for operation in YIELDS}
    assert {case[0] for case in CASES} == {case[0] for case in JSON_CASES} == RIGHT.keys()


@pytest.mark.parametrize("operation", RIGHT)
async def test_what_is_wrong_is_named_over_both_faces(bare: RunningGateway, operation: str) -> None:
    for name, change, code, reason, field in CASES:
        if name != operation:
            continue
        members = {key: value for key, value in (RIGHT[name] | change).items() if value is not None}
        reported = await refused(bare, OPERATIONS[name], members)
        assert reported[:3] == (code, reason, field), (change, reported)
        assert 0 < len(reported[3]) < 1000, change


@pytest.mark.parametrize("operation", RIGHT)
async def test_what_json_can_get_wrong_besides_is_named(bare: RunningGateway, operation: str) -> None:
    for name, change, reason, field in JSON_CASES:
        if name != operation:
            continue
        reported = await ask_json(bare, OPERATIONS[name], RIGHT[name] | change)
        assert reported is not None, change
        assert reported[:3] == (400, reason, field), (change, reported)


@pytest.mark.parametrize("params", [[], [{}], "x", 1, None])
@pytest.mark.parametrize("operation", RIGHT)
async def test_params_of_another_shape(bare: RunningGateway, operation: str, params: Any) -> None:
    reported = await ask_json(bare, OPERATIONS[operation], params)
    assert reported is not None
    if params in (None, []) and not RIGHT[operation]:
        assert reported[0] == 503
    else:
        assert reported[0] == 400, reported


@pytest.mark.parametrize("number", ["NaN", "-Infinity"])
async def test_numbers_that_are_none(bare: RunningGateway, number: str) -> None:
    reported = await ask_grpc(bare, OPERATIONS["getYieldsBest"], {"minTvl": number})
    assert reported is not None
    assert reported[:3] == (400, INVALID, "minTvl")


@pytest.mark.parametrize("protocol", [11, 99, -1, 2**31 - 1])
@pytest.mark.parametrize("operation", OF_A_POOL)
async def test_protocols_of_no_name_over_grpc(bare: RunningGateway, operation: str, protocol: int) -> None:
    request: Any = OPERATIONS[operation].request(chain="ethereum", pool="USDC")
    request.protocol = protocol
    if operation == "getYieldsBalance":
        request.address = WALLET
    reported = await ask_message(bare, operation, request)
    assert reported[:3] == (400, INVALID, "protocol"), reported


@pytest.mark.parametrize("kind", [4, 99, -1])
async def test_types_of_no_name_over_grpc(bare: RunningGateway, kind: int) -> None:
    request: Any = OPERATIONS["getYieldsBest"].request()
    request.type = kind
    reported = await ask_message(bare, "getYieldsBest", request)
    assert reported[:3] == (400, INVALID, "type"), reported


async def ask_message(bare: RunningGateway, operation: str, request: Any) -> Any:
    """Return why gRPC refuses this very message."""
    return await ask_grpc(_Exactly(bare, request), OPERATIONS[operation], {})  # type: ignore[arg-type]


class _Exactly:
    """Asks with a message that no JSON stands for."""

    def __init__(self, bare: RunningGateway, request: Any) -> None:
        self._bare, self._request = bare, request

    async def ask_grpc(self, operation: Any, request: Any) -> Any:
        return await self._bare.ask_grpc(operation, self._request)
