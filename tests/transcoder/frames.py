"""WebSocket frames as a client writes them, byte by byte, over a conversation with the face."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import TYPE_CHECKING, Any, Self

from tests.transcoder.conversation import Conversation
from tests.transcoder.scripted import KEY

if TYPE_CHECKING:
    from tests.transcoder.scripted import Face

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_MASK = b"\x01\x02\x03\x04"


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, length: int | None = None) -> bytes:
    """Return a masked frame; `length` is the one that it states, which may be another than it has."""
    stated = len(payload) if length is None else length
    if stated < 126:
        size = bytes([0x80 | stated])
    elif stated < 1 << 16:
        size = b"\xfe" + struct.pack("!H", stated)
    else:
        size = b"\xff" + struct.pack("!Q", stated)
    masked = bytes(byte ^ _MASK[place % 4] for place, byte in enumerate(payload))
    return bytes([fin << 7 | opcode]) + size + _MASK + masked


class Wire(Conversation):
    """A conversation that has been upgraded, or asks to be."""

    def upgrade(self, path: str = f"/{KEY}/v1/ws", **changed: str | None) -> None:
        """Ask for a socket, with headers changed or (None) left out; `_` in a name is `-`."""
        headers: dict[str, str | None] = {
            "Host": "x",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
        }
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items() if value is not None)]
        self.writer.write("\r\n".join((*lines, "", "")).encode())

    @classmethod
    async def upgraded(cls, face: Face, path: str = f"/{KEY}/v1/ws") -> Self:
        """Return an upgraded one."""
        wire = await cls.with_face(face)
        wire.upgrade(path)
        status, _, _ = await wire.answer()
        assert status == 101
        return wire

    def say(self, message: Any) -> None:
        self.writer.write(frame(TEXT, json.dumps(message).encode()))

    async def heard(self, seconds: float = 10.0) -> tuple[int, bytes]:
        """Return opcode and payload of the next frame."""
        async with asyncio.timeout(seconds):
            first, second = await self.reader.readexactly(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack("!H", await self.reader.readexactly(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", await self.reader.readexactly(8))
            return first & 0xF, await self.reader.readexactly(length)

    async def message(self) -> Any:
        """Return the next text frame's JSON."""
        opcode, payload = await self.heard()
        assert opcode == TEXT, (opcode, payload)
        return json.loads(payload)

    async def closed(self) -> tuple[int, str]:
        """Return code and reason of the closing frame, which comes next."""
        opcode, payload = await self.heard()
        assert opcode == CLOSE, (opcode, payload)
        return struct.unpack("!H", payload[:2])[0], payload[2:].decode()
