"""The stages in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.rpc.stages.availability import Availability
from server.rpc.stages.deadline import Deadline
from server.rpc.stages.messages import Messages
from server.rpc.stages.validation import Costs, Validation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.access.quotas import Quotas
    from server.rpc.interceptor import Stage


def build_stages(
    families: Mapping[str, str],
    quotas: Quotas,
    answers: Stage | None = None,
) -> tuple[Stage, ...]:
    """Return the stages behind admission, outermost first.

    Key and quota come before anything of the request is looked at (decisions 1.1). `families` maps chain slugs to
    family words; `answers` is the stage that keeps answers, if any are kept.
    """
    return (
        Deadline(),
        Messages(),
        Availability(families),
        Validation(),
        Costs(quotas),
        *((answers,) if answers is not None else ()),
    )
