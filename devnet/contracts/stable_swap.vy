# pragma version 0.4.3
# Arithmetic of pools along the StableSwap invariant, in amounts of 18 decimals, every division rounded down:
#
#     a * sum(x) + D = a * D + D ** (n + 1) / (n ** n * prod(x)),  a = amplification * n / precision

FEE_ONE: constant(uint256) = 10**10
MOST_ROUNDS: constant(uint256) = 255


@internal
@pure
def _invariant(amounts: DynArray[uint256, 3], amplification: uint256, precision: uint256) -> uint256:
    count: uint256 = len(amounts)
    total: uint256 = 0
    for amount: uint256 in amounts:
        total += amount
    if total == 0:
        return 0
    weight: uint256 = amplification * count
    d: uint256 = total
    for _: uint256 in range(MOST_ROUNDS):
        term: uint256 = d
        for amount: uint256 in amounts:
            term = term * d // (amount * count)
        last: uint256 = d
        d = (weight * total // precision + term * count) * d // (
            (weight - precision) * d // precision + (count + 1) * term
        )
        if max(d, last) - min(d, last) <= 1:
            return d
    raise "the invariant does not converge"


@internal
@pure
def _balance_of(
    place: uint256, amounts: DynArray[uint256, 3], d: uint256, amplification: uint256, precision: uint256
) -> uint256:
    # What the coin at this place amounts to when the others are as given and the invariant is `d`.
    count: uint256 = len(amounts)
    weight: uint256 = amplification * count
    total: uint256 = 0
    c: uint256 = d
    for other: uint256 in range(count, bound=3):
        if other != place:
            total += amounts[other]
            c = c * d // (amounts[other] * count)
    c = c * d * precision // (weight * count)
    b: uint256 = total + d * precision // weight
    y: uint256 = d
    for _: uint256 in range(MOST_ROUNDS):
        last: uint256 = y
        y = (y * y + c) // (2 * y + b - d)
        if max(y, last) - min(y, last) <= 1:
            return y
    raise "the balance does not converge"


@internal
@pure
def _imbalance_fee(fee: uint256, count: uint256) -> uint256:
    # Of what a deposit or a withdrawal moves away from the pool's proportions.
    return fee * count // (4 * (count - 1))
