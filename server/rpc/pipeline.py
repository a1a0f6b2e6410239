"""The stages in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.rpc.stages.admission import AdmissionStage
from server.rpc.stages.availability import Availability
from server.rpc.stages.deadline import Deadline
from server.rpc.stages.messages import Messages
from server.rpc.stages.validation import Costs, Validation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.access.admission import Admission
    from server.rpc.interceptor import Stage
    from server.rpc.stages.recall import Recall


def build_stages(
    families: Mapping[str, str],
    admission: Admission,
    answers: Stage | None = None,
    recall: Recall | None = None,
) -> tuple[Stage, ...]:
    """Return the stages behind the frame, outermost first.

    Key and quota come before anything of the request is looked at (decisions 1.1); `families` maps chain slugs to
    family words; `answers` is the stage that keeps answers and `recall` gives them again to equal requests, if any are
    kept.
    """
    return (
        AdmissionStage(admission, recall),
        Deadline(),
        Messages(),
        Availability(families),
        Validation(),
        Costs(admission.quotas),
        *((answers,) if answers is not None else ()),
    )
