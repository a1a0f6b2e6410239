"""Fetching what strangers name: every URL that a contract, or a server it names, can influence goes through here."""

from server.sources.guarded.data_urls import DataUrl, parse_data_url
from server.sources.guarded.errors import FetchError, FetchFailed, FetchRefused, Unreachable
from server.sources.guarded.fetcher import Fetched, GuardedFetcher

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
