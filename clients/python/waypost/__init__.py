"""Typed stubs of Waypost's protos."""
