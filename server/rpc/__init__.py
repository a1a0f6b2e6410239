"""The gRPC face: servicers, the interceptor with its stages, registration."""
