"""No two questions have one key."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.reads.cached import pack_calls, pack_outcomes, unpack_outcomes
from server.chains.evm.reads.multicall import Call, Outcome
from server.chains.shared.cache import ChainCache
from server.upstream.cache import Cache, key_prefix
from server.upstream.heads import HeadTracker

Address = st.binary(min_size=20, max_size=20)
Calls = st.lists(
    st.builds(
        Call,
        Address,
        st.binary(max_size=70),
        gas=st.just(50_000),
        sender=st.none() | Address,
        is_optional=st.booleans(),
    ),
    max_size=4,
)
Word = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
Question = st.tuples(Word, Word, st.integers(0, 2**63), st.binary(max_size=40))


def memory(slug: str) -> ChainCache:
    return ChainCache(slug, Cache(1 << 20), HeadTracker(["a"], 12), block_time=12)


@given(first=Calls, second=Calls)
def test_other_calls_are_other_bytes(first, second):
    assert (pack_calls(first) == pack_calls(second)) == (first == second)


def test_what_a_call_may_cost_is_no_part_of_the_question():
    assert pack_calls([Call(bytes(20), b"", gas=1)]) == pack_calls([Call(bytes(20), b"", gas=2)])


def test_calldata_that_looks_like_a_second_call_is_not_one():
    target, other = bytes(20), bytes([1] * 20)
    joined = Call(target, b"\1\2" + other + (1).to_bytes(4) + b"\3")
    split = [Call(target, b"\1\2"), Call(other, b"\3")]
    assert pack_calls([joined]) != pack_calls(split)


@given(first=Question, second=Question, generation=st.integers(0, 3))
def test_other_kinds_chains_blocks_and_bodies_are_other_keys(first, second, generation):
    def keys(question: tuple[str, str, int, bytes]) -> tuple[bytes, bytes]:
        kind, slug, block, body = question
        one = memory(slug)
        one._generation = generation
        return one._near_key(kind, block, body), one._lasting_key(kind, block, body)

    assert (keys(first)[0] == keys(second)[0]) == (first == second)
    assert (keys(first)[1] == keys(second)[1]) == (first == second)


@given(kind=Word, scope=Word, other=st.tuples(Word, Word), tail=st.binary(max_size=12))
def test_no_prefix_begins_another(kind, scope, other, tail):
    if other != (kind, scope):
        assert not (key_prefix(kind, scope) + tail).startswith(key_prefix(*other))


@pytest.mark.parametrize("words", [("a\0b", "c"), ("a", "b\0")])
def test_a_word_that_would_end_early_is_refused(words):
    with pytest.raises(ValueError, match="zero byte"):
        key_prefix(*words)


@given(st.lists(st.builds(Outcome, st.booleans(), st.binary(max_size=70)), max_size=5))
def test_outcomes_come_back_as_they_were_kept(outcomes):
    assert unpack_outcomes(pack_outcomes(outcomes)) == outcomes


def test_a_reorganisation_changes_the_keys_near_the_head_and_no_others():
    async def run() -> None:
        one = memory("ethereum")
        near, lasting = one._near_key("k", 7, b""), one._lasting_key("k", 7, b"")
        one.see_hash(7, "0xaa")
        one.see_hash(7, "0xaa")
        assert one._near_key("k", 7, b"") == near
        one.see_hash(7, "0xbb")
        assert one._near_key("k", 7, b"") != near
        assert one._lasting_key("k", 7, b"") == lasting

    asyncio.run(run())
