"""Renders the Helm chart with the helm of this machine, for tests that run where there is none: `make chart`."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy/helm/waypost"
RENDERED = ROOT / "tests/deploy/rendered.yaml"
VALUES = (
    "database.existingSecret=db,redis.existingSecret=redis,secrets.existingSecret=files,autoscaling.enabled=true,"
    "autoscaling.inFlight.target=100,networkPolicy.enabled=true,podMonitor.enabled=true,ingress.enabled=true,"
    "ingress.host=api.example.org,ingress.grpcHost=grpc.example.org,ingress.tlsSecret=tls"
)
"""Everything that the chart can make."""


def digest() -> str:
    """Return the SHA-256 of the chart's files, their names and the values."""
    found = hashlib.sha256(VALUES.encode())
    for path in sorted(one for one in CHART.rglob("*") if one.is_file()):
        found.update(f"\0{path.relative_to(CHART)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def render(helm: str) -> str:
    """Return the chart's manifests with all values; subprocess.CalledProcessError where helm refuses it."""
    subprocess.run([helm, "lint", "--strict", "--set", VALUES, CHART], check=True, capture_output=True, timeout=60)
    command: list[str | Path] = [helm, "template", "waypost", CHART, "--kube-version", "1.31.0", "--set", VALUES]
    made = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return made.stdout


def main() -> int:
    """Write the manifests with the digest of what they are made of."""
    RENDERED.write_text(f"# {digest()}\n{render('helm')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
