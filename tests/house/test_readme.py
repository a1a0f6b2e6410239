"""The README's table of operations is what the descriptors say."""

from __future__ import annotations

from runtime.operations import load_operations
from scripts.operations_table import END, README, START, main, render


def test_the_operations_table_is_current() -> None:
    text = README.read_text()
    assert START in text
    assert END in text
    assert main(check=True) == 0, "run `make operations`"


def test_operations_that_do_not_answer_are_not_listed_as_working() -> None:
    table, _, _ = render().partition("Not built yet")
    for operation in load_operations():
        assert (f"| `{operation.name}` |" in table) == bool(operation.available), operation.name
