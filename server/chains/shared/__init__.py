"""What the families of chains share."""
