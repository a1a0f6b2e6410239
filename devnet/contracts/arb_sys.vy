# pragma version 0.4.3
# Stand-in for the ArbSys precompile of Arbitrum: the chain's own block number, which the node's RPC counts.


@external
@view
def arbBlockNumber() -> uint256:
    return block.number


@external
@view
def arbChainID() -> uint256:
    return chain.id
