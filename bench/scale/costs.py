"""What things cost on one machine, as `python -m bench.scale --calibrate` has measured them (`costs.toml`)."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path

COSTS = Path(__file__).with_name("costs.toml")


@dataclass(frozen=True)
class Costs:
    """Processor times and waits in seconds, memory in bytes."""

    kept: float
    """Processor time of a JSON-RPC request that is answered from memory."""
    kept_grpc: float
    """The same over gRPC."""
    read: float
    """Processor time of a request with one read that a node answers, without its share of the upstream request."""
    batch_item: float
    """Processor time of one read of a batch, without its share of the upstream request."""
    upstream: float
    """Processor time of one upstream request, however many reads it carries, without waking up."""
    wake: float
    """Processor time of an idle event loop for waking up: what comes while it is busy does not take it."""
    hop: float
    """What a caller waits beyond the gateway's processor time: sockets, the caller's own time."""
    upstream_hop: float
    """What an upstream request takes beyond the node's and the gateway's time."""
    redis_round_trip: float
    """Seconds until Redis has answered, seen by the gateway."""
    redis_client: float
    """The gateway's processor time for an exchange with Redis."""
    redis_server: float
    """Redis's processor time for it."""
    database_round_trip: float
    """Seconds until PostgreSQL has committed a transaction of one row."""
    database_row: float
    """PostgreSQL's processor time for a row of usage, in transactions of a hundred."""
    memory: float
    """Bytes of a gateway without connections."""
    memory_per_connection: float
    """Bytes of an open connection that has asked once."""

    @classmethod
    def read_from(cls, path: Path = COSTS) -> Costs:
        """Return the costs in a TOML file."""
        return cls(**tomllib.loads(path.read_text())["costs"])

    def write_to(self, path: Path, remarks: list[str]) -> None:
        """Write them, with remarks on how they were measured above."""
        lines = [*(f"# {remark}" for remark in remarks), "", "[costs]"]
        values = asdict(self)
        for field in fields(self):
            lines.append(f"{field.name} = {values[field.name]:.9g}")
        path.write_text("\n".join(lines) + "\n")
