"""Migrations, applied by the program itself: nobody runs a tool by hand."""

from server.storage.migrations.runner import WrongProfile, upgrade

__all__ = ["WrongProfile", "upgrade"]
