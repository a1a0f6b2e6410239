"""What `make generate` writes: services and reasons."""
