"""How reads are cut into executions, and how long an address that burnt gas is kept apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.reads.executions import MAX_BYTES, MAX_CALLS, MAX_GAS, QUARANTINE_SECONDS, Quarantine, cut
from server.chains.evm.reads.multicall import Call

TARGET = bytes(20)


@given(
    st.lists(
        st.builds(
            lambda size, gas: Call(TARGET, bytes(size), gas),
            st.integers(0, MAX_BYTES + 10),
            st.integers(1, MAX_GAS + 10),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_pieces_keep_order_and_bounds(calls: list[Call]) -> None:
    pieces = cut(calls)
    assert [call for piece in pieces for call in piece] == calls
    for piece in pieces:
        assert piece
        if len(piece) > 1:  # one call may be beyond the bounds by itself
            assert sum(call.gas for call in piece) <= MAX_GAS
            assert sum(len(call.data) for call in piece) <= MAX_BYTES


def test_plain_calls_are_cut_by_number() -> None:
    pieces = cut([Call(TARGET, bytes(36))] * (2 * MAX_CALLS + 1))
    assert [len(piece) for piece in pieces] == [MAX_CALLS, MAX_CALLS, 1]


def test_an_address_is_kept_apart_for_ten_minutes_from_its_last_burning() -> None:
    now = [0.0]
    quarantine = Quarantine(lambda: now[0])
    burner, other = Call(b"\1" * 20, b""), Call(b"\2" * 20, b"")
    assert not quarantine.holds([burner, other])
    quarantine.add(burner.target)
    assert quarantine.holds([other, burner])
    assert not quarantine.holds([other])
    now[0] += QUARANTINE_SECONDS - 1
    assert quarantine.holds([burner])
    quarantine.add(burner.target)
    now[0] += QUARANTINE_SECONDS - 1
    assert quarantine.holds([burner])
    now[0] += 2
    assert not quarantine.holds([burner])


def test_the_quarantine_has_room_for_so_many() -> None:
    quarantine = Quarantine(lambda: 0.0)
    for number in range(5000):
        quarantine.add(number.to_bytes(20, "big"))
    assert quarantine.holds([Call((4999).to_bytes(20, "big"), b"")])
    assert not quarantine.holds([Call((0).to_bytes(20, "big"), b"")])
    assert len(quarantine.until) == 1024
