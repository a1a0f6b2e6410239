"""HTTP as it is on the wire: what a test writes when, and what comes back."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from tests.transcoder.scripted import Face


class Conversation:
    """One connection to the face."""

    opened: ClassVar[list[Conversation]] = []
    """Those of the running test, which ends them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.opened.append(self)

    @classmethod
    async def with_face(cls, face: Face) -> Self:
        host, _, port = face.base.removeprefix("http://").partition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    def head(self, path: str, length: int | str, *lines: str) -> None:
        framing = f"Content-Length: {length}" if isinstance(length, int) else length
        self.writer.write("\r\n".join((f"POST {path} HTTP/1.1", "Host: x", framing, *lines, "", "")).encode())

    async def answer(self, seconds: float = 5.0) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and body of the next answer."""
        async with asyncio.timeout(seconds):
            lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(lines[0].split()[1]), headers, json.loads(body) if body else None

    async def closes(self, seconds: float = 5.0) -> None:
        async with asyncio.timeout(seconds):
            assert await self.reader.read() == b""

    @classmethod
    async def end_all(cls) -> None:
        for talk in cls.opened:
            talk.writer.close()
            with suppress(OSError):
                await talk.writer.wait_closed()
        cls.opened.clear()
