"""Manifests against the schemas of those who read them: the chart's by Kubernetes 1.31, compose by its specification.

`schemas/kubernetes-1.31.json` are the definitions of Kubernetes' OpenAPI document that the chart's kinds need,
`schemas/compose-spec.json` the specification's own schema, both without descriptions (Apache License 2.0).
"""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft7Validator, ValidationError

from scripts.chart import CHART, RENDERED, VALUES, digest, render

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMAS = Path(__file__).parent / "schemas"
COMPOSE = CHART.parents[1] / "compose.yaml"
# Of the Prometheus operator, not of Kubernetes.
FOREIGN = {"PodMonitor"}


def manifests() -> dict[str, Any]:
    found = [one for one in yaml.safe_load_all(RENDERED.read_text()) if one]
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in found}


def check(manifest: dict[str, Any]) -> None:
    """Raise ValidationError where Kubernetes would refuse the manifest; members that it does not know are refused."""
    schema = json.loads((SCHEMAS / "kubernetes-1.31.json").read_text())
    schema["$ref"] = f"#/definitions/{schema['kinds'][manifest['kind']]}"
    Draft7Validator(schema).validate(manifest)


def test_the_rendered_manifests_are_of_this_chart() -> None:
    assert RENDERED.read_text().partition("\n")[0] == f"# {digest()}", (
        "the chart has changed: `make chart` (needs helm)"
    )


def test_kubernetes_takes_what_the_chart_renders() -> None:
    found = manifests()
    kinds = sorted(one["kind"] for one in found.values())
    assert kinds == sorted(
        ["ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor"]
        + ["Service"] * 2
        + ["Ingress"] * 2
    )
    for manifest in found.values():
        if manifest["kind"] not in FOREIGN:
            check(manifest)


def deployment_with(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    (deployment,) = (copy.deepcopy(one) for one in manifests().values() if one["kind"] == "Deployment")
    change(deployment["spec"]["template"]["spec"])
    return deployment


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod.update(terminationGraceSeconds=60),
        lambda pod: pod["containers"][0].pop("name"),
        lambda pod: pod["containers"][0]["ports"][0].update(containerPort="http"),
        lambda pod: pod["containers"][0]["readinessProbe"].update(httpget={"path": "/readyz"}),
    ],
    ids=["unknown member", "no name", "port by name", "misspelt probe"],
)
def test_what_kubernetes_would_refuse_is_found(change: Callable[[dict[str, Any]], Any]) -> None:
    check(deployment_with(lambda pod: None))
    with pytest.raises(ValidationError):
        check(deployment_with(change))


def test_the_chart_renders_the_same_here() -> None:
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip("no helm: `go install helm.sh/helm/v3/cmd/helm@v3` takes minutes")
    assert render(helm) == RENDERED.read_text().partition("\n")[2]
    without = [helm, "template", "waypost", CHART, "--kube-version", "1.31.0"]
    refused = subprocess.run(without, capture_output=True, text=True, timeout=60)
    assert "database.existingSecret names the Secret" in refused.stderr
    unknown = subprocess.run([*without, "--set", f"{VALUES},nosuch=1"], capture_output=True, text=True, timeout=60)
    assert unknown.returncode != 0
    assert "nosuch" in unknown.stderr


def test_the_compose_file_is_one_by_its_specification() -> None:
    schema = json.loads((SCHEMAS / "compose-spec.json").read_text())
    stated = yaml.safe_load(COMPOSE.read_text())
    Draft7Validator(schema).validate(stated)
    assert stated["services"].keys() == {*("waypost", "envoy", "redis", "quotas", "postgres", "prometheus", "grafana")}
    stated["services"]["waypost"]["healthchek"] = {}
    with pytest.raises(ValidationError):
        Draft7Validator(schema).validate(stated)
