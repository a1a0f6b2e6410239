"""A database that does not answer, in place of the records of share prices."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

from sqlalchemy.exc import OperationalError


class Away:
    """A database that does not answer; `hangs` it never does."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.hangs, self.asked = hangs, 0

    async def read(self, *_: Any) -> Any:
        return await self._fail()

    async def note(self, *_: Any) -> Any:
        return await self._fail()

    async def _fail(self) -> Any:
        self.asked += 1
        if self.hangs:
            await asyncio.Event().wait()
        raise OperationalError("SELECT", {}, sqlite3.OperationalError("disk I/O error"))
