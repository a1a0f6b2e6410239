"""Names in their one normal form (ENSIP-15), as the bytes that resolvers take, and as the hash that records lie under.

Sources: ENSIP-1 (namehash), ENSIP-10 (DNS wire form, labels of up to 255 bytes, no limit on the whole), ENSIP-15.
"""

from __future__ import annotations

import asyncio
import importlib
import re
from functools import lru_cache
from typing import Any

from server.contracts.keccak import keccak

MAX_CHARACTERS = 255
"""The longest name that is taken: normalising so many characters takes less than 2 ms."""

MAX_LABEL_BYTES = 255

_LIBRARY = "ens_normalize"
# What is its own normal form by the first rule of the tables. Most names are such; for them the tables, which take
# 90 MB of memory and 0.15 s to load, are not needed.
_PLAIN = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")
_loaded: list[Any] = []


class Unnormalisable(ValueError):
    """No name has that text; the message states why, for callers."""


async def normalise(text: str) -> str:
    """Return the normal form of a name.

    Raises:
        Unnormalisable: there is none, or the name is longer than names can be.
    """
    if not text:
        raise Unnormalisable("a name is not empty")
    if len(text) > MAX_CHARACTERS:
        raise Unnormalisable(f"a name has {MAX_CHARACTERS} characters at most")
    if not _PLAIN.fullmatch(text):
        # Not whether `sys.modules` has it: there it stands while it is still being loaded.
        if not _loaded:
            _loaded.append(await asyncio.to_thread(importlib.import_module, _LIBRARY))
        text = _look_up(text)
    if any(len(label.encode()) > MAX_LABEL_BYTES for label in text.split(".")):
        raise Unnormalisable(f"a part of a name has {MAX_LABEL_BYTES} bytes at most")
    return text


def dns_encode(name: str) -> bytes:
    """Return a normal name in DNS wire form: each label after a byte with its length, then a zero byte."""
    labels = [label.encode() for label in name.split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def namehash(name: str) -> bytes:
    """Return the 32 bytes under which the records of a normal name lie."""
    node = bytes(32)
    for label in reversed(name.split(".")):
        node = keccak(node + keccak(label.encode()))
    return node


@lru_cache(maxsize=4096)
def _look_up(text: str) -> str:
    library = _loaded[0]
    # The library takes text that ends in a line feed for plain.
    if "\n" in text:
        raise Unnormalisable("it holds a line break")
    try:
        normal: str = library.ens_normalize(text)
    except library.DisallowedSequence as error:
        why = str(error).rstrip(".")
        raise Unnormalisable(f"it {why[:1].lower()}{why[1:]} (ENSIP-15)") from None
    if not normal:
        raise Unnormalisable("nothing of it is left in normal form")
    return normal
