"""Readers of DeFi protocols: each plans the calls that answer a question and builds the answer; none reads a node.

A folder per protocol exports `PROTOCOL`; `runner` executes the plans of one reader or of many at one block.
"""
