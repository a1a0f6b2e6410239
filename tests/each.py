"""Many small cases in one test."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

_SECONDS = 600


def each(cases: Iterable[Any], *, name: Callable[[Any], str] = str) -> Callable[[Callable[..., Any]], Any]:
    """Run a test for every case; it fails with each case that failed, by its name.

    The test takes the case first (a tuple is a case of several arguments), then its fixtures, which all cases share.
    For hundreds of cases that take microseconds: pytest takes milliseconds for a parametrised one.
    """
    listed = list(cases)

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        def run(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            for case in listed:
                with _noting(failures, case, name):
                    test(*_arguments(case), **fixtures)
            _conclude(listed, failures)

        async def run_async(**fixtures: Any) -> None:
            await run_cases(listed, partial(test, **fixtures), name=name)

        chosen: Any = run_async if inspect.iscoroutinefunction(test) else run
        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(chosen, attribute, getattr(test, attribute))
        signature = inspect.signature(test)
        of_case = len(_arguments(listed[0])) if listed else len(signature.parameters)
        fixtures = list(signature.parameters.values())[of_case:]
        keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in fixtures]
        chosen.__signature__ = signature.replace(parameters=keyword_only)
        chosen.cases = len(listed)
        # As many as they are, on a loaded machine.
        chosen.pytestmark = [*getattr(test, "pytestmark", ()), pytest.mark.timeout(_SECONDS)]
        return chosen  # type: ignore[no-any-return]

    return decorate


async def run_cases(
    cases: Sequence[Any], check: Callable[..., Awaitable[None]], *, name: Callable[[Any], str] = str
) -> None:
    """Check every case; raises one failure of all that failed, each with its case's name."""
    failures: list[BaseException] = []
    for case in cases:
        with _noting(failures, case, name):
            await check(*_arguments(case))
    _conclude(cases, failures)


@contextmanager
def _noting(failures: list[BaseException], case: Any, name: Callable[[Any], str]) -> Iterator[None]:
    try:
        yield
    except (Exception, pytest.fail.Exception) as failure:
        failure.add_note(f"case {name(case)}")
        failures.append(failure)


def _conclude(cases: Sequence[Any], failures: list[BaseException]) -> None:
    assert cases, "there is no case"
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} cases failed", failures)


def _arguments(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
