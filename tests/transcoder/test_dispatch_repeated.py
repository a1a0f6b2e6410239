"""A large response that comes again is parsed and printed once; any other response is what it is."""

from __future__ import annotations

import orjson
import pytest
from waypost.options.v1 import options_pb2
from waypost.v1 import funding_pb2

from runtime.operations import load_operations
from transcoder.dispatch import LEAST_REPEATED, MOST_REPEATED, Method, Repeated
from transcoder.render import result_renderer

OPERATION = next(operation for operation in load_operations() if operation.name == "getVenueAFunding")
RENDER = result_renderer(OPERATION.response.DESCRIPTOR, options_pb2.RESULT_SHAPE_DATA_FIELD)


class Counted(Repeated):
    """Counts what it prints."""

    def __init__(self) -> None:
        self.printed = 0
        super().__init__(OPERATION, self._count)

    def _count(self, response: object) -> bytes:
        self.printed += 1
        return RENDER(response)  # type: ignore[arg-type]


def payload(rows: int, rate: str = "0.1") -> bytes:
    response = funding_pb2.GetVenueAFundingResponse(
        rates=[funding_pb2.VenueAFunding(coin=f"COIN{number}", funding_rate=rate) for number in range(rows)]
    )
    return response.SerializeToString()


MANY = LEAST_REPEATED // 10


def test_equal_bytes_are_parsed_and_printed_once() -> None:
    repeated = Counted()
    first = repeated.parse(payload(MANY))
    printed = repeated.render(first)
    again = repeated.parse(payload(MANY))
    assert again is first
    assert repeated.render(again) is printed
    assert repeated.printed == 1
    assert printed == RENDER(funding_pb2.GetVenueAFundingResponse.FromString(payload(MANY)))


def test_other_bytes_are_another_response() -> None:
    repeated = Counted()
    first, second = (repeated.parse(payload(MANY, rate)) for rate in ("0.1", "0.2"))
    # The first is still on its way when the second comes.
    rates = [orjson.loads(repeated.render(one))["data"][0]["fundingRate"] for one in (first, second, first, second)]
    assert rates == ["0.1", "0.2", "0.1", "0.2"]
    assert repeated.printed == 3


@pytest.mark.parametrize("rows", [0, 1, 10, MOST_REPEATED // 10])
def test_what_is_small_or_huge_is_not_kept(rows: int) -> None:
    repeated = Counted()
    first, second = repeated.parse(payload(rows)), repeated.parse(payload(rows))
    assert first is not second
    assert repeated.render(first) == repeated.render(second)
    assert repeated.printed == 2


def test_operations_of_chains_keep_nothing() -> None:
    class Channel:
        def unary_unary(self, path: str, **options: object) -> object:
            return options["response_deserializer"]

    for operation in load_operations():
        takes_chain = "chain" in operation.request.DESCRIPTOR.fields_by_name
        method = Method(operation, Channel())
        assert (getattr(method.call, "__self__", None).__class__ is Repeated) is not takes_chain
