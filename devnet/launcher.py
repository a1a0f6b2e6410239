"""Starts the local chain nodes, seeds them, keeps them going and ends them.

async with Devnet.start() as devnet:
    devnet.endpoints["ethereum"]
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from devnet.evm.activity import Ear, Listener
from devnet.evm.artifacts import stand_ins
from devnet.evm.genesis import genesis_file
from devnet.evm.mainnet_size import MAINNET_SIZE
from devnet.evm.mining import Miner
from devnet.evm.names import set_gateway_port
from devnet.evm.node import Node, genesis_flags
from devnet.evm.placements import PROTOCOLS
from devnet.evm.protocol import Protocol, prepare
from devnet.evm.seed import Seeded, seed_world
from devnet.evm.world import FIRST_TIMESTAMP, Chain, load_world
from devnet.install import STATE, check_packages, installed, write_whole
from devnet.local_chain import FAMILIES, Endpoint, LocalChain, Progress, Running, open_chains
from devnet.offchain import beefy, documents, dydx, hyperliquid, kong, morpho, names, pendle, prices, swaps
from devnet.offchain.server import OffchainServer
from devnet.watchdog import Watchdog

RUNNING = STATE / "running"
# What stands in for off-chain sources: the module, and the source by whose address it is shown.
_STAND_INS: dict[str, tuple[Any, str]] = {
    "prices": (prices, "defillama"),
    "swaps": (swaps, "jupiter"),
    "venue-a": (hyperliquid, "hyperliquid"),
    "venue-b": (dydx, "dydx"),
    "lend-c": (morpho, "morpho"),
    "yield-a": (pendle, "pendle"),
    "vault-a": (beefy, "beefy"),
    "vault-b": (kong, "kong"),
}
# Of the server off the chains.
_TOPICS = (
    names.add_routes,
    prices.add_routes,
    documents.add_routes,
    swaps.add_routes,
    hyperliquid.add_routes,
    dydx.add_routes,
    beefy.add_routes,
    kong.add_routes,
)
_NODE_TIMEOUT = aiohttp.ClientTimeout(total=30)


class Devnet:
    """The running nodes. `nodes`, `seeded` and `miners` are those of EVM by slug; `others` serve the other families.

    `offchain` serves what contracts name off the chain. `left_out` has the reason by name of each DeFi protocol whose
    contracts could not be had.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.others: list[LocalChain] = []
        of_chains = (
            partial(morpho.add_routes, nodes=self.nodes),
            partial(pendle.add_routes, nodes=lambda: self.nodes),
        )
        self.offchain = OffchainServer((*_TOPICS, *of_chains))
        self.seeded: dict[str, Seeded] = {}
        self.miners: dict[str, Miner] = {}
        self.left_out: dict[str, str] = {}
        self._ears: dict[str, Ear] = {}
        self._more: tuple[Protocol, ...] = ()

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        chains: Iterable[str] | None = None,
        progress: Progress = lambda line: None,
        *,
        mines: bool = True,
        full: bool = False,
        of_mainnet_size: bool = False,
    ) -> "AsyncIterator[Devnet]":
        """Run the nodes of these chains (all by default) for the length of the context.

        What is missing is installed and built first; `progress` is given a line now and then, and one per chain. With
        `mines` False blocks are made by `mine` alone. With `full` "all" are those too that are a large download. With
        `of_mainnet_size` ethereum has as many reserves and vaults as the real one (see `mainnet_size`). Raises
        ValueError for an unknown chain, InstallError and NodeError.
        """
        check_packages()
        wanted, others = _chosen(chains, full=full)
        began = time.monotonic()
        devnet = cls()
        devnet._more = (MAINNET_SIZE,) if of_mainnet_size else ()
        if wanted:
            slugs = [chain.slug for chain in wanted]
            # Side by side: npm downloads, our own contracts and the protocols' are compiled.
            _, _, devnet.left_out = await asyncio.gather(
                asyncio.to_thread(installed, progress),
                asyncio.to_thread(stand_ins),
                asyncio.to_thread(prepare, PROTOCOLS, slugs, progress),
            )
        async with AsyncExitStack() as stack:
            guard = stack.enter_context(Watchdog())
            listener = stack.enter_context(Listener()) if mines else None
            http = await stack.enter_async_context(
                aiohttp.ClientSession(timeout=_NODE_TIMEOUT, connector=aiohttp.TCPConnector(limit=0))
            )
            await stack.enter_async_context(devnet.offchain)
            stack.push_async_callback(devnet._stop_nodes)
            arrivals = _Arrivals(len(wanted) + len(others), progress, began)
            progress(f"devnet: starting {arrivals.expected} chains ...")
            for line in _left_out() if chains is None and not full else ():
                progress(line)
            devnet.nodes.update({chain.slug: Node(chain, http) for chain in wanted})
            devnet.others = open_chains(others, http, progress, mines=mines)
            try:
                async with asyncio.TaskGroup() as group:
                    for other in devnet.others:
                        group.create_task(arrivals.announce(other.start(guard), other))
                    for node in devnet.nodes.values():
                        group.create_task(arrivals.announce(devnet._bring_up(node, http, guard, listener), node))
            except ExceptionGroup as failures:
                raise failures.exceptions[0] from None
            timers = [asyncio.create_task(devnet.miners[slug].run(ear)) for slug, ear in devnet._ears.items()]
            stack.push_async_callback(_cancel, timers)
            stack.callback(_forget, _note_running(devnet))
            progress(f"devnet: {arrivals.expected} chains up in {time.monotonic() - began:.1f} s")
            yield devnet

    @property
    def endpoints(self) -> dict[str, str]:
        """The loopback URLs by chain slug; of a chain with several endpoints the main one."""
        return {slug: endpoints[0].url for slug, endpoints in self.kinds.items()}

    @property
    def kinds(self) -> dict[str, tuple[Endpoint, ...]]:
        """All endpoints by chain slug, each with its label and kind."""
        running: list[Running] = [*self.nodes.values(), *self.others]
        return {slug: endpoints for chain in running for slug, endpoints in chain.endpoints.items()}

    async def mine(self, chain: str, blocks: int = 1) -> int:
        """Mine empty blocks on a chain now and return its new height."""
        return await self.miners[chain].mine(blocks)

    def summary(self) -> list[dict[str, object]]:
        """Return {chain, url, pid} of each chain; chains of one process have one pid."""
        running: list[Running] = [*self.nodes.values(), *self.others]
        return [
            {"chain": slug, "url": endpoints[0].url, "pid": chain.pid}
            for chain in running
            for slug, endpoints in chain.endpoints.items()
        ]

    def sources(self) -> list[dict[str, str]]:
        """Return {source, is_a, url} of what stands in for off-chain sources."""
        tables = self._sources()
        return [
            {"source": source, "is_a": module.WORD, "url": tables[name]["endpoints"][0]["url"]}
            for source, (module, name) in _STAND_INS.items()
        ]

    def settings_overrides(self) -> dict[str, Any]:
        """Return what the gateway's settings need to use these nodes, as the nested mapping that the settings are."""
        return {
            "profile": "devnet",
            "fetcher": {"allow": [self.offchain.authority]},
            "nft": documents.settings(self.offchain.authority),
            "chains": {
                slug: {"endpoints": [endpoint.settings() for endpoint in endpoints], "mines_at_will": True}
                for slug, endpoints in self.kinds.items()
            },
            "sources": self._sources(),
        }

    def write_config(self, path: Path) -> None:
        """Write the same as a configuration file."""
        lines = ['profile = "devnet"', "", "[fetcher]", f'allow = ["{self.offchain.authority}"]', "", "[nft]"]
        lines += [f"{name} = {json.dumps(urls)}" for name, urls in documents.settings(self.offchain.authority).items()]
        for slug, endpoints in self.kinds.items():
            rows = ", ".join(
                "{ " + ", ".join(f'{member} = "{value}"' for member, value in one.settings().items()) + " }"
                for one in endpoints
            )
            lines += ["", f"[chains.{slug}]", f"endpoints = [{rows}]", "mines_at_will = true"]
        for name, table in self._sources().items():
            urls = ", ".join(
                "{ " + ", ".join(f"{member} = {json.dumps(value)}" for member, value in one.items()) + " }"
                for one in table["endpoints"]
            )
            coins = ", ".join(f'{symbol} = "{coin}"' for symbol, coin in table.get("coins", {}).items())
            lines += ["", f"[sources.{name}]", f"endpoints = [{urls}]", *([f"coins = {{ {coins} }}"] if coins else [])]
        path.write_text("\n".join(lines) + "\n")

    def _sources(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for module, _ in _STAND_INS.values():
            tables |= module.settings(self.offchain.authority)
        return tables

    async def _bring_up(
        self, node: Node, http: aiohttp.ClientSession, guard: Watchdog, listener: Listener | None
    ) -> None:
        chain = node.chain
        more = [protocol for protocol in self._more if chain.slug in protocol.chains]
        genesis = await genesis_file(chain, http, guard, more)
        flags = genesis_flags(genesis, FIRST_TIMESTAMP, chain.parent_number)
        if listener is None:
            await node.start(guard, flags)
        else:
            self._ears[chain.slug], output = listener.open()
            try:
                await node.start(guard, flags, output)
            finally:
                os.close(output)
        self.seeded[chain.slug] = await seed_world(node)
        if chain.slug == "ethereum":
            await set_gateway_port(node, self.offchain.port)
        self.miners[chain.slug] = Miner(node)
        await self.miners[chain.slug].move_to_present()
        if chain.slug in self._ears:
            self._ears[chain.slug].forget()

    async def _stop_nodes(self) -> None:
        running: list[Running] = [*self.nodes.values(), *self.others]
        await asyncio.gather(*(chain.stop() for chain in running))


def _left_out() -> list[str]:
    """Report which chains are not among all chains, and how to have them."""
    return [
        f"devnet: {', '.join(family.chains)} stays down; `--full` (or {family.switch}=1) installs and runs it"
        for family in FAMILIES
        if not family.is_on
    ]


class _Arrivals:
    """Reports of each chain when it is up."""

    def __init__(self, expected: int, progress: Progress, began: float) -> None:
        self.expected = expected
        self._progress = progress
        self._began = began
        self._arrived = 0

    async def announce(self, start: Coroutine[Any, Any, None], chain: Running) -> None:
        """Start a chain, or several of one process, and report it."""
        await start
        slugs = list(chain.endpoints)
        self._arrived += len(slugs)
        seconds = time.monotonic() - self._began
        self._progress(f"devnet: {self._arrived:2}/{self.expected} {', '.join(slugs)} up after {seconds:.1f} s")


def _chosen(chains: Iterable[str] | None, *, full: bool = False) -> tuple[list[Chain], list[str]]:
    """Return the EVM chains that are wanted and the slugs of the others."""
    world = load_world()
    others = [slug for family in FAMILIES for slug in family.chains]
    default = [slug for family in FAMILIES if family.is_on or full for slug in family.chains]
    slugs = [*world, *default] if chains is None else list(chains)
    unknown = [slug for slug in slugs if slug not in world and slug not in others]
    if unknown:
        raise ValueError(f"the devnet has no chain {', '.join(unknown)}; it has {', '.join([*world, *others])}")
    return [world[slug] for slug in slugs if slug in world], [slug for slug in slugs if slug in others]


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _note_running(devnet: Devnet) -> Path:
    """Leave a note for `python -m devnet status` and `waypost doctor`; return its path."""
    RUNNING.mkdir(parents=True, exist_ok=True)
    path = RUNNING / f"{os.getpid()}-{id(devnet)}.json"
    note = {
        "launcher": os.getpid(),
        "nodes": devnet.summary(),
        "sources": devnet.sources(),
        "left_out": devnet.left_out,
        "settings": devnet.settings_overrides(),
    }
    write_whole(path, json.dumps(note))
    return path


def _forget(note: Path) -> None:
    note.unlink(missing_ok=True)
    with suppress(OSError):
        RUNNING.rmdir()  # when it was the last one
