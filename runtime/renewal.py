"""The certificate of a listener as it is now: its files are read again when they change.

Where a new one cannot be used the old one stays, and the log and a metric report that.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from runtime.certificates import CertificateError
from runtime.logs import get_logger
from runtime.metrics import set_certificate

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.certificates import CertificateFiles

LOOK_SECONDS = 2.0
"""How often it is looked whether files have changed."""

_log = get_logger("waypost.certificates")


class WatchedCertificate:
    """The certificate of one listener as it is now; `listener` names it in logs and metrics.

    `changed` is called, on the event loop, when another one is served from now on.
    """

    def __init__(self, listener: str, files: CertificateFiles) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._listener = listener
        self._files = files
        self._state = files.state()
        self.current = files.load()
        self._watching: asyncio.Task[None] | None = None
        self._show(failed=False)

    def watch(self) -> None:
        """Look for changes from now on, on the running loop, until `close`."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def close(self) -> None:
        """Look no more."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            state = await asyncio.to_thread(self._files.state)
            if state != self._state:
                await self._read(state)

    async def _read(self, state: tuple[tuple[int, int, int], ...]) -> None:
        self._state = state
        try:
            loaded = await asyncio.to_thread(self._files.load)
            if loaded.expires_at <= time.time():
                raise CertificateError("cert_file", "the certificate has expired: put a valid one there")
        except CertificateError as error:
            _log.error(
                "a changed certificate cannot be used", listener=self._listener, file=error.member, fix=error.fix
            )
            self._show(failed=True)
            return
        self.current = loaded
        _log.info("a changed certificate is used", listener=self._listener, expires_in=self._left())
        self._show(failed=False)
        self.changed()

    def _left(self) -> int:
        return round(self.current.expires_at - time.time())

    def _show(self, *, failed: bool) -> None:
        set_certificate(self._listener, self.current.expires_at, failed=failed)
