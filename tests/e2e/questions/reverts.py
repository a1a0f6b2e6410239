"""Calls that contracts refuse: what they reverted with is the same on both faces."""

from __future__ import annotations

from devnet import known
from devnet.evm.calls import encode_call
from tests.e2e.questions.question import Question, ethereum


def simulated(signature: str, arguments: list[object], note: str) -> Question:
    data = "0x" + encode_call(signature, arguments).hex()
    return Question("simulateCall", ethereum(to=known.PROBER, data=data), note)


QUESTIONS: list[Question] = []

REFUSED = [
    simulated("fail_with_reason(string)", ["not today"], "a reason in words"),
    simulated("fail_with_reason(string)", ["\N{BICYCLIST} \N{NO ENTRY}"], "a reason outside ASCII"),
    simulated("fail_with_panic()", [], "a panic"),
    simulated("fail_with_code(uint256)", [77], "a custom error"),
    simulated("fail_silently()", [], "no reason"),
    Question("simulateCall", ethereum(to=known.REVERT_BOMBER, data="0x"), "a revert of a million bytes"),
    Question(
        "estimateGas",
        ethereum(to=known.PROBER, data="0x" + encode_call("fail_with_code(uint256)", [9]).hex()),
        "a custom error",
    ),
]
