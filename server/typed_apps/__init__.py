"""Published apps as gRPC services with types of their own: one service per app, one rpc per published method.

The same layout is printed as a .proto file for stub generators and served by the gateway, which turns each call into
`MarketplaceService.CallMethod` and its answer back.
"""
