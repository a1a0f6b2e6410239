"""Scripts that write documents out of the descriptors, each checked in CI."""
