"""Whole documents are serialised once: the same bytes are answered until a document, its time or the hour changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import funding_pb2

from server.apis.documents import Document, DocumentRequest
from server.rpc.funding import FundingServicer
from server.rpc.pipeline.call import REQUEST, RequestState
from server.venues import dydx, hyperliquid
from server.venues.rates import FundingRate

if TYPE_CHECKING:
    from collections.abc import Iterator

AT = datetime(2026, 11, 22, 10, 0, 0, tzinfo=UTC)
EMPTY = (
    *(("GetFundingRates", funding_pb2.GetFundingRatesRequest()),),
    *(("GetVenueAFunding", funding_pb2.GetVenueAFundingRequest()),),
    *(("GetVenueBFunding", funding_pb2.GetVenueBFundingRequest()),),
)


class Documents:
    """Answers with documents that a test sets."""

    def __init__(self) -> None:
        self.kept = {
            hyperliquid.RATES: Document((FundingRate("BTC", "0.1", 87600.0, "1", "2"),), AT),
            dydx.RATES: Document((FundingRate("BTC-USD", "0.1", 87600.0),), AT),
        }

    async def read(self, request: DocumentRequest, **_: Any) -> Document:
        return self.kept[request]


@pytest.fixture(autouse=True)
def _served() -> Iterator[None]:
    token = REQUEST.set(RequestState("id", None, 0.0, {}))
    yield
    REQUEST.reset(token)


@pytest.mark.parametrize(("rpc", "request_"), EMPTY)
async def test_the_same_documents_are_the_same_bytes(monkeypatch: pytest.MonkeyPatch, rpc: str, request_: Any) -> None:
    monkeypatch.setattr("server.rpc.funding.time", lambda: 1_795_000_000.0)
    documents = Documents()
    servicer = FundingServicer(documents)  # type: ignore[arg-type]
    ask = getattr(servicer, rpc)
    first = await ask(request_, None)
    assert await ask(request_, None) is first
    for request, old in list(documents.kept.items()):
        if rpc == f"GetVenue{'B' if request is hyperliquid.RATES else 'A'}Funding":
            continue
        before = await ask(request_, None)
        [row] = old.value
        documents.kept[request] = old._replace(value=(row._replace(rate="0.2"),))
        assert await ask(request_, None) != before


@pytest.mark.parametrize("rpc", ["GetFundingRates", "GetVenueBFunding"])
async def test_another_hour_is_another_answer(monkeypatch: pytest.MonkeyPatch, rpc: str) -> None:
    servicer = FundingServicer(Documents())  # type: ignore[arg-type]
    request = dict(EMPTY)[rpc]
    monkeypatch.setattr("server.rpc.funding.time", lambda: 1_795_000_000.0)
    first = await getattr(servicer, rpc)(request, None)
    monkeypatch.setattr("server.rpc.funding.time", lambda: 1_795_003_600.0)
    assert await getattr(servicer, rpc)(request, None) != first


async def test_a_document_that_is_the_same_but_newer_has_another_time() -> None:
    documents = Documents()
    servicer = FundingServicer(documents)  # type: ignore[arg-type]
    request = funding_pb2.GetFundingRatesRequest()
    await servicer.GetFundingRates(request, None)
    later = AT.replace(minute=5)
    documents.kept = {one: document._replace(read_at=later) for one, document in documents.kept.items()}
    answer = funding_pb2.GetFundingRatesResponse.FromString(await servicer.GetFundingRates(request, None))
    assert answer.timestamp.ToDatetime(UTC) == later
