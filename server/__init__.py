"""The gateway's server: the gRPC face over chain drivers, protocol readers and off-chain sources."""
