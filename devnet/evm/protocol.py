"""A DeFi protocol of the local chains: what it is, where it stands, what its contracts are made from."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from devnet.archives import fetch_archive, is_fetched
from devnet.evm.builder import Builder
from devnet.evm.solidity import compiled, is_compiled
from devnet.evm.world import Chain
from devnet.install import InstallError
from devnet.local_chain import Progress

_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Protocol:
    """One protocol, or one version of it.

    `build` runs its contracts into place on a chain of `chains`. `word` is one of the devnet's (original, fork,
    stand-in) and `note` states what of. `archives` are rows of protocol_archives.toml, `sources` of solidity.toml.
    """

    name: str
    word: str
    note: str
    chains: tuple[str, ...]
    build: Callable[[Chain, Builder], Awaitable[None]]
    archives: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether everything that it is made from is here."""
        return all(map(is_fetched, self.archives)) and all(map(is_compiled, self.sources))


def prepare(protocols: Sequence[Protocol], chains: Iterable[str], progress: Progress) -> dict[str, str]:
    """Fetch and compile what the protocols of these chains are made from.

    Returns the reason by name of each protocol that has to be left out.
    """
    slugs = set(chains)
    wanted = [protocol for protocol in protocols if slugs & set(protocol.chains)]
    missing = [protocol for protocol in wanted if not protocol.is_ready]
    if not missing:
        return {}
    progress("devnet: fetching and compiling the contracts of DeFi protocols, once ...")
    # Compiling takes longest, so that comes first.
    works: dict[tuple[str, str], Callable[[], object]] = {}
    for protocol in missing:
        for source in protocol.sources:
            works["source", source] = lambda name=source: compiled(name)  # type: ignore[misc]
    for protocol in missing:
        for archive in protocol.archives:
            works["archive", archive] = lambda name=archive: fetch_archive(name)  # type: ignore[misc]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        problems = dict(zip(works, pool.map(_problem, works.values()), strict=True))
    left_out = {}
    for protocol in missing:
        keys = [("source", name) for name in protocol.sources] + [("archive", name) for name in protocol.archives]
        found = next((problem for key in keys if (problem := problems[key])), None)
        if found is not None:
            left_out[protocol.name] = found
            progress(f"devnet: {protocol.name} is left out: {found}")
    return left_out


def _problem(work: Callable[[], object]) -> str | None:
    try:
        work()
    except InstallError as error:
        return str(error)
    return None
