"""Names that callers rely on and that `buf breaking` cannot see, because they are option values.

A change here changes the public surface. To accept one: `UPDATE_GOLDEN=1 pytest tests/proto/test_golden.py`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waypost.options.v1 import options_pb2
from waypost.v1 import common_pb2

from runtime.operations import Operation, literal, load_operations, load_watches, member, public_files

if TYPE_CHECKING:
    from google.protobuf.descriptor import EnumDescriptor

GOLDEN = Path(__file__).parents[1] / "golden"


def compare(name: str, lines: list[str]) -> None:
    path, text = GOLDEN / name, "\n".join(lines) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; see the module's docstring"


def describe_operation(operation: Operation) -> list[str]:
    options = operation.options
    shape = options_pb2.ResultShape.Name(options.result or 1).removeprefix("RESULT_SHAPE_").lower()
    params = options_pb2.ParamsShape.Name(options.params or 1).removeprefix("PARAMS_SHAPE_").lower()
    lines = [
        operation.name,
        f"  path     {operation.path}",
        f"  shapes   params {params}, result {shape}",
        f"  families {' '.join(sorted(operation.families))}",
    ]
    if operation.aliases:
        lines.append(f"  aliases  {' '.join(operation.aliases)}")
    if operation.chains:
        lines.append(f"  chains   {' '.join(operation.chains)}")
    return lines


def describe_param(field: Any) -> str:
    options = member(field)
    facts = [field.json_name]
    if options.required:
        facts.append("required")
    if options.format:
        facts.append(options_pb2.Format.Name(options.format).removeprefix("FORMAT_").lower())
    for bound in ("min", "max"):
        if options.HasField(bound):
            facts.append(f"{bound}={getattr(options, bound)}")
    if options.default_value:
        facts.append(f"default={options.default_value}")
    if options.one_of:
        facts.append("one of " + "|".join(options.one_of))
    return "    " + " ".join(facts)


def public_enums() -> list[EnumDescriptor]:
    return sorted(
        (
            enum
            for file in public_files()
            if not file.name.endswith("options.proto")
            for enum in file.enum_types_by_name.values()
        ),
        key=lambda enum: enum.name,
    )


def every_operation() -> list[Operation]:
    return sorted((*load_operations(), *load_watches()), key=lambda operation: operation.name)


def test_operation_names_paths_families_and_aliases_stay() -> None:
    operations = every_operation()
    compare("operations.txt", [line for operation in operations for line in describe_operation(operation)])


def test_parameters_with_their_bounds_and_defaults_stay() -> None:
    lines = []
    for operation in every_operation():
        lines.append(operation.name)
        fields = operation.request.DESCRIPTOR.fields
        lines += [describe_param(field) for field in fields if not member(field).grpc_only]
    compare("parameters.txt", lines)


def test_literals_of_enums_stay() -> None:
    lines = []
    for enum in public_enums():
        lines.append(enum.name)
        for value in enum.values:
            if literal(value).wire:
                lines.append("  " + " ".join([literal(value).wire, *literal(value).aliases]))
    compare("literals.txt", lines)


def test_reasons_stay_and_are_written_as_they_are_named() -> None:
    values = common_pb2.Reason.DESCRIPTOR.values
    assert [literal(value).wire for value in values[1:]] == [value.name.removeprefix("REASON_") for value in values[1:]]
    compare("reasons.txt", [f"{value.number} {literal(value).wire}" for value in values[1:]])
