"""Why a chain is down: what is true of most of its endpoints."""

from __future__ import annotations

import pytest

from server.chains.shared.chain_health import main_trouble
from server.upstream.connector import ProbeResult
from server.upstream.failures import Failure, Kind, Trouble, trouble_of
from server.upstream.http.answer import NOT_IN_TIME, REFUSED

HANGS, REFUSES, WRONG, FAILS = Trouble.HANGS, Trouble.REFUSED, Trouble.WRONG_CHAIN, Trouble.FAILS


@pytest.mark.parametrize(
    ("troubles", "reason"),
    [
        ([], Trouble.NO_ENDPOINT),
        ([HANGS], HANGS),
        ([REFUSES, HANGS, REFUSES], REFUSES),
        ([FAILS, HANGS, REFUSES, WRONG], WRONG),  # one each: what says most
        ([None], FAILS),  # it answered, with what is no block
    ],
)
def test_the_reason_of_most(troubles: list[Trouble | None], reason: Trouble) -> None:
    assert main_trouble([ProbeResult("one", 0.0, trouble=trouble) for trouble in troubles]) is reason


@pytest.mark.parametrize("kind", Kind)
def test_every_failure_has_its_word(kind: Kind) -> None:
    assert trouble_of(Failure(kind, "words")) in Trouble


def test_a_host_that_takes_no_connection_in_time_hangs_and_one_that_refuses_it_does_not() -> None:
    assert trouble_of(NOT_IN_TIME) is HANGS
    assert trouble_of(REFUSED) is REFUSES
    assert trouble_of(None) is FAILS
