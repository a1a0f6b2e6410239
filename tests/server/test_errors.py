"""Failures are copied when they are raised in several callers: every class of them, with all that it carries."""

from __future__ import annotations

import copy
import gc
import importlib
import pkgutil
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import server
from server.errors import ArchiveRequired, GatewayError, NotFound
from tests.each import each
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

for _module in pkgutil.walk_packages(server.__path__, "server."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)


def tree(kind: type[GatewayError]) -> Iterator[type[GatewayError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from tree(below)


KINDS = sorted(set(tree(GatewayError)), key=lambda kind: (kind.__module__, kind.__name__))
texts = st.text(max_size=20)
maybe_texts = st.none() | texts


def test_the_tree_has_the_classes_of_the_families_too() -> None:
    assert {"HeightMissing", "ContractMissing", "OutOfGas"} <= {kind.__name__ for kind in KINDS}


@each(KINDS, name=attrgetter("__name__"))
@settings(max_examples=examples(30))
@given(message=texts, field=maybe_texts, delay=st.none() | st.integers(0), number=st.integers())
def test_a_copy_is_equal_and_shares_nothing_that_its_caller_may_change(
    kind: type[GatewayError], message: str, field: str | None, delay: int | None, number: int
) -> None:
    own = {one.name for one in fields(kind)} - {one.name for one in fields(GatewayError)}
    data: dict[str, Any] = dict.fromkeys(own, number)
    error = kind(message, field=field, retry_after_ms=delay, **data)
    error.refusals = {"one": NotFound("there")}
    twin = copy.copy(error)
    assert type(twin) is kind
    assert vars(twin) == vars(error)
    assert (str(twin), twin.args) == (str(error), error.args)
    assert (twin.status, twin.reason) == (error.status, error.reason)
    twin.field, twin.message, twin.refusals = "another", "other words", {}
    for name in own:
        setattr(twin, name, None)
    assert (error.field, error.message) == (field, message)
    assert {name: getattr(error, name) for name in own} == data
    assert list(error.refusals) == ["one"]


def fail_over_something_beneath() -> None:
    try:
        raise ValueError("beneath")
    except ValueError as cause:
        raise ArchiveRequired("too old") from cause


def test_a_copy_knows_nothing_of_where_the_original_was_raised() -> None:
    with pytest.raises(ArchiveRequired) as caught:
        fail_over_something_beneath()
    assert caught.value.__traceback__ is not None
    twin = copy.copy(caught.value)
    assert (twin.__traceback__, twin.__cause__, twin.__context__) == (None, None, None)
    assert not twin.__suppress_context__


def test_a_class_with_a_constructor_of_its_own_is_copied_too() -> None:
    class Odd(GatewayError):
        def __init__(self, first: int, *, second: int) -> None:
            super().__init__(f"{first} and {second}", field=str(first))
            self.second = second

    twin = copy.copy(Odd(1, second=2))
    assert (type(twin), str(twin), twin.message, twin.second) == (Odd, "1 and 2", "1 and 2", 2)
    # Nothing of this test stays in the tree of the others.
    del Odd, twin
    gc.collect()
