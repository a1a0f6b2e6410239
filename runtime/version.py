"""The gateway's version; pyproject.toml states the same (a test compares them)."""

VERSION = "0.1.0"
