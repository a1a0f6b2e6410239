"""Fetching what strangers name: every URL that a contract, or a server it names, can influence goes through here."""

from server.fetch.bodies import DataUrl, parse_data_url
from server.fetch.fetcher import Fetched, GuardedFetcher
from server.fetch.targets import FetchError, FetchFailed, FetchRefused, Unreachable

__all__ = [
    "DataUrl",
    "FetchError",
    "FetchFailed",
    "FetchRefused",
    "Fetched",
    "GuardedFetcher",
    "Unreachable",
    "parse_data_url",
]
