"""Many small cases in one test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def each(cases: Iterable[Any], *, name: Callable[[Any], str] = str) -> Callable[[Callable[..., None]], Any]:
    """Run a test without fixtures for every case; it fails with each case that failed, by its name.

    A tuple is a case of several arguments. For hundreds of cases that take microseconds: pytest takes milliseconds for
    a parametrised one, in every process.
    """
    listed = list(cases)

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def run() -> None:
            assert listed, "there is no case"
            failures = []
            for case in listed:
                try:
                    test(*(case if isinstance(case, tuple) else (case,)))
                except Exception as failure:
                    failure.add_note(f"case {name(case)}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(listed)} cases failed", failures)

        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(run, attribute, getattr(test, attribute))
        return run

    return decorate
