"""Runs a coroutine on the process's event loop: uvloop where there is one."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


def run_loop(main: Coroutine[None, None, T]) -> T:
    """Run `main` to its end and return its result."""
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)
