# pragma version 0.4.3
# Stand-in for the data feed of an issuer of funds (DataFeed of tokenized-a and vault-d): the aggregator's answer with 18
# decimals, refused where it is too old or out of bounds. Whoever calls it may change what its administrators may.

struct Round:
    roundId: uint80
    answer: int256
    startedAt: uint256
    updatedAt: uint256
    answeredInRound: uint80

interface Aggregator:
    def decimals() -> uint8: view
    def latestRoundData() -> Round: view

aggregator: public(address)
healthyDiff: public(uint256)
minExpectedAnswer: public(int256)
maxExpectedAnswer: public(int256)


@external
def initialize(aggregator: address, healthy: uint256, least: int256, most: int256):
    self.aggregator = aggregator
    self.healthyDiff = healthy
    self.minExpectedAnswer = least
    self.maxExpectedAnswer = most


@external
@view
def getDataInBase18() -> uint256:
    places: uint8 = staticcall Aggregator(self.aggregator).decimals()
    told: Round = staticcall Aggregator(self.aggregator).latestRoundData()
    assert told.answer > 0, "DF: feed is deprecated"
    is_recent: bool = block.timestamp - told.updatedAt <= self.healthyDiff
    is_within: bool = told.answer >= self.minExpectedAnswer and told.answer <= self.maxExpectedAnswer
    assert is_recent and is_within, "DF: feed is unhealthy"
    return convert(told.answer, uint256) * 10**18 // 10**convert(places, uint256)
