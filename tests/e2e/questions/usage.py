"""Usage of the key that asks. Of days on which there was none, as that of today changes with every question."""

from __future__ import annotations

from tests.e2e.questions.question import Question

PAST = {"from": "2025-01-01", "to": "2025-01-31"}

QUESTIONS = [
    Question("getUsage", PAST),
    Question("getUsage", {**PAST, "groupBy": "operation", "limit": 1, "cursor": "operation:getPrice"}, "a page"),
    Question("getUsage", {**PAST, "cursor": ""}, "empty cursor"),
    Question("getUsage", {"to": "2025-01-31", "groupBy": "chain"}, "without a first day"),
]

REFUSED = [
    Question("getUsage", {"from": "2025-02-02", "to": "2025-02-01"}, "reversed"),
    Question("getUsage", {**PAST, "groupBy": "hour"}, "hours that are days by now"),
    Question("getUsage", {**PAST, "cursor": "chain:base"}, "cursor of another grouping"),
    Question("getUsage", {**PAST, "limit": -1}, "fewer than no rows"),
    Question("getUsage", {**PAST, "limit": 1001}, "too many rows"),
    Question("getUsage", {"from": "2025-02-30"}, "no such day"),
    Question("getUsage", {"cursor": "d" * 129}, "oversized cursor"),
]
# Over gRPC 0 is no size.
REFUSED_IN_JSON = [Question("getUsage", {**PAST, "limit": 0}, "limit of no rows")]
