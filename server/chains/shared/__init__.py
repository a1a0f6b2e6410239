"""What the chain families share."""
