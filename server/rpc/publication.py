"""PublicationService: what the transcoder's documents say of published methods. Served to trusted callers alone."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from waypost.internal.v1 import publication_pb2, publication_pb2_grpc

if TYPE_CHECKING:
    from server.catalog.apps import Catalogue


class PublicationServicer(publication_pb2_grpc.PublicationServiceServicer):
    """The published methods; they are the same for as long as the process lives."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._answer = publication_pb2.ListPublicationsResponse(
            publications=[
                publication_pb2.Publication(
                    method=method.name,
                    operation=method.operation,
                    app_name=method.app.name,
                    is_template=method.app.is_template,
                    chain=method.deployment.chain or "",
                    address=method.deployment.address or "",
                    abi_item=method.abi_json,
                    is_overloaded=method.is_overloaded,
                )
                for method in catalogue.methods.values()
            ]
        )
        self._answer.version = sha256(self._answer.SerializeToString(deterministic=True)).hexdigest()
        self._unchanged = publication_pb2.ListPublicationsResponse(version=self._answer.version)

    async def ListPublications(
        self, request: publication_pb2.ListPublicationsRequest, context: Any
    ) -> publication_pb2.ListPublicationsResponse:
        """Return every published method; the version alone to who has it already."""
        return self._unchanged if request.known_version == self._answer.version else self._answer
