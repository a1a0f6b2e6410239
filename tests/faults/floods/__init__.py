"""Bad clients of the gRPC face: HTTP/2 made by hand, and floods of it."""
