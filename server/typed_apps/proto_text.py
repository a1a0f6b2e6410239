"""Layout -> the text of a .proto file, formatted as `buf format` does and passing `buf lint`."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from server.typed_apps.layout import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.typed_apps.layout import AppFile, Field

_WIDTH = 120


def proto_text(file: AppFile) -> str:
    """Return the file's text."""
    parts = file.package.split(".")
    go_name = "".join(parts[1:]).replace("_", "")
    rpcs = {rpc.name for rpc in file.rpcs}

    def named(message: Message) -> str:
        # Inside of the service an rpc of that name comes first: those of get() and getRequest() are such.
        return f".{file.package}.{message.name}" if message.name in rpcs else message.name

    lines = [
        *_comment(file.comment, 0),
        'syntax = "proto3";',
        "",
        f"package {file.package};",
        "",
        f'option go_package = "github.com/waypost/waypost/gen/go/{"/".join(parts)};{go_name}";',
        "option java_multiple_files = true;",
        f'option java_package = "dev.waypost.apps.{".".join(parts[1:])}";',
        "",
        *_comment(file.comment, 0),
        f"service {file.service} {{",
    ]
    for rpc in file.rpcs:
        lines += _comment(rpc.comment, 1)
        lines += [
            f"  rpc {rpc.name}({named(rpc.request)}) returns ({named(rpc.response)}) {{",
            "    option idempotency_level = NO_SIDE_EFFECTS;",
            "  }",
        ]
    lines.append("}")
    for rpc in file.rpcs:
        for message in (rpc.request, rpc.response):
            lines += ["", *_message(message, 0)]
    return "\n".join(lines) + "\n"


def _message(message: Message, depth: int) -> Iterator[str]:
    indent = "  " * depth
    yield from _comment(message.comment, depth)
    if not message.fields:
        yield f"{indent}message {message.name} {{}}"
        return
    yield f"{indent}message {message.name} {{"
    for nested in message.nested:
        yield from _message(nested, depth + 1)
        yield ""
    for field in message.fields:
        yield from _comment(field.comment, depth + 1)
        yield f"{indent}  {_declaration(field)}"
    yield f"{indent}}}"


def _declaration(field: Field) -> str:
    kind = field.type.name if isinstance(field.type, Message) else field.type
    label = f"{field.label} " if field.label else ""
    json = f' [json_name = "{field.json}"]' if field.json else ""
    return f"{label}{kind} {field.name} = {field.number}{json};"


def _comment(text: str, depth: int) -> list[str]:
    prefix = "  " * depth + "// "
    return [prefix + line for line in wrap(text, _WIDTH - len(prefix), break_long_words=False)]
