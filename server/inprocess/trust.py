"""How the server knows that a call came from its own process."""

from contextvars import ContextVar

TRUSTED: ContextVar[bool] = ContextVar("waypost_trusted", default=False)
"""True within calls that came over the in-process channel, and nowhere else."""
