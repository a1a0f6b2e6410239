"""What `rpc.discover` costs: the option of the rpc behind it, as debt, of its caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from waypost_internal.v1 import access_pb2, publication_pb2

from runtime.operations import cost_of

if TYPE_CHECKING:
    from server.app import Gateway

pytestmark = pytest.mark.slow

LIST = "/waypost_internal.v1.PublicationService/ListPublications"
COST = 20


async def test_a_document_is_charged_to_its_principal_and_to_no_other(gateway: Gateway) -> None:
    _, key = await gateway.keys.create_key("a", 0.001, 100)
    admit = gateway.channel().unary_unary(
        "/waypost_internal.v1.AccessService/Admit",
        access_pb2.AdmitRequest.SerializeToString,
        access_pb2.AdmitResponse.FromString,
    )
    publications = gateway.channel().unary_unary(
        LIST,
        publication_pb2.ListPublicationsRequest.SerializeToString,
        publication_pb2.ListPublicationsResponse.FromString,
    )
    assert cost_of(LIST) == COST
    looked = await admit(access_pb2.AdmitRequest(api_key=key))
    assert (looked.admitted, looked.remaining, looked.limit) == (0, 100, 100)
    admitted = await admit(access_pb2.AdmitRequest(api_key=key, items=1))
    assert (admitted.admitted, admitted.remaining) == (1, 99)
    own = (("x-waypost-principal", admitted.principal),)
    first = await publications(publication_pb2.ListPublicationsRequest(), metadata=own)
    assert first.publications
    # It is charged whether the asker has the list or not: the document is sent all the same.
    again = await publications(publication_pb2.ListPublicationsRequest(known_version=first.version), metadata=own)
    assert (again.version, len(again.publications)) == (first.version, 0)
    assert (await admit(access_pb2.AdmitRequest(api_key=key))).remaining == 99 - 2 * (COST - 1)
    await publications(publication_pb2.ListPublicationsRequest())
    assert (await admit(access_pb2.AdmitRequest(api_key=key))).remaining == 99 - 2 * (COST - 1)


async def test_the_demo_pays_by_the_item_and_an_ipv6_client_by_its_network(gateway: Gateway) -> None:
    admit = gateway.channel().unary_unary(
        "/waypost_internal.v1.AccessService/Admit",
        access_pb2.AdmitRequest.SerializeToString,
        access_pb2.AdmitResponse.FromString,
    )

    async def admitted(client: str) -> int:
        answer = await admit(access_pb2.AdmitRequest(demo=True, client_address=client, items=1))
        return int(answer.admitted)

    assert [await admitted(client) for client in ("2001:db8::1", "2001:db8::2", "2001:db8:0:0:f::1")] == [1, 0, 0]
    assert await admitted("2001:db8:0:1::1") == 1
    assert [await admitted(client) for client in ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2")] == [1, 0, 1]
