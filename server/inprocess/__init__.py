"""A grpc.aio channel onto handlers in the same process; grpcio has no such transport.

It behaves like a socket, as the table in `tests/contract/inprocess` proves: every message is serialised and parsed,
each call runs in a task and contextvars context of its own, metadata syntax, deadlines and message sizes are enforced.
Unary calls only. What it does not imitate: compression, call credentials and authentication (calls arrive as trusted);
a call dropped without being awaited, which a socket cancels and here runs on; what a serialiser or parser of the caller's
own refuses, which grpc.aio turns into None and here raises; and a servicer's stray CancelledError, after which a socket
client without deadline waits for ever and here the call ends as UNAVAILABLE.
"""

from server.inprocess.channel import InProcessChannel
from server.inprocess.trust import TRUSTED

__all__ = ["InProcessChannel", "TRUSTED"]
