"""A small HTTP/1.1 client for nodes: one request after the other on kept connections, whole bodies, no more.

`Client` holds the connections, `Address` writes the requests of one endpoint, `HttpAnswer` or a `Failure` is what comes
back: failures are values, because the texts of exceptions hold host names. What it leaves out is listed in
docs/decisions/0017-an-http-client-for-nodes.md.
"""

from server.upstream.http.answer import HttpAnswer
from server.upstream.http.client import Client
from server.upstream.http.connection import Address, Connection
from server.upstream.http.opening import DIRECT, Proxy

__all__ = ["DIRECT", "Address", "Client", "Connection", "HttpAnswer", "Proxy"]
