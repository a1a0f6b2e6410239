# pragma version 0.4.3
# Stand-in for the aggregator that an issuer of funds reports to (CustomAggregatorV3CompatibleFeed of tokenized-a and vault-d):
# rounds by number, zeros for a round that is none. Whoever calls it may report, for any time.

struct Round:
    roundId: uint80
    answer: int256
    startedAt: uint256
    updatedAt: uint256
    answeredInRound: uint80

event AnswerUpdated:
    data: indexed(int256)
    roundId: indexed(uint256)
    timestamp: indexed(uint256)

decimals: public(constant(uint8)) = 8
version: public(constant(uint256)) = 1
description: public(String[64])
latestRound: public(uint80)
minAnswer: public(int192)
maxAnswer: public(int192)
rounds: HashMap[uint80, Round]


@external
def initialize(least: int192, most: int192, description: String[64]):
    assert least < most, "CA: !min/max"
    self.minAnswer = least
    self.maxAnswer = most
    self.description = description


@external
def report(answer: int256, at: uint256):
    """The next round, within the bounds."""
    assert answer >= convert(self.minAnswer, int256) and answer <= convert(self.maxAnswer, int256), "CA: out of [min;max]"
    self._store(self.latestRound + 1, answer, at)


@external
def store_round(number: uint80, answer: int256, at: uint256):
    """A round of any number and figure, which becomes the latest if no other has a higher number."""
    self._store(number, answer, at)


@external
@view
def getRoundData(number: uint80) -> Round:
    return self.rounds[number]


@external
@view
def latestRoundData() -> Round:
    return self.rounds[self.latestRound]


@internal
def _store(number: uint80, answer: int256, at: uint256):
    self.rounds[number] = Round(roundId=number, answer=answer, startedAt=at, updatedAt=at, answeredInRound=number)
    if number > self.latestRound:
        self.latestRound = number
    log AnswerUpdated(data=answer, roundId=convert(number, uint256), timestamp=at)
