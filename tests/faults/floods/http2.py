"""As much of HTTP/2 (RFC 9113) and HPACK (RFC 7541) as a bad client needs, over a blocking socket."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
CANCEL = struct.pack(">I", 8)
DEFAULT_WINDOW = 65_535


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return one frame."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def literal(name: str, value: str, *, kept: bool = False) -> bytes:
    """Return a header as it is, not compressed; `kept` ones enter the peer's table as its newest entry, number 62."""
    return bytes((0x40 if kept else 0,)) + _text(name) + _text(value)


NEWEST = bytes((0x80 | 62,))


def request_headers(path: str, *extra: tuple[str, str]) -> bytes:
    """Return the header block of a gRPC call."""
    fixed = b"\x83\x86\x04" + _text(path) + b"\x01" + _text("localhost")
    named = (("content-type", "application/grpc"), ("te", "trailers"), *extra)
    return fixed + b"".join(literal(name, value) for name, value in named)


class Connection:
    """A connection that has shaken hands; `timeout` is for reading and writing."""

    def __init__(self, port: int, timeout: float = 10.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.window = DEFAULT_WINDOW
        self.windows: dict[int, int] = {}
        self._read = b""
        self._initial_window = DEFAULT_WINDOW
        self.send(PREFACE + frame(SETTINGS, 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.socket.close()

    def send(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def open(self, stream: int, block: bytes, flags: int = END_HEADERS) -> None:
        """Open a stream with a header block."""
        self.windows[stream] = self._initial_window
        self.send(frame(HEADERS, flags, stream, block))

    def receive(self) -> tuple[int, int, int, bytes]:
        """Return the next frame as (kind, flags, stream, payload), answered where HTTP/2 wants an answer.

        Raises TimeoutError, and ConnectionError at the end.
        """
        while len(self._read) < 9 or len(self._read) < 9 + int.from_bytes(self._read[:3], "big"):
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("the server closed the connection")
            self._read += more
        end = 9 + int.from_bytes(self._read[:3], "big")
        head, payload, self._read = self._read[:9], self._read[9:end], self._read[end:]
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:9], "big")
        if kind == SETTINGS and not flags & ACK:
            self._take_settings(payload)
        elif kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE and stream:
            self.windows[stream] = self.windows.get(stream, 0) + int.from_bytes(payload, "big")
        elif kind == WINDOW_UPDATE:
            self.window += int.from_bytes(payload, "big")
        return kind, flags, stream, payload

    def _take_settings(self, payload: bytes) -> None:
        for at in range(0, len(payload), 6):
            setting, value = struct.unpack(">HI", payload[at : at + 6])
            if setting == 4:
                self.windows = {
                    stream: window + value - self._initial_window for stream, window in self.windows.items()
                }
                self._initial_window = value
        self.send(frame(SETTINGS, ACK, 0))


def _text(text: str) -> bytes:
    raw = text.encode()
    return _integer(len(raw)) + raw


def _integer(number: int) -> bytes:
    if number < 127:
        return bytes((number,))
    out = [127]
    number -= 127
    while number >= 128:
        out.append(number % 128 | 128)
        number //= 128
    return bytes((*out, number))
