"""Rules that every message, rpc and option of the public surface keeps (design section 4, decisions section 2)."""

from __future__ import annotations

import json
import keyword
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_utils.address import is_checksum_address
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from waypost.options.v1 import options_pb2

from runtime.operations import literal, load_operations, load_watches, member, public_files
from tests.each import each

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
# The slugs of contract section 2.3.
CHAINS = {line.split()[0] for line in (ROOT / "tests" / "golden" / "chains.txt").read_text().splitlines()}
GRPC_ONLY = "waypost/v1/batch.proto"
# Classes of java.lang with names that a message could have.
JAVA_LANG = """
    Boolean Byte Character Class ClassLoader Cloneable Comparable Deprecated Double Enum Error Exception Float Integer
    Iterable Long Math Module ModuleLayer Number Object Override Package Process Readable Record Runnable Runtime Short
    String System Thread Throwable Void
"""
NUMERIC: dict[int, Any] = {
    FieldDescriptor.CPPTYPE_INT32: int,
    FieldDescriptor.CPPTYPE_INT64: int,
    FieldDescriptor.CPPTYPE_UINT32: int,
    FieldDescriptor.CPPTYPE_DOUBLE: (int, float),
}


@cache
def commented() -> tuple[tuple[str, str, str], ...]:
    """Return (file, what, comment) for everything in waypost.v1 that buf's image carries a place for."""
    files = descriptor_pb2.FileDescriptorSet.FromString((ROOT / "generated" / "descriptors.binpb").read_bytes())
    return tuple(
        (file.name, ".".join(map(str, place.path)), place.leading_comments.strip())
        for file in files.file
        if file.name.startswith("waypost/")
        for place in file.source_code_info.location
        if place.path and is_declaration(list(place.path))
    )


def is_declaration(path: list[int]) -> bool:
    """Whether a source path is a message, field, oneof, enum, enum value, service or rpc."""
    kinds = {(4,), (4, 2), (4, 8), (4, 3), (4, 4), (5,), (5, 2), (4, 4, 2), (6,), (6, 2)}
    return len(path) % 2 == 0 and tuple(path[::2]) in kinds


def methods() -> Iterator[MethodDescriptor]:
    for file in public_files():
        for service in file.services_by_name.values():
            yield from service.methods


def messages() -> list[Descriptor]:
    """Return the messages of both faces; those of batches over gRPC are no JSON."""
    return [
        message for file in public_files() if file.name != GRPC_ONLY for message in file.message_types_by_name.values()
    ]


def fields() -> list[FieldDescriptor]:
    return [
        field for message in messages() if not message.file.name.endswith("options.proto") for field in message.fields
    ]


def reached(message: Descriptor, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every chain of message types below `message`, ending where one repeats."""
    chain = (*above, message.full_name)
    yield chain
    if message.full_name not in above:
        for field in message.fields:
            if field.message_type is not None:
                yield from reached(field.message_type, chain)


def requests() -> list[Descriptor]:
    found = []
    for operation in (*load_operations(), *load_watches()):
        found.append(operation.request.DESCRIPTOR)
        if operation.takes_items:
            found.append(operation.request.DESCRIPTOR.fields_by_name["items"].message_type)
    return found


def request_fields() -> list[FieldDescriptor]:
    return [field for request in requests() for field in request.fields]


def name_of(field: FieldDescriptor) -> str:
    return str(field.full_name)


def test_everything_has_a_comment_that_is_a_sentence() -> None:
    assert len(commented()) > 1200
    for file, path, text in commented():
        assert len(text) >= 5, f"{file} {path} has no comment"
        assert text.rstrip().endswith((".", ":")), f"{file}: {text!r} is no sentence"


def test_comments_name_no_section_and_the_page_of_sections_every_operation() -> None:
    assert not [text for file, _, text in commented() if file.startswith("waypost/v1/") and "contract section" in text]
    page = (ROOT / "docs" / "contract.md").read_text()
    assert not [operation.name for operation in load_operations() if f"`{operation.name}`" not in page]


def test_rpc_comments_say_what_they_return_and_when_to_use_them() -> None:
    image = descriptor_pb2.FileDescriptorSet.FromString((ROOT / "generated" / "descriptors.binpb").read_bytes())
    for file in image.file:
        if not file.name.startswith("waypost/v1/"):
            continue
        for place in file.source_code_info.location:
            if len(place.path) == 4 and place.path[0] == 6 and place.path[2] == 2:
                text = " ".join(place.leading_comments.split())
                assert text.startswith(("Returns ", "Sends ")), text
                assert ". Use it " in text, text


def test_the_comment_says_of_exactly_the_long_answers_that_they_may_be_long() -> None:
    image = descriptor_pb2.FileDescriptorSet.FromString((ROOT / "generated" / "descriptors.binpb").read_bytes())
    said = {
        f"/{file.package}.{service.name}/{service.method[place.path[3]].name}"
        for file in image.file
        for place in file.source_code_info.location
        if len(place.path) == 4 and place.path[0] == 6 and place.path[2] == 2
        for service in (file.service[place.path[1]],)
        if "An answer may be longer than 4 MiB." in " ".join(place.leading_comments.split())
    }
    assert said == {operation.path for operation in load_operations() if operation.options.large_response}
    # What holds whole blocks, transactions, logs, code or a node's own answers.
    assert {path.rpartition("/")[2] for path in said} == {
        "CallMethod",
        "ChainRpc",
        "GetBlockByHash",
        "GetBlockByNumber",
        "GetBlockResults",
        "GetBlockTransactions",
        "GetLogs",
        "GetNftMetadata",
        "GetReceipt",
        "GetTransactionByHash",
        "SimulateCall",
        "TraceTransaction",
    }


@each(methods(), name=lambda method: method.full_name)
def test_an_rpc_reads_only_and_owns_its_messages(method: MethodDescriptor) -> None:
    assert method.GetOptions().idempotency_level == descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS
    assert method.input_type.name == method.name + "Request"
    assert method.output_type.name == method.name + "Response"
    used = [field.message_type.name for field in fields() if field.message_type is not None]
    assert method.input_type.name not in used
    assert method.output_type.name not in used
    path = f"/{method.containing_service.full_name}/{method.name}"
    is_operation = path in {one.path for one in (*load_operations(), *load_watches())}
    assert method.server_streaming == method.name.startswith("Watch")
    assert not method.client_streaming
    assert is_operation == (method.containing_service.file.name != GRPC_ONLY)


def test_no_message_contains_itself() -> None:
    for message in messages():
        for chain in reached(message):
            assert chain[-1] not in chain[:-1], " > ".join(chain)


def test_arbitrary_json_is_native_json_only() -> None:
    allowed = {"google.protobuf.Timestamp"}
    for field in fields():
        if field.message_type is not None and not field.message_type.full_name.startswith("waypost.v1."):
            assert field.message_type.full_name in allowed, name_of(field)
        assert field.cpp_type != FieldDescriptor.CPPTYPE_FLOAT, name_of(field)


def test_names_and_aliases_are_unique() -> None:
    everything = (*load_operations(), *load_watches())
    names = Counter(name for operation in everything for name in (operation.name, *operation.aliases))
    assert not [name for name, times in names.items() if times > 1]
    patterns = [name[:-1] for name in names if name.endswith("*")]
    assert patterns == ["svc_"]
    assert not [name for name in names if name.startswith("svc_") and name != "svc_*"]


def test_literals_of_an_enum_are_unique_and_all_written() -> None:
    for file in public_files():
        for enum in file.enum_types_by_name.values():
            if file.name.endswith("options.proto"):
                continue
            texts = Counter(text for value in enum.values for text in (literal(value).wire, *literal(value).aliases))
            assert texts.pop("") == 1, f"{enum.name}: only the zero value has no literal"
            assert set(texts.values()) == {1}, enum.name


def test_operations_name_families_chains_group_and_what_is_built() -> None:
    for operation in (*load_operations(), *load_watches()):
        assert operation.options.group, operation.name
        assert operation.families, operation.name
        assert operation.available <= operation.families, operation.name
        assert set(operation.chains) <= CHAINS, operation.name
        assert len(operation.chains) == len(set(operation.chains)), operation.name
        assert ("chainless" in operation.families) <= (operation.families == {"chainless"}), operation.name


def test_the_http_status_comes_from_an_enum_of_the_response() -> None:
    named = [operation for operation in load_operations() if operation.options.http_status_from]
    assert [operation.name for operation in named] == ["getChainHealth"]
    for operation in named:
        enum = operation.response.DESCRIPTOR.fields_by_name[operation.options.http_status_from].enum_type
        assert {literal(value).wire: literal(value).http_status for value in enum.values[1:]} == {
            "ok": 0,
            "degraded": 503,
            "down": 503,
        }


@each(request_fields(), name=name_of)
def test_a_parameter_has_an_example_and_shows_whether_it_was_given(field: FieldDescriptor) -> None:
    options = member(field)
    if field.name == "cursor":
        # What a stream wrote: there is none that anybody could write, and an empty one is none.
        assert (options.example, field.has_presence) == ("", False)
        return
    assert options.example, "no example"
    check_example(json.loads(options.example), field)
    if options.mainnet_example:
        check_example(json.loads(options.mainnet_example), field)
        assert options.mainnet_example != options.example
    single = field.label != FieldDescriptor.LABEL_REPEATED
    # AIP-158: of a page's size and token, zero and an empty text mean that there is none.
    is_page = field.name in ("page_size", "page_token")
    if is_page:
        assert not field.has_presence
    elif single and options.required and field.message_type is None:
        assert not field.has_presence, "a request without it is wrong"
    elif single and field.enum_type is None:
        assert field.has_presence, "0 or an empty text could not be told from none"
    assert not (options.required and options.default_value)
    assert not options.nullable
    assert not options.inline
    if options.csv:
        assert not single
    if options.HasField("min") and options.HasField("max"):
        assert options.min < options.max


def check_example(value: Any, field: FieldDescriptor) -> None:
    options = member(field)
    if field.label == FieldDescriptor.LABEL_REPEATED and isinstance(value, list):
        assert value
        for element in value:
            if field.message_type is None:
                check_scalar(element, field)
            else:
                assert set(element) == {inner.json_name for inner in field.message_type.fields}
    elif field.message_type is None:
        check_scalar(value, field)
    if options.one_of:
        assert str(value) in options.one_of


def check_scalar(value: Any, field: FieldDescriptor) -> None:
    form = member(field).format
    if form in (options_pb2.FORMAT_BLOCK, options_pb2.FORMAT_HEX_BLOCK):
        assert isinstance(value, int) or value == "latest"
    elif field.cpp_type in NUMERIC:
        assert isinstance(value, NUMERIC[field.cpp_type])
    elif field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        assert isinstance(value, bool)
    elif field.enum_type is not None:
        assert value in {t for v in field.enum_type.values for t in (literal(v).wire, *literal(v).aliases)}
    elif form == options_pb2.FORMAT_CURSOR:
        assert isinstance(value, (int, str))
    else:
        assert isinstance(value, str)
    if form == options_pb2.FORMAT_CHAIN:
        assert value in CHAINS
    if form == options_pb2.FORMAT_EVM_ADDRESS:
        assert is_checksum_address(value)


@each(fields(), name=name_of)
def test_field_options_fit_the_field(field: FieldDescriptor) -> None:
    options = member(field)
    timed = field.message_type is not None and field.message_type.name == "Timestamp"
    assert timed == (options.format in (options_pb2.FORMAT_RFC3339, options_pb2.FORMAT_UNIX_SECONDS))
    assert not options.nullable or field.has_presence or field.type == FieldDescriptor.TYPE_STRING
    assert not options.inline or field.message_type is not None
    assert not (options.inline and options.nullable)
    assert not keyword.iskeyword(field.name), "Python stubs would drop it"
    assert bool(options.children) == (options.format == options_pb2.FORMAT_TREE)
    if options.format == options_pb2.FORMAT_TREE:
        parent = field.message_type.fields_by_name["parent"]
        assert field.label == FieldDescriptor.LABEL_REPEATED
        assert parent.has_presence
        assert options.children not in {inner.json_name for inner in field.message_type.fields}


def printed(message: Descriptor, choice: FieldDescriptor | None = None) -> list[str]:
    """Return the member names that one variant of the message prints in its own object."""
    names: list[str] = []
    for field in message.fields:
        oneof = field.containing_oneof
        if oneof is not None and len(oneof.fields) > 1 and field is not choice:
            continue
        if not member(field).inline:
            names.append(field.json_name)
        elif field.message_type.name != "NativeJson" and not field.message_type.GetOptions().map_entry:
            names += printed(field.message_type)
    return names


def is_outcome(field: FieldDescriptor) -> bool:
    return field.containing_oneof is not None and field.containing_oneof.name == "outcome"


@each(messages(), name=lambda message: message.full_name)
def test_a_row_has_a_value_or_an_error(message: Descriptor) -> None:
    if not any(field.message_type is not None and field.message_type.name == "RowError" for field in message.fields):
        return
    [outcome] = [oneof for oneof in message.oneofs if oneof.name == "outcome"]
    assert [field.name for field in outcome.fields] == ["value", "error"]
    assert outcome.fields[1].message_type.name == "RowError"
    assert not member(outcome.fields[1]).inline


@each(messages(), name=lambda message: message.full_name)
def test_members_printed_in_one_object_have_different_names(message: Descriptor) -> None:
    choices = [field for oneof in message.oneofs for field in oneof.fields if len(oneof.fields) > 1] or [None]
    for choice in choices:
        names = Counter(printed(message, choice))
        assert not [name for name, times in names.items() if times > 1]
    assert all(member(choice).inline for choice in choices if choice is not None and not is_outcome(choice))
    natives = [field for field in message.fields if member(field).inline and field.message_type.name == "NativeJson"]
    assert natives in ([], list(message.fields)[-1:]), "the node's own members come last"


def test_operations_of_several_items_take_items_and_answer_rows() -> None:
    listed = [operation for operation in load_operations() if operation.takes_items]
    assert {operation.name for operation in listed} == {
        "getBlockByNumber",
        "getBlockByHash",
        "getTransactionByHash",
        "getPrices",
    }
    for operation in listed:
        (items,) = operation.request.DESCRIPTOR.fields
        assert (items.name, member(items).max_length, member(items).required) == ("items", 50, True)
        rows = operation.response.DESCRIPTOR.fields_by_name["results"].message_type
        assert "outcome" in rows.oneofs_by_name
        assert operation.response.DESCRIPTOR.fields_by_name["count"].cpp_type == FieldDescriptor.CPPTYPE_INT32


def test_results_that_are_a_bare_value_have_one_field() -> None:
    for operation in load_operations():
        if operation.options.result == options_pb2.RESULT_SHAPE_DATA_FIELD:
            assert len(operation.response.DESCRIPTOR.fields) == 1, operation.name


def test_files_name_their_package_in_every_language() -> None:
    outer = set()
    for file in public_files():
        options = descriptor_pb2.FileOptions.FromString(file.GetOptions().SerializeToString())
        assert options.go_package == "github.com/waypost/waypost/clients/go/waypost/v1;waypostv1", file.name
        assert (options.java_package, options.java_multiple_files) == ("dev.waypost.v1", True), file.name
        assert options.java_outer_classname.endswith("Proto"), f"{file.name}: the class could hide one of java.lang"
        assert (options.csharp_namespace, options.php_namespace) == ("Waypost.V1", "Waypost\\V1"), file.name
        assert (options.ruby_package, options.swift_prefix) == ("Waypost::V1", "WaypostV1"), file.name
        assert options.objc_class_prefix == "WPT", file.name
        outer.add(options.java_outer_classname)
    assert len(outer) == len(public_files())
    assert not outer & {message.name for file in public_files() for message in file.message_types_by_name.values()}


def test_no_message_or_enum_hides_a_name_that_java_imports_by_itself() -> None:
    for file in public_files():
        for name in (*file.message_types_by_name, *file.enum_types_by_name):
            assert name not in JAVA_LANG.split(), name
