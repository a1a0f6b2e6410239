"""What a call passes: boundary, admission with the response cache, execution with the stages' checks, servicer.

`interceptor` composes it once per method.
"""
