"""The OpenRPC documents as they are served: printed and compressed once for each content.

That of the operations is prepared before the face is asked anything; that of the published contract methods, which the
server lists, once for each list.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson
from waypost_internal.v1 import publication_pb2

from runtime.operations import load_operations, load_watches
from transcoder.calls import begin, finish
from transcoder.openrpc import openrpc
from transcoder.pages import Shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transcoder.exchange import Exchange
    from transcoder.pages import Parts

_KEPT = 4  # versions: servers of several releases may stand behind one transcoder for a while
# Stands for the base URL, which comes out of the Host header: any client can write that, and nothing is built for it.
_BASE = "http://base.invalid"
DISCOVER = "rpc.discover"
PUBLICATIONS = "/waypost_internal.v1.PublicationService/ListPublications"
TIMEOUT = 5.0


class Document:
    """The document of one version: the short texts between which base URLs stand, and the rest."""

    def __init__(self, text: bytes) -> None:
        *self._heads, rest = text.split(_BASE.encode())
        self._rest = Shared(rest)
        self._digest = sha256(text).hexdigest()[:32]

    def parts(self, base: str) -> tuple[bytes, Shared]:
        """Return its text for a base URL."""
        url = base.encode()
        return b"".join(head + url for head in self._heads), self._rest

    def tag(self, base: str, *, compressed: bool) -> str:
        """Return the entity tag of its text for a base URL."""
        own = sha256(base.encode()).hexdigest()[:8]
        return f'"{self._digest}-{own}{"-gzip" if compressed else ""}"'


@cache
def operations_document(profile: str) -> Document:
    """Return the document of all available operations with the examples of a profile, but for published methods."""
    operations = [one for one in load_operations() if one.available and not one.stands_for_many]
    watches = [one for one in load_watches() if one.available]
    return Document(orjson.dumps(openrpc(operations, _BASE, profile=profile, watches=watches)))


def apps_document(published: Sequence[publication_pb2.Publication], profile: str) -> Document:
    """Return the document of published contract methods."""
    operations = [one for one in load_operations() if one.available and one.stands_for_many]
    return Document(orjson.dumps(openrpc(operations, _BASE, published, profile=profile)))


class Discovery:
    """Has the documents of one face, with the examples of its profile."""

    def __init__(self, channel: Any, profile: str) -> None:
        self._profile = profile
        self._ask = channel.unary_unary(
            PUBLICATIONS,
            request_serializer=publication_pb2.ListPublicationsRequest.SerializeToString,
            response_deserializer=publication_pb2.ListPublicationsResponse.FromString,
        )
        self._apps: OrderedDict[str, asyncio.Task[Document]] = OrderedDict()
        # The list that the newest document of them was made of, and the one that came last.
        self._printed = self._seen = ""

    async def prepare(self, _: Any = None) -> None:
        """Prepare the document of the operations, beside the event loop."""
        await asyncio.to_thread(operations_document, self._profile)

    def operations(self) -> Document:
        """Return the document of the operations."""
        return operations_document(self._profile)

    def charge(self, exchange: Exchange) -> Any:
        """Begin the call by which the server charges who was admitted for a document. Raises Failure (503)."""
        return self._list(exchange, self._seen)

    def charged(self, published: publication_pb2.ListPublicationsResponse) -> Document:
        """Return the document of the operations for the answer to `charge`."""
        self._seen = published.version
        return self.operations()

    def _list(self, exchange: Exchange, known: str) -> Any:
        return begin(self._ask, publication_pb2.ListPublicationsRequest(known_version=known), TIMEOUT, exchange)

    async def apps(self, exchange: Exchange) -> Document:
        """Return the document of the published methods. Raises Failure (503)."""
        published = await finish(self._list(exchange, self._printed))
        version = published.version
        if version not in self._apps:
            work = asyncio.to_thread(apps_document, published.publications, self._profile)
            self._apps[version] = asyncio.create_task(work)
            if len(self._apps) > _KEPT:
                self._apps.popitem(last=False)
        # Others may wait for the same one: who goes away does not end it.
        document = await asyncio.shield(self._apps[version])
        self._printed = version
        return document


class Discovered:
    """Stands where a called operation stands: renders what was asked for as the document itself."""

    name = DISCOVER
    status_of = None

    def __init__(self, discovery: Discovery, base: str) -> None:
        self._discovery = discovery
        self._base = base

    def render(self, response: Any) -> Parts:
        """Return the parts of `result`."""
        return self._discovery.charged(response).parts(self._base)
