"""A market of lend-a, or of a fork, whose contracts answer as a test has them answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eth_abi.abi import encode
from waypost.v1 import yield_protocol_pb2

from server.contracts.address import checksum_address
from server.contracts.calls import ContractOutcome
from server.protocols import aave_v3, hyperlend
from server.protocols.pooled_lending import Deployment
from server.protocols.reader import ChainQuestion
from server.protocols.yields import PoolQuestion
from tests.server.protocols.scripted import REVERTS, Readers, World, address

LEND_A, LEND_D = yield_protocol_pb2.YIELD_PROTOCOL_LEND_A, yield_protocol_pb2.YIELD_PROTOCOL_LEND_D
ENTRIES = {"lend-a": aave_v3.PROTOCOL, "lend-d": hyperlend.PROTOCOL}
MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
WALLET = checksum_address(address(0xAA))
NOBODY = address(0)
RAY, DOLLAR = 10**27, 10**8
TIME = 1_790_000_000
LENDING, BALANCE, PRICE = "GetYieldsLending", "GetYieldsBalance", "GetYieldsPrice"
RPCS = (LENDING, BALANCE, PRICE)
_DATA = "uint256," * 11 + "uint40"
_CONFIGURATION = "uint256," * 5 + "bool,bool,bool,bool,bool"
_HELD = "uint256," * 7 + "uint40,bool"


@dataclass
class Reserve:
    """A reserve; rates in rays per year, amounts in the asset's smallest unit, the price in the oracle's unit."""

    address: str
    symbol: str | bytes | None
    decimals: int = 6
    lent_at: int = 3 * RAY // 100
    owed_at: int = 5 * RAY // 100
    supplied: int = 0
    held: int = 0
    owed: int = 0
    price: int | None = DOLLAR
    is_active: bool = True
    is_frozen: bool = False


class Market(World):
    """The contracts of one market, where the address book has them."""

    def __init__(self, protocol: str, chain: str, *reserves: Reserve) -> None:
        super().__init__()
        self.protocol, self.chain = protocol, chain
        self.entry = ENTRIES[protocol].yields
        self.place = Deployment.find(ENTRIES[protocol].slug, chain)
        self.oracle, self.data_provider = checksum_address(address(0x0AC1E)), self.place.data_provider
        self.unit = DOLLAR
        self.reserves: dict[str, Reserve] = {}
        self.put(MULTICALL3, "getCurrentBlockTimestamp()", "uint256", TIME)
        self.list(*reserves)
        self.readers = Readers(self)

    def list(self, *reserves: Reserve) -> None:
        """Have the market list these reserves."""
        self.reserves = {reserve.address: reserve for reserve in reserves}
        self.put(self.place.pool, "getReservesList()", "address[]", [*self.reserves])
        for reserve in reserves:
            if isinstance(reserve.symbol, bytes):
                self.put(reserve.address, "symbol()", "bytes32", reserve.symbol.ljust(32, b"\0"))
            elif reserve.symbol is None:
                self.remove(reserve.address, "symbol()")
            else:
                self.put(reserve.address, "symbol()", "string", reserve.symbol)
        self.appoint(self.oracle, self.data_provider)

    def appoint(self, oracle: str, data_provider: str) -> None:
        """Have the registry name these; those before them no longer answer."""
        for gone in (self.oracle, self.data_provider):
            self.functions = {key: answer for key, answer in self.functions.items() if key[0] != gone.lower()}
        self.oracle, self.data_provider = oracle, data_provider
        self.put(self.place.registry, "getPriceOracle()", "address", oracle)
        self.put(self.place.registry, "getPoolDataProvider()", "address", data_provider)
        provider = self.place.data_provider if data_provider == NOBODY else data_provider
        self.put(oracle, "BASE_CURRENCY_UNIT()", "uint256", self.unit)
        self.put_raw(oracle, "getAssetPrice(address)", self._price)
        self.put_raw(oracle, "getAssetsPrices(address[])", self._prices)
        self.put_raw(provider, "getReserveData(address)", self._data)
        self.put_raw(provider, "getReserveConfigurationData(address)", self._configuration)
        self.put_raw(provider, "getUserReserveData(address,address)", self._held)

    async def ask(self, rpc: str, pool: str) -> Any:
        """Return a pool's row."""
        question = PoolQuestion(self.chain, pool=pool, address=WALLET if rpc == BALANCE else "")
        return await self.readers.ask(self.entry.readers[rpc], question)

    async def count(self, rpc: str, pool: str) -> tuple[Any, int]:
        """Return a pool's row and the requests that it took."""
        del self.requests[:]
        return await self.ask(rpc, pool), len(self.requests)

    async def best(self) -> dict[str, Any]:
        """Return the rows of all pools, by pool."""
        return {one.row.pool: one for one in await self.readers.ask(self.entry.best, ChainQuestion(self.chain))}

    def _of(self, data: bytes) -> Reserve | None:
        return self.reserves.get(checksum_address("0x" + data[12:32].hex()))

    def _price(self, data: bytes) -> ContractOutcome:
        reserve = self._of(data)
        if reserve is None or reserve.price is None:
            return REVERTS
        return ContractOutcome(True, encode(["uint256"], [reserve.price]))

    def _prices(self, data: bytes) -> ContractOutcome:
        found = [self._price(data[at : at + 32]) for at in range(64, len(data), 32)]
        if REVERTS in found:
            return REVERTS
        return ContractOutcome(True, encode(["uint256[]"], [[int.from_bytes(one.data, "big") for one in found]]))

    def _data(self, data: bytes) -> ContractOutcome:
        reserve = self._of(data)
        if reserve is None:
            return REVERTS
        row = (1, 2, reserve.supplied, 3, 4, reserve.lent_at, reserve.owed_at, 5, 6, RAY, RAY, 7)
        return ContractOutcome(True, encode(_DATA.split(","), row))

    def _configuration(self, data: bytes) -> ContractOutcome:
        reserve = self._of(data) or Reserve("", "", is_active=False)
        row = (reserve.decimals, 1, 2, 3, 4, True, False, True, reserve.is_active, reserve.is_frozen)
        return ContractOutcome(True, encode(_CONFIGURATION.split(","), row))

    def _held(self, data: bytes) -> ContractOutcome:
        reserve = self._of(data)
        assert data[44:64].hex() == WALLET[2:].lower()
        if reserve is None:
            return REVERTS
        row = (reserve.held, 1, reserve.owed, 2, 3, 4, 5, 6, True)
        return ContractOutcome(True, encode(_HELD.split(","), row))


NATIVE, BRIDGED = "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174"
USDT0 = "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"
WPOL = "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270"
OTHERS = [checksum_address(address(number)) for number in range(0xB001, 0xB040)]


def polygon(*reserves: Reserve) -> Market:
    """lend-a on polygon, where the bridged dollar was listed before the native one, and both call themselves USDC."""
    first = (
        Reserve(BRIDGED, "USDC", lent_at=RAY // 100, supplied=111_000_000),
        Reserve(WPOL, "WPOL", 18, price=DOLLAR // 4, supplied=8 * 10**18, held=2 * 10**18, owed=10**18),
        Reserve(NATIVE, "USDC", lent_at=2 * RAY // 100, supplied=222_000_000, held=1_500_000),
    )
    return Market("lend-a", "polygon", *(reserves or first))


def alone(*reserves: Reserve) -> Market:
    """lend-a with these reserves, or two."""
    first = (Reserve(OTHERS[0], "X", 18, supplied=3 * 10**18, price=38_75000000), Reserve(OTHERS[1], "Y"))
    return Market("lend-a", "polygon", *(reserves or first))


def hyper(*reserves: Reserve) -> Market:
    """lend-d."""
    first = (Reserve(OTHERS[0], "WHYPE", 18, supplied=3 * 10**18, price=38_75000000), Reserve(OTHERS[1], "USDT0"))
    return Market("lend-d", "hyperliquid", *(reserves or first))
