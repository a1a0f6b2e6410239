"""Rules of request messages, compiled from the `Member` options of their fields.

Absent parameters get their default value here, before the servicer sees the request.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from google.protobuf.descriptor import FieldDescriptor

from runtime.operations import LATEST_BLOCK, literal, member
from server.errors import InvalidArgument
from server.rpc.pipeline.call import Stage
from server.rpc.pipeline.formats import CHECKS, LARGEST_BLOCKS, is_repeated, item_root, json_name, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from google.protobuf.descriptor import Descriptor

    from server.rpc.pipeline.call import Check, Method

    Absent = Callable[[Any, str], None]
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


class Validation(Stage):
    """Lets valid requests through, with absent parameters set to their default values."""

    def check(self, method: Method) -> Check | None:
        """Return what applies the rules of the method's request type."""
        operation = method.operation
        rules = () if operation is None else compile_rules(operation.method.input_type, item_root(operation))
        return partial(apply_rules, rules) if rules else None


class Rule(NamedTuple):
    """The rule of one field.

    `absent` fills in the default or refuses an absent value; a value whose length lies within `least` and `most` is
    right, any other is what `check` returns. `most` is -1 where length alone decides nothing.
    """

    name: str
    shown: str
    has_presence: bool
    absent: Absent | None
    least: int
    most: int
    check: ValueRule | None


def apply_rules(rules: Iterable[Rule], message: Any, _: object = None, prefix: str = "") -> None:
    """Check the message and fill in its defaults.

    Raises InvalidArgument naming the parameter, behind `prefix`, with what was got and what to write.
    """
    for name, shown_name, has_presence, absent, least, most, check in rules:
        value = getattr(message, name)
        if (not message.HasField(name)) if has_presence else (not value):
            if absent is not None:
                absent(message, prefix)
        elif (most < 0 or not least <= len(value) <= most) and check is not None:
            check(value, prefix + shown_name)


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
    name, has_presence = field.name, field.has_presence
    if is_repeated(field):
        shown_name = items_name if name == "items" and items_name else json_name(field)
        return Rule(name, shown_name, has_presence, _absent(field, shown_name), 0, -1, _list_check(field))
    absent, check = _absent(field, json_name(field)), _value_rule(field)
    if check is None and absent is None:
        return None
    if member(field).required and field.cpp_type in _NUMBERS and not has_presence:
        absent = _zero(check, json_name(field))
    return Rule(name, json_name(field), has_presence, absent, *_sufficient_length(field), check)


def _list_check(field: FieldDescriptor) -> ValueRule:
    options = member(field)
    least, most = options.min_length, options.max_length or DEFAULT_MAX_ELEMENTS
    check = _value_rule(field)

    def check_list(values: Any, path: str) -> None:
        if not least <= len(values) <= most:
            bound = f"at least {least}" if len(values) < least else f"at most {most}"
            raise InvalidArgument(f"{path} has {len(values)} elements; give {bound}", field=path)
        if check is not None:
            for position, value in enumerate(values):
                check(value, f"{path}[{position}]")

    return check_list


def _absent(field: FieldDescriptor, shown_name: str) -> Absent | None:
    """Return what an absent value comes to: its default, or a refusal where it is required."""
    default = None if is_repeated(field) else _default(field)
    if default is not None:
        name = field.name
        return lambda message, _: setattr(message, name, default)
    if not member(field).required:
        return None
    advice = _for_example(field)

    def refuse(_: Any, prefix: str) -> None:
        path = prefix + shown_name
        raise InvalidArgument(f"{path} is required{advice}", field=path)

    return refuse


def _zero(check: ValueRule | None, shown_name: str) -> Absent | None:
    """Return what an unset number comes to that has no presence: its rule, for 0."""
    return None if check is None else lambda _, prefix: check(0, prefix + shown_name)


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
        apply_rules(rules, value, prefix=path + ".")

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
    if options.format in LARGEST_BLOCKS:
        return _block_rule(LARGEST_BLOCKS[options.format])
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


def _block_rule(largest: int) -> ValueRule:
    def check(value: int, path: str) -> None:
        if not LATEST_BLOCK <= value <= largest:
            advice = f"write a block number from 0 to {largest}, or {LATEST_BLOCK} for the newest block"
            raise InvalidArgument(f"{path} is {value}; {advice}", field=path)

    return check


def _sufficient_length(field: FieldDescriptor) -> tuple[int, int]:
    """Return the least and most length of a value that needs no further check; (0, -1) where there is none."""
    options = member(field)
    is_text = field.cpp_type in _TEXTS and field.type != FieldDescriptor.TYPE_BYTES
    # A required text without a format must not be blank.
    if not is_text or options.one_of or options.format in CHECKS or (options.required and not options.format):
        return 0, -1
    return options.min_length, options.max_length or DEFAULT_MAX_CHARACTERS


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
    if member(field).format in LARGEST_BLOCKS and text == "latest":
        return LATEST_BLOCK
    if field.cpp_type in _NUMBERS:
        return int(text)
    return text
