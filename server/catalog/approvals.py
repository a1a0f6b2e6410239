"""The spenders and tokens that approvals are looked up for, by chain."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from server.catalog.protocols import load_address_book

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE = Path(__file__).with_name("data") / "approvals.toml"


@dataclass(frozen=True, slots=True)
class KnownSpender:
    """A contract that wallets let move their tokens; the address is checksummed."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class KnownToken:
    """A token by the symbol that callers know it by; the address is checksummed."""

    symbol: str
    address: str


@dataclass(frozen=True, slots=True)
class KnownApprovals:
    """What is looked up on one chain: every spender with every token."""

    spenders: tuple[KnownSpender, ...]
    tokens: tuple[KnownToken, ...]


@cache
def load_known_approvals() -> Mapping[str, KnownApprovals]:
    """Return the table by chain slug."""
    tables = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return {
        slug: KnownApprovals(
            spenders=tuple(_spender(slug, **row) for row in table["spenders"]),
            tokens=tuple(KnownToken(**row) for row in table["tokens"]),
        )
        for slug, table in tables.items()
    }


def _spender(chain: str, name: str, address: str = "", contract: str = "") -> KnownSpender:
    """Return a row's spender; `contract` is the slug and key of a registered one."""
    slug, _, key = contract.partition("/")
    return KnownSpender(name, address or load_address_book().find_contract(slug, chain, key).address)
