"""The stages in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.rpc.stages.admission import AdmissionStage
from server.rpc.stages.availability import Availability
from server.rpc.stages.deadline import Deadline
from server.rpc.stages.errors import Errors
from server.rpc.stages.identity import Identity
from server.rpc.stages.messages import Messages
from server.rpc.stages.telemetry import Telemetry
from server.rpc.stages.validation import Costs, Validation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.access.admission import Admission
    from server.rpc.interceptor import Stage


def build_stages(
    families: Mapping[str, str],
    admission: Admission,
    credential: str | None,
    answers: Stage | None = None,
    recall: Stage | None = None,
) -> tuple[Stage, ...]:
    """Return the stages, outermost first.

    Key and quota come before anything of the request is looked at (decisions 1.1); `families` maps chain slugs to
    family words; `credential` is what the transcoder proves itself with on the private listener; `answers` is the stage
    that keeps answers and `recall` the one that gives them again to equal requests, if any are kept.
    """
    return (
        Identity(credential),
        Telemetry(),
        Errors(),
        AdmissionStage(admission),
        *((recall,) if recall is not None else ()),
        Deadline(),
        Messages(),
        Availability(families),
        Validation(),
        Costs(admission.quotas),
        *((answers,) if answers is not None else ()),
    )
