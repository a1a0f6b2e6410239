"""An answer means the same however the network cuts it, and no bytes at all upset the reader."""

from __future__ import annotations

import gzip
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.upstream.failures import Failure, Kind
from server.upstream.http import HttpAnswer
from server.upstream.http.answer import AnswerReader
from tests.examples import examples
from tests.server.upstream.http.scripted import LIMIT, plain
from tests.server.upstream.http.test_client_answers import ANSWERS, CUT, REFUSED

SHORT = {name: data for name, data in REFUSED.items() if len(data) < 2000}


def read(pieces: list[bytes], limit: int = LIMIT) -> tuple[HttpAnswer | Failure, bool]:
    """Return what the pieces come to, the end of the connection behind them, and whether it could carry on."""
    reader = AnswerReader()
    reader.begin(limit)
    for piece in pieces:
        got = reader.feed(piece)
        if got is not None:
            return got, reader.is_reusable
    return reader.end(), False


def cut(data: bytes, places: set[int]) -> list[bytes]:
    ends = sorted(place % (len(data) + 1) for place in places)
    pieces = [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]
    return [piece for piece in pieces if piece]


def reported(got: HttpAnswer | Failure) -> object:
    return got if isinstance(got, Failure) else (*got[:3], dict(got.headers))


@given(name=st.sampled_from(list(ANSWERS)), places=st.sets(st.integers(0, 400), max_size=12))
def test_any_cut_gives_the_same_answer(name: str, places: set[int]) -> None:
    data, status, body, keeps = ANSWERS[name]
    whole, _ = read([data])
    got, is_reusable = read(cut(data, places))
    assert isinstance(got, HttpAnswer)
    assert (got.status, got.body) == (status, body)
    assert reported(got) == reported(whole)
    if not places:
        # What comes behind an answer in a packet of its own is seen by the connection instead.
        assert is_reusable == keeps


def test_every_byte_in_a_packet_of_its_own() -> None:
    for name, (data, status, body, _) in ANSWERS.items():
        got, _ = read([data[place : place + 1] for place in range(len(data))])
        assert isinstance(got, HttpAnswer), name
        assert (got.status, got.body) == (status, body), name


@given(name=st.sampled_from([*SHORT, *CUT]), places=st.sets(st.integers(0, 400), max_size=12))
def test_no_cut_makes_an_answer_of_what_is_none(name: str, places: set[int]) -> None:
    got, is_reusable = read(cut((SHORT | CUT)[name], places))
    assert isinstance(got, Failure), got
    assert got.kind is Kind.NOT_JSON_RPC
    assert not is_reusable


@given(pieces=st.lists(st.binary(max_size=200), max_size=8))
@example(pieces=[b""])
@example(pieces=[b"\r\n" * 40_000])
def test_any_bytes_are_an_answer_or_a_failure(pieces: list[bytes]) -> None:
    got, _ = read(pieces)
    assert isinstance(got, HttpAnswer | Failure)


@settings(max_examples=examples(80))
@given(
    name=st.sampled_from([*ANSWERS, *SHORT]),
    place=st.integers(0, 400),
    inserted=st.binary(max_size=4),
    removed=st.integers(0, 4),
)
def test_a_spoilt_answer_is_read_or_refused_but_never_longer_than_allowed(
    name: str, place: int, inserted: bytes, removed: int
) -> None:
    data = ANSWERS[name][0] if name in ANSWERS else SHORT[name]
    place %= len(data)
    got, _ = read([data[:place] + inserted + data[place + removed :]], limit=50)
    assert isinstance(got, HttpAnswer | Failure)
    if isinstance(got, HttpAnswer):
        assert len(got.body) <= 50
        assert got.status >= 200


@given(body=st.binary(max_size=3000), places=st.sets(st.integers(0, 4000), max_size=6), chunks=st.integers(1, 500))
def test_chunks_and_compression_give_the_body_back(body: bytes, places: set[int], chunks: int) -> None:
    packed = gzip.compress(body)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    parts = [packed[at : at + chunks] for at in range(0, len(packed), chunks)]
    data = head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    got, is_reusable = read(cut(data, places))
    assert isinstance(got, HttpAnswer)
    assert got.body == body
    assert is_reusable


@given(answers=st.lists(st.sampled_from([name for name, row in ANSWERS.items() if row[3]]), min_size=2, max_size=6))
def test_one_reader_reads_answer_after_answer(answers: list[str]) -> None:
    reader = AnswerReader()
    for name in answers:
        data, status, body, _ = ANSWERS[name]
        reader.begin(LIMIT)
        got = reader.feed(data)
        assert isinstance(got, HttpAnswer), name
        assert (got.status, got.body, got.retry_after) == (status, body, None)
        assert reader.is_reusable


def test_headers_of_the_allowed_length_in_one_packet_and_in_many() -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-Long: %b\r\nContent-Length: 3\r\n\r\nabc" % (b"a" * 60_000)
    assert isinstance(read([answer])[0], HttpAnswer)
    assert isinstance(read(cut(answer, set(range(0, 60_000, 1000))))[0], HttpAnswer)
    # A long body in the packet of a short head is not a long head.
    assert isinstance(read([plain(b"x" * 300_000)])[0], HttpAnswer)
    longer = b"HTTP/1.1 200 OK\r\nX-Long: %b\r\nContent-Length: 3\r\n\r\nabc" % (b"a" * 66_000)
    for pieces in ([longer], cut(longer, set(range(0, 66_000, 1000)))):
        assert read(pieces)[0] == Failure(Kind.NOT_JSON_RPC, "not a valid HTTP answer")


def test_nothing_of_an_answer_stays_with_a_connection_that_waits_for_the_next() -> None:
    for name, (data, _, body, keeps) in ANSWERS.items():
        if not keeps:
            continue
        reader = AnswerReader()
        reader.begin(LIMIT)
        got = reader.feed(data)
        assert isinstance(got, HttpAnswer), name
        assert got.body == body
        lists = [value for slot in AnswerReader.__slots__ if isinstance(value := getattr(reader, slot), list)]
        assert not any(lists), name
        assert reader._inflater is None, name


@pytest.mark.parametrize("members", [1100, 1_000_000])
def test_a_body_of_more_gzip_members_than_anybody_makes_is_refused(members: int) -> None:
    packed = gzip.compress(b"") * members
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    began = time.process_time()
    # In one piece each member cost a copy of all those behind it: the million took hours.
    got, _ = read([head + packed], limit=len(packed))
    assert time.process_time() - began < 3
    assert isinstance(got, Failure)
    assert got.kind is Kind.NOT_JSON_RPC


def test_as_many_gzip_members_as_tools_make_are_read() -> None:
    packed = b"".join(gzip.compress(b"%d," % number) for number in range(1000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    got, _ = read([head + packed])
    assert isinstance(got, HttpAnswer)
    assert got.body == b"".join(b"%d," % number for number in range(1000))


def test_a_body_of_many_small_chunks() -> None:
    body = bytes(number % 251 for number in range(20_001))
    chunks = b"".join(b"2\r\n%b\r\n" % body[at : at + 2] for at in range(0, 20_000, 2)) + b"1\r\n%b\r\n" % body[-1:]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    reader = AnswerReader()
    # The next answer holds nothing of it.
    for expected, sent in ((body, chunks), (b"ab", b"2\r\nab\r\n"), (body, chunks)):
        reader.begin(LIMIT)
        got = reader.feed(head + sent + b"0\r\n\r\n")
        assert isinstance(got, HttpAnswer)
        assert got.body == expected
