"""Rules of request messages, compiled from the `Member` options of their fields.

Absent parameters get their default value here, before the servicer sees the request.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from google.protobuf.descriptor import FieldDescriptor

from runtime.operations import cost_of, literal, member
from server.errors import InvalidArgument
from server.rpc.pipeline.admission import restate_quota
from server.rpc.pipeline.formats import CHECKS, is_repeated, item_root, json_name, shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    from server.access.principals import Principal
    from server.access.quotas import Quotas
    from server.rpc.pipeline.call import Context, Method, RequestState, Step

    Rule = Callable[[Any, str], None]
    ValueRule = Callable[[Any, str], None]

DEFAULT_MAX_CHARACTERS = 4096
DEFAULT_MAX_ELEMENTS = 1000
_TEXTS = (FieldDescriptor.CPPTYPE_STRING,)
_NUMBERS = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
    FieldDescriptor.CPPTYPE_FLOAT,
    FieldDescriptor.CPPTYPE_DOUBLE,
)


@cache
def compile_rules(message: Descriptor, items_name: str = "") -> tuple[Rule, ...]:
    """Return the rules of a message type; empty where its fields accept whatever their types allow.

    `items_name` is the name under which callers know the field `items` of a multi-item operation.
    """
    rules = (_field_rule(field, items_name) for field in message.fields)
    return tuple(rule for rule in rules if rule is not None)


def _field_rule(field: FieldDescriptor, items_name: str) -> Rule | None:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return None
    if is_repeated(field):
        return _list_rule(field, items_name if field.name == "items" and items_name else json_name(field))
    options = member(field)
    name, shown_name = field.name, json_name(field)
    check = _value_rule(field)
    default = _default(field)
    missing = _missing(shown_name, field) if options.required else None
    if check is None and default is None and missing is None:
        return None
    has_presence = field.has_presence

    def rule(message: Any, prefix: str) -> None:
        value = getattr(message, name)
        if (not message.HasField(name)) if has_presence else (not value):
            if default is not None:
                setattr(message, name, default)
            elif missing is not None:
                missing(prefix)
        elif check is not None:
            check(value, prefix + shown_name)

    return rule


def _list_rule(field: FieldDescriptor, shown_name: str) -> Rule:
    options = member(field)
    name = field.name
    most = options.max_length or DEFAULT_MAX_ELEMENTS
    least = options.min_length
    check = _value_rule(field)
    missing = _missing(shown_name, field) if options.required else None

    def rule(message: Any, prefix: str) -> None:
        values = getattr(message, name)
        path = prefix + shown_name
        if not values:
            if missing is not None:
                missing(prefix)
            return
        if not least <= len(values) <= most:
            bound = f"at least {least}" if len(values) < least else f"at most {most}"
            raise InvalidArgument(f"{path} has {len(values)} elements; give {bound}", field=path)
        if check is not None:
            for position, value in enumerate(values):
                check(value, f"{path}[{position}]")

    return rule


def _missing(shown_name: str, field: FieldDescriptor) -> Callable[[str], None]:
    advice = _for_example(field)

    def refuse(prefix: str) -> None:
        path = prefix + shown_name
        raise InvalidArgument(f"{path} is required{advice}", field=path)

    return refuse


def _for_example(field: FieldDescriptor) -> str:
    example = member(field).example
    return f"; for example {example}" if example else ""


def _value_rule(field: FieldDescriptor) -> ValueRule | None:
    """Return the rule of one value of the field (of one element, when the field is a list)."""
    if field.message_type is not None:
        return _message_rule(field.message_type)
    if field.enum_type is not None:
        return _enum_rule(field)
    if field.cpp_type in _TEXTS and field.type != FieldDescriptor.TYPE_BYTES:
        return _text_rule(field)
    if field.cpp_type in _NUMBERS:
        return _number_rule(field)
    return None


def _message_rule(message: Descriptor) -> ValueRule | None:
    if message.file.package != "waypost.v1":
        return None
    rules = compile_rules(message)
    if not rules:
        return None

    def check(value: Any, path: str) -> None:
        prefix = path + "."
        for rule in rules:
            rule(value, prefix)

    return check


def _enum_rule(field: FieldDescriptor) -> ValueRule:
    values = field.enum_type.values_by_number
    texts = {number: literal(value).wire or value.name for number, value in sorted(values.items()) if number}
    narrowed = member(field).one_of
    accepted = {number: text for number, text in texts.items() if not narrowed or text in narrowed}

    def check(value: int, path: str) -> None:
        # 0 given on purpose (an optional enum) means the same as none.
        if value and value not in accepted:
            got = texts.get(value, value)
            raise InvalidArgument(f"{path} is {got}; write one of {', '.join(accepted.values())}", field=path)

    return check


def _number_rule(field: FieldDescriptor) -> ValueRule | None:
    options = member(field)
    least = options.min if options.HasField("min") else None
    most = options.max if options.HasField("max") else None
    allowed = tuple(options.one_of)
    if least is None and most is None and not allowed:
        return None

    def check(value: float, path: str) -> None:
        if allowed and str(value) not in allowed:
            raise InvalidArgument(f"{path} is {value}; write one of {', '.join(allowed)}", field=path)
        # Written so that NaN fails both.
        if least is not None and not value >= least:
            raise InvalidArgument(f"{path} is {value}; write a number of at least {least}", field=path)
        if most is not None and not value <= most:
            raise InvalidArgument(f"{path} is {value}; write a number of at most {most}", field=path)

    return check


def _text_rule(field: FieldDescriptor) -> ValueRule:
    options = member(field)
    # On a list, lengths count its elements.
    most = DEFAULT_MAX_CHARACTERS if is_repeated(field) else options.max_length or DEFAULT_MAX_CHARACTERS
    least = 1 if is_repeated(field) else options.min_length
    example = _for_example(field)
    allowed = tuple(options.one_of)
    check_format = CHECKS.get(options.format)
    # What has a format is in none when blank.
    refuses_blanks = options.required and not options.format

    def check(value: str, path: str) -> None:
        if len(value) > most:
            raise InvalidArgument(f"{path} has {len(value)} characters; write at most {most}", field=path)
        if len(value) < least:
            raise InvalidArgument(f"{path} is {shown(value)}; write at least {least} characters", field=path)
        if refuses_blanks and not value.strip():
            raise InvalidArgument(f"{path} is blank{example}", field=path)
        if allowed and value not in allowed:
            raise InvalidArgument(f"{path} is {shown(value)}; write one of {', '.join(allowed)}", field=path)
        if check_format is not None:
            advice = check_format(value)
            if advice is not None:
                raise InvalidArgument(f"{path} is {shown(value)}; {advice}", field=path)

    return check


def _default(field: FieldDescriptor) -> Any:
    text = member(field).default_value
    if not text or field.message_type is not None:
        return None
    if field.enum_type is not None:
        return next(number for number, value in field.enum_type.values_by_number.items() if literal(value).wire == text)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return text == "true"
    if field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return float(text)
    if field.cpp_type in _NUMBERS:
        return int(text)
    return text


class Validation:
    """Lets valid requests through, with absent parameters set to their default values."""

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner` behind the rules of its request type."""
        operation = method.operation
        if operation is None:
            return inner
        rules = compile_rules(operation.method.input_type, item_root(operation))
        if not rules:
            return inner

        def validate(request: Message, context: Context, state: RequestState) -> Awaitable[Any]:
            for rule in rules:
                rule(request, "")
            return inner(request, context, state)

        return validate


class Costs:
    """Charges what a valid call costs beyond the one unit of its admission.

    The call has been admitted, so it is not refused here: the caller's later calls wait for the debt.
    """

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner`, charged by cost and number of items where that is more than one unit."""
        operation = method.operation
        if operation is None:
            cost, takes_items = cost_of(method.path), False
        elif operation.name.endswith("*"):
            return self._charge_told(inner)
        else:
            cost, takes_items = operation.cost, operation.takes_items
        if cost == 1 and not takes_items:
            return inner

        def charge(request: Any, context: Context, state: RequestState) -> Awaitable[Any]:
            principal = state.principal
            if principal is not None:
                items = len(request.items) if takes_items else 1
                self._owe(state, principal, (cost if principal.policy.weighs_costs else 1) * items - 1)
            return inner(request, context, state)

        return charge

    def _charge_told(self, inner: Step) -> Step:
        """Return `inner` of an operation that stands for many, charged by what its servicer tells of the call."""

        async def charge(request: Any, context: Context, state: RequestState) -> Any:
            try:
                return await inner(request, context, state)
            finally:
                principal = state.principal
                if principal is not None and principal.policy.weighs_costs:
                    self._owe(state, principal, state.further)

        return charge

    def _owe(self, state: RequestState, principal: Principal, units: int) -> None:
        if units > 0:
            restate_quota(state, principal, self._quotas.owe(principal, units))
