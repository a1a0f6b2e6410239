"""The protocol registry: one data file per protocol, read into the address book."""

from server.catalog.protocols.book import CATEGORIES, AddressBook, RegisteredContract, RegisteredProtocol
from server.catalog.protocols.reading import load_address_book

__all__ = ["AddressBook", "RegisteredContract", "RegisteredProtocol", "CATEGORIES", "load_address_book"]
