"""As much of GraphQL as a stand-in of such an API needs: a query is answered with the fields that it names, no others.

A field or argument that the model does not have is refused in the words of the reference implementation.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

_COMMENT = re.compile(r"#[^\n]*")
_TOKEN = re.compile(r'\s*(?:([{}()\[\]:!,=])|(\$?[A-Za-z_]\w*)|(-?\d+)|"([^"\\]*)")')


class Refused(Exception):
    """What a server answers to a query that does not fit its schema."""


class Field(NamedTuple):
    """A field of a selection: the name that it is answered under, its own, arguments, what is selected below it."""

    alias: str
    name: str
    arguments: dict[str, Any]
    below: "tuple[Field, ...] | None"


Resolver = Callable[[dict[str, Any]], Any]
Model = Mapping[str, Any]
"""An object by field name; a value that is a function is called with the arguments. `__typename` names its type."""


def parse(query: str, variables: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the selection of a query with its variables put in. Raises Refused."""
    return _Parser(query, variables).document()


def select(model: Any, fields: tuple[Field, ...] | None) -> Any:
    """Return of a model what is selected. Raises Refused for a field that it does not have."""
    if isinstance(model, list):
        return [select(one, fields) for one in model]
    if not isinstance(model, Mapping) or fields is None:
        return model
    answer = {}
    for field in fields:
        if field.name not in model:
            raise Refused(f'Cannot query field "{field.name}" on type "{model["__typename"]}".')
        value = model[field.name]
        answer[field.alias] = select(value(field.arguments) if callable(value) else value, field.below)
    return answer


class _Parser:
    def __init__(self, query: str, variables: Mapping[str, Any]) -> None:
        self._tokens = list(_tokens(query))
        self._variables = variables
        self._at = 0

    def document(self) -> tuple[Field, ...]:
        if self._peek() == "query":
            self._at += 1
            while self._peek() != "{":  # its name, and the types of its variables
                self._at += 1
        return self._selection()

    def _selection(self) -> tuple[Field, ...]:
        self._take("{")
        fields = []
        while self._peek() != "}":
            fields.append(self._field())
        self._take("}")
        return tuple(fields)

    def _field(self) -> Field:
        alias = name = self._next()
        if self._peek() == ":":
            self._take(":")
            name = self._next()
        arguments = self._pairs("(", ")") if self._peek() == "(" else {}
        return Field(alias, name, arguments, self._selection() if self._peek() == "{" else None)

    def _pairs(self, opening: str, closing: str) -> dict[str, Any]:
        self._take(opening)
        pairs = {}
        while self._peek() != closing:
            name = self._next()
            self._take(":")
            pairs[name] = self._value()
            if self._peek() == ",":
                self._at += 1
        self._take(closing)
        return pairs

    def _value(self) -> Any:
        if self._peek() == "{":
            return self._pairs("{", "}")
        if self._peek() == "[":
            self._take("[")
            values = []
            while self._peek() != "]":
                values.append(self._value())
                if self._peek() == ",":
                    self._at += 1
            self._take("]")
            return values
        token = self._next()
        if token.startswith("$"):
            return self._variables[token[1:]]
        if token in ("true", "false"):
            return token == "true"
        return int(token) if re.fullmatch(r"-?\d+", token) else token

    def _peek(self) -> str:
        if self._at >= len(self._tokens):
            raise Refused("Syntax Error: Expected Name, found <EOF>.")
        return self._tokens[self._at]

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _take(self, wanted: str) -> None:
        found = self._next()
        if found != wanted:
            raise Refused(f'Syntax Error: Expected "{wanted}", found "{found}".')


def _tokens(query: str) -> Iterator[str]:
    text, at = _COMMENT.sub("", query).rstrip(), 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Refused("Syntax Error: Unexpected character.")
        at = found.end()
        yield next(group for group in found.groups() if group is not None)
