"""Many small cases in one test."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def each(cases: Iterable[Any], *, name: Callable[[Any], str] = str) -> Callable[[Callable[..., Any]], Any]:
    """Run a test for every case; it fails with each case that failed, by its name.

    The test takes the case first (a tuple is a case of several arguments), then its fixtures, which all cases share.
    For hundreds of cases that take microseconds: pytest takes milliseconds for a parametrised one.
    """
    listed = list(cases)

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        failures: list[BaseException] = []

        def note(case: Any, failure: BaseException) -> None:
            failure.add_note(f"case {name(case)}")
            failures.append(failure)

        def end() -> None:
            assert listed, "there is no case"
            if failures:
                failed, failures[:] = failures[:], []
                raise BaseExceptionGroup(f"{len(failed)} of {len(listed)} cases failed", failed)

        def run(**fixtures: Any) -> None:
            for case in listed:
                try:
                    test(*_arguments(case), **fixtures)
                except (Exception, pytest.fail.Exception) as failure:
                    note(case, failure)
            end()

        async def run_async(**fixtures: Any) -> None:
            for case in listed:
                try:
                    await test(*_arguments(case), **fixtures)
                except (Exception, pytest.fail.Exception) as failure:
                    note(case, failure)
            end()

        chosen: Any = run_async if inspect.iscoroutinefunction(test) else run
        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(chosen, attribute, getattr(test, attribute))
        signature = inspect.signature(test)
        of_case = len(_arguments(listed[0])) if listed else len(signature.parameters)
        fixtures = list(signature.parameters.values())[of_case:]
        keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in fixtures]
        chosen.__signature__ = signature.replace(parameters=keyword_only)
        if hasattr(test, "pytestmark"):
            chosen.pytestmark = test.pytestmark
        return chosen  # type: ignore[no-any-return]

    return decorate


def _arguments(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
