"""The transactions of a chain's first blocks: transfers, approvals, logs, a failure, a deployment, old formats.

They are signed by the node with the keys of the development accounts, at fixed times and fees, so that heights and
hashes are the same on every start.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from devnet import known, known_lending, known_marketplace
from devnet.evm.artifacts import stand_ins
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.marketplace import marketplace_steps
from devnet.evm.node import Node
from devnet.evm.staking_a import rebase_steps
from devnet.evm.step import Step
from devnet.evm.world import FIRST_TIMESTAMP, Chain, Token
from devnet.local_chain import NodeError

_GAS_TO_DEPLOY = hex(1_500_000)
_LEAST_TIP = 1_000_000  # wei per gas


@dataclass(slots=True)
class Seeded:
    """What a chain's seed left: transaction hashes by step name, block hashes by height."""

    transactions: dict[str, str] = field(default_factory=dict)
    blocks: dict[int, str] = field(default_factory=dict)


def steps(chain: Chain) -> list[list[Step]]:
    """Return the transactions of each seeded block after the first, in order."""
    plan: dict[int, list[Step]] = {
        known.FINANCED_AT: [
            Step("native transfer", known.DEVELOPER, known.VITALIK, value=known.NATIVE_GIFT),
            Step("native transfer to bob", known.ALICE, known.BOB, value=25 * 10**16),
        ],
        known.PAID_AT: [
            Step(f"gift of {token.address}", known.ALICE, token.address, _gift(token)) for token in chain.tokens
        ],
        3: [
            Step("wrap", known.ALICE, chain.wrapped_native.address, encode_call("deposit()"), value=3 * 10**18),
            Step("unwrap", known.BOB, chain.wrapped_native.address, encode_call("withdraw(uint256)", [10**18])),
        ],
        4: list(_approvals(chain)),
        5: list(_spending(chain)),
        6: [Step("failure", known.BOB, known.PROBER, encode_call("fail_with_reason(string)", ["no"]), succeeds=False)],
        7: [Step("deployment", known.DEVELOPER, None, stand_ins()["prober"], gas=_GAS_TO_DEPLOY)],
        8: [
            Step("legacy transfer", known.ALICE, known.BOB, value=1, kind=0),
            Step("access list transfer", known.ALICE, known.BOB, value=2, kind=1),
            Step("dynamic fee transfer", known.ALICE, known.BOB, value=3, kind=2),
        ],
        known.CROWDED_AT: list(_crowd(chain)),
        11: [Step("log", known.BOB, known.PROBER, encode_call("say(uint256,string)", [7, "hello"]))],
        known_marketplace.EVENTS_AT: marketplace_steps(chain),
        known_lending.REBASED_AT: rebase_steps(chain),
    }
    return [plan.get(number, []) for number in range(1, known.SEEDED_BLOCKS + 1)]


async def seed_world(node: Node) -> Seeded:
    """Mine the seeded blocks on a node that stands at its first block. Raises NodeError."""
    chain = node.chain
    seeded = Seeded()
    await _record_block(node, chain.height, seeded)
    nonces: dict[str, int] = {}
    for number, block in enumerate(steps(chain), start=1):
        requests = []
        for step in block:
            nonce = nonces.get(step.sender, 0)
            nonces[step.sender] = nonce + 1
            requests.append(("eth_sendTransaction", [_transaction(step, nonce, chain)]))
        # One after the other: their order in the block is the order of arrival.
        hashes = [await node.call(method, *parameters) for method, parameters in requests]
        timestamp = FIRST_TIMESTAMP + round(number * chain.interval)
        await node.call("evm_setNextBlockTimestamp", timestamp)
        await node.call("anvil_setNextBlockBaseFeePerGas", hex(chain.base_fee))
        await node.call("evm_mine")
        receipts = await node.calls([("eth_getTransactionReceipt", [sent]) for sent in hashes])
        for step, receipt in zip(block, receipts, strict=True):
            if receipt is None or (int(receipt["status"], 16) == 1) is not step.succeeds:
                raise NodeError(f"the seeded transaction '{step.name}' of {chain.slug} did not end as planned")
            seeded.transactions[step.name] = receipt["transactionHash"]
        await _record_block(node, chain.height + number, seeded)
        if number == known.DESTROYED_AFTER + 1:  # code set now shows at the height that is head now
            await node.call("anvil_setCode", known.DESTROYED_TOKEN, "0x")
    return seeded


async def _record_block(node: Node, number: int, seeded: Seeded) -> None:
    block = await node.call("eth_getBlockByNumber", hex(number), False)
    seeded.blocks[number] = block["hash"]


def _transaction(step: Step, nonce: int, chain: Chain) -> dict[str, object]:
    tip = max(chain.base_fee // 10, _LEAST_TIP)
    transaction: dict[str, object] = {
        "from": step.sender,
        "data": to_hex(step.data),
        "value": hex(step.value),
        "gas": step.gas,
        "nonce": hex(nonce),
    }
    if step.to is not None:
        transaction["to"] = step.to
    if step.kind == 1:
        transaction["accessList"] = [{"address": known.PROBER, "storageKeys": ["0x" + "00" * 32]}]
    if step.kind == 2:
        fees = {"maxFeePerGas": hex(2 * chain.base_fee + tip), "maxPriorityFeePerGas": hex(tip)}
    else:
        fees = {"gasPrice": hex(chain.base_fee + tip)}
    return {**transaction, **fees, "type": hex(step.kind)}


def _gift(token: Token) -> bytes:
    amount = known.vitalik_at_head(token) - known.vitalik_at_first(token)
    return encode_call("transfer(address,uint256)", [known.VITALIK, amount])


def _approvals(chain: Chain) -> Iterator[Step]:
    """Yield ALICE's approvals of each token: unlimited for the first spender, n thousand for the n-th after it."""
    spenders = {**chain.spenders, "bob": known.BOB}
    for token in chain.tokens:
        for place, (name, spender) in enumerate(spenders.items()):
            amount = known.units(token, 1_000_000_000 * place) if place else known.UNLIMITED
            data = encode_call("approve(address,uint256)", [spender, amount])
            yield Step(f"approval of {token.address} to {name}", known.ALICE, token.address, data)


def _spending(chain: Chain) -> Iterator[Step]:
    """BOB spends one whole token of ALICE's allowance, of every token."""
    for token in chain.tokens:
        data = encode_call("transferFrom(address,address,uint256)", [known.ALICE, known.BOB, 10**token.decimals])
        yield Step(f"spending of {token.address}", known.BOB, token.address, data)


def _crowd(chain: Chain) -> Iterator[Step]:
    for number in range(known.CROWD):
        data = encode_call("transfer(address,uint256)", [f"0x{0x10000 + number:040x}", number + 1])
        yield Step(f"crowd {number}", known.BOB, chain.wrapped_native.address, data)
