"""Configuration mistakes as the operator sees them: key, value, where it came from, and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.config_errors import ConfigError

if TYPE_CHECKING:
    from typing import TextIO


def print_config_error(error: ConfigError, stream: TextIO) -> None:
    """Print every mistake of the configuration, two lines each."""
    for mistake in error.every():
        stated = f"{mistake.key} = {mistake.value}" if mistake.value else mistake.key
        origin = f"  (from {mistake.origin})" if mistake.origin else ""
        print(f"config error: {stated}{origin}\n         fix: {mistake.fix}", file=stream)


def storage_refusal(error: Exception) -> ConfigError:
    """Return the mistake behind a database that cannot be opened; the error's own text may hold a password."""
    fix = (
        f"the database cannot be opened ({type(error).__name__}): give a file that this user may write, or a "
        "PostgreSQL database that answers and takes that user"
    )
    return ConfigError("storage.url", "(hidden)", fix)


def listen_refusal(error: OSError) -> ConfigError:
    """Return the mistake behind a gRPC address that cannot be bound; the error's text is `setting: what is wrong`."""
    setting, _, wrong = str(error).partition(": ")
    return ConfigError(setting, "", f"{wrong} Choose another (--grpc-port).")


def http_refusal(host: str, port: int, error: OSError) -> ConfigError:
    """Return the mistake behind an address that the JSON-RPC face cannot bind."""
    fix = f"the JSON-RPC face cannot listen there ({error.strerror}): choose another (--http-port)"
    return ConfigError("http.port", f"{host}:{port}", fix)


def metrics_refusal(listen: str, error: OSError) -> ConfigError:
    """Return the mistake behind an address that metrics cannot be served on."""
    return ConfigError("metrics.listen", listen, f"metrics cannot be served there ({error.strerror}): choose another")
