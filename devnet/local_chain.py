"""What every family's local chain has in common, and the families besides EVM that the devnet runs."""

import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import aiohttp

Progress = Callable[[str], None]


class NodeError(Exception):
    """A node did not start, or answered one of the devnet's own requests with an error."""


class Guard(Protocol):
    """What ends processes when this one is gone."""

    def watch(self, pid: int) -> None:
        """Take on a process."""

    def forget(self, pid: int) -> None:
        """Let go of a process that has ended."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One way to ask a chain: the label and kind that the gateway's settings give it, and its loopback URLs."""

    label: str
    url: str
    kind: str = "jsonrpc"
    ws_url: str = ""

    def settings(self) -> dict[str, str]:
        """Return what the gateway's settings have of it."""
        return {member: value for member, value in asdict(self).items() if value}


class Running(Protocol):
    """One process that serves one chain or several."""

    @property
    def endpoints(self) -> dict[str, tuple[Endpoint, ...]]:
        """The endpoints by chain slug, the main one first; known after `start`."""
        ...

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        ...

    async def stop(self) -> None:
        """End the process; ending it twice does no harm."""
        ...


class LocalChain(Running, Protocol):
    """The process of a family besides EVM."""

    async def start(self, guard: Guard) -> None:
        """Install what is missing, start the process, wait until it answers and seed it. Raises NodeError."""
        ...


@dataclass(frozen=True, slots=True)
class Family:
    """A family besides EVM: its chains as {slug: (chain id, native symbol)} and what they are in the devnet's words.

    `module` has `open_chain(slugs, http, progress, mines=...) -> LocalChain` (`mines`: blocks may come by themselves)
    and `read_head(http, slug, url) -> int` (raises NodeError and aiohttp's errors); it is imported only where one of
    the chains is wanted. A family with a `switch` is left out of "all chains" unless that environment variable is 1.
    """

    module: str
    word: str
    chains: dict[str, tuple[str, str]]
    switch: str = ""

    @property
    def is_on(self) -> bool:
        """Whether the family is among all chains."""
        return not self.switch or os.environ.get(self.switch) == "1"

    def open_chain(
        self, slugs: Sequence[str], http: aiohttp.ClientSession, progress: Progress, *, mines: bool
    ) -> LocalChain:
        """Return the local chain of these slugs, not started yet."""
        opened: LocalChain = self._load().open_chain(slugs, http, progress, mines=mines)
        return opened

    async def read_head(self, http: aiohttp.ClientSession, slug: str, url: str) -> int:
        """Return the number of the newest block."""
        return int(await self._load().read_head(http, slug, url))

    def _load(self) -> Any:
        return importlib.import_module(self.module)


# node: a full implementation of others; engine: an execution of others under our RPC; model: our state machine.
FAMILIES: tuple[Family, ...] = (
    Family("devnet.bitcoin.node", "node", {"bitcoin": ("main", "BTC")}),
    Family("devnet.solana.process", "engine", {"solana": ("mainnet-beta", "SOL")}),
    Family(
        "devnet.cosmos.process",
        "model",
        {
            "cosmoshub": ("cosmoshub-4", "ATOM"),
            "osmosis": ("osmosis-1", "OSMO"),
            "axelar": ("axelar-dojo-1", "AXL"),
            "noble": ("noble-1", "USDC"),
            "agoric": ("agoric-3", "BLD"),
        },
    ),
    Family("devnet.starknet.node", "engine", {"starknet": ("SN_MAIN", "STRK")}, switch="WAYPOST_DEVNET_STARKNET"),
)


def family_of(slug: str) -> Family | None:
    """Return the family besides EVM that has a chain, None if there is none."""
    return next((family for family in FAMILIES if slug in family.chains), None)


def open_chains(
    slugs: Iterable[str], http: aiohttp.ClientSession, progress: Progress, *, mines: bool = True
) -> list[LocalChain]:
    """Return the local chains that serve these slugs; those of EVM are not among them."""
    wanted = set(slugs)
    return [
        family.open_chain([slug for slug in family.chains if slug in wanted], http, progress, mines=mines)
        for family in FAMILIES
        if wanted & set(family.chains)
    ]
