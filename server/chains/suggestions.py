"""Which chain a caller means whose text is no slug: by other names of it, by its id, by a slip of the pen; else none.

A suggestion that is not near misleads: half of all unknown chains are chains that the gateway does not have.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from runtime.nearest import edits_between
from server.chains.facts import load_facts

if TYPE_CHECKING:
    from collections.abc import Collection

_LONGEST = 64
_BETWEEN_WORDS = re.compile(r"[\s._-]+")
# Words that people add to the name of any chain.
_ADDED = re.compile(r"(?:chain|mainnet|network|pos)$")
# Slips are looked for in names of so many letters: the letters of shorter ones are those of other chains as well.
_SHORTEST = 4
_LONG = 7


def suggest_chain(text: str, slugs: Collection[str]) -> str | None:
    """Return the one of these slugs that is meant by a text that is none of them; None where none is near."""
    if len(text) > _LONGEST:
        return None
    name = _plain(text)
    by_name, written = _names(), _ADDED.sub("", name)
    for known in (name, written):
        if known in by_name and by_name[known] in slugs:
            return by_name[known]
    near = [
        (edits, slug)
        for slug in slugs
        for mine, its in ((name, slug), (written, _ADDED.sub("", slug)))
        if (edits := _slips(mine, its)) is not None
    ]
    return min(near, key=lambda found: found[0])[1] if near else None


def advise_chain(text: str, slugs: Collection[str]) -> str:
    """Return what to write instead of a slug that no chain has."""
    slug = suggest_chain(text, slugs)
    return f"did you mean `{slug}`?" if slug is not None else f"chains are: {', '.join(slugs)}"


def _slips(name: str, slug: str) -> int | None:
    """Return how many slips of the pen make one of the other; None where it is another name."""
    shorter = min(len(name), len(slug))
    if shorter < _SHORTEST:
        return None
    # Two slips at once are believed in long names that begin alike: litecoin is no bitcoin.
    most = 2 if shorter >= _LONG and name[0] == slug[0] else 1
    return edits_between(name, slug, most=most)


@cache
def _names() -> dict[str, str]:
    """Return the slug by every plain name of its chain: slug, name, chain id, aliases."""
    names: dict[str, str] = {}
    for slug, facts in load_facts().items():
        for name in (slug, facts.name, str(facts.chain_id), facts.hex_id, *facts.aliases):
            names.setdefault(_plain(name), slug)
    return names


def _plain(text: str) -> str:
    return _BETWEEN_WORDS.sub("", text.casefold())
