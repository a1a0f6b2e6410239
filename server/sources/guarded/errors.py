"""Why nothing was fetched. No message names a host, an address or a URL, so each may go to callers and logs."""

from __future__ import annotations


class FetchError(Exception):
    """Nothing was fetched; the message says why, for people, and fits after "because"."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class FetchRefused(FetchError):
    """The gateway does not ask this address: the rules of the guarded fetcher forbid it."""


class FetchFailed(FetchError):
    """The address was asked, or looked up, and gave nothing that can be used; it may later."""


class Unreachable(FetchFailed):
    """No address of the host takes a connection."""
