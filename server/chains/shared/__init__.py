"""What the readers of all families of chains are built on."""
