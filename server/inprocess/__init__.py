"""A grpc.aio channel onto handlers in the same process; grpcio has no such transport.

It behaves like a socket, as the table in `tests/server/inprocess` proves: every message is serialised and parsed,
each servicer runs in a task and contextvars context of its own, metadata syntax, deadlines and message sizes are
enforced.

What it does not imitate:
- streams of requests: a call has one;
- a status that comes while a message of a stream is unread: `code()` returns it before that is read, `read` after;
- compression, call credentials, authentication: calls arrive as trusted;
- a call dropped without being awaited, which a socket cancels: here it runs on;
- a serialiser or parser of the caller's that raises, which grpc.aio turns into None: here it raises;
- a servicer's stray CancelledError, after which a socket client without deadline waits for ever: here the call ends as
  UNAVAILABLE.
"""

from server.inprocess.channel import InProcessChannel
from server.inprocess.context import TRUSTED

__all__ = ["InProcessChannel", "TRUSTED"]
