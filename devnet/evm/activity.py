"""Detects whether a node is asked: anvil prints the name of every method it is asked, one to a line.

Reading that costs the node some two microseconds a request and needs no word from the gateway. (Its processor time
would cost nothing, but it does not distinguish a closing connection from a question.)
"""

import fcntl
import os
import re
import threading
import time
from contextlib import suppress
from types import TracebackType

# Methods that a user of a chain asks. The devnet itself uses anvil_* and evm_* once a node is seeded.
_ASKED = re.compile(rb"^(?:eth|net|web3|debug|trace|txpool|ots|erigon)_", re.MULTILINE)
_LOOK_EVERY = 0.2
_CHUNK = 1 << 18
_PIPE_SIZE = 1 << 20  # five million bytes a second before a node would have to wait for us
_LINUX_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which Python 3.11 has under no name on other systems


class Ear:
    """What one node has printed."""

    def __init__(self, source: int) -> None:
        self.source = source
        self._asked_at: float | None = None
        self._rest = b""
        self._forgets = False

    def asked_within(self, seconds: float) -> bool:
        """Return whether the node was asked in the last so many seconds."""
        asked_at = self._asked_at
        return asked_at is not None and not self._forgets and time.monotonic() - asked_at < seconds

    def forget(self) -> None:
        """Forget all questions so far, those that lie unread included: they were the devnet's own."""
        self._forgets = True

    def listen(self) -> bool:
        """Take in what has been printed; False once the node has ended. Called by the listener's thread alone."""
        forgets = self._forgets
        ended = False
        while not ended:
            try:
                chunk = os.read(self.source, _CHUNK)
            except BlockingIOError:
                break
            ended = not chunk
            lines = self._rest + chunk
            if _ASKED.search(lines):
                self._asked_at = time.monotonic()
            self._rest = lines[lines.rfind(b"\n") + 1 :][-64:]
        if forgets:
            self._asked_at, self._rest, self._forgets = None, b"", False
        return not ended


class Listener:
    """Listens to several nodes in a thread of its own, so that no node ever waits for a busy event loop."""

    def __init__(self) -> None:
        self._ears: list[Ear] = []
        self._turn = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="devnet-listener", daemon=True)

    def __enter__(self) -> "Listener":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        for ear in self._ears:
            os.close(ear.source)

    def open(self) -> tuple[Ear, int]:
        """Return an ear and the file descriptor that a node has to print to; the caller closes the latter."""
        source, sink = os.pipe()
        os.set_blocking(source, False)
        with suppress(OSError):  # not on this system, or not that much
            fcntl.fcntl(sink, _LINUX_SET_PIPE_SIZE, _PIPE_SIZE)
        ear = Ear(source)
        with self._turn:
            self._ears.append(ear)
        return ear, sink

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_EVERY):
            with self._turn:
                ended = [ear for ear in self._ears if not ear.listen()]
                for ear in ended:
                    os.close(ear.source)
                    self._ears.remove(ear)
