"""The .proto files of apps compile, are what the gateway serves, and pass buf."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from cli.__main__ import main
from server.marketplace.design import design_app
from server.marketplace.proto_files import file_descriptor, proto_text

if TYPE_CHECKING:
    from server.marketplace.catalogue import Catalogue
    from server.marketplace.proto_files import AppFile


@pytest.fixture(scope="module")
def files(odd_catalogue: Catalogue) -> list[AppFile]:
    return [design_app(app, odd_catalogue) for app in odd_catalogue.apps.values()]


@pytest.fixture(scope="module")
def root(files: list[AppFile], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("protos")
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True)
        path.write_text(proto_text(file))
    (folder / "buf.yaml").write_text("version: v2\nlint:\n  use: [STANDARD, COMMENTS]\n")
    return folder


def test_there_is_an_rpc_for_every_method_that_can_be_called(files: list[AppFile], odd_catalogue: Catalogue) -> None:
    published = {rpc.method.name for file in files for rpc in file.rpcs}
    assert published == {name for name, method in odd_catalogue.methods.items() if not method.is_overloaded}


def test_protoc_makes_the_descriptors_that_are_served(files: list[AppFile], root: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "set.binpb"
    paths = [str(root / file.path) for file in files]
    command = [sys.executable, "-m", "grpc_tools.protoc", "--include_source_info", "-I", str(root), "-o", str(compiled)]
    command += paths
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    descriptors = {file.name: file for file in FileDescriptorSet.FromString(compiled.read_bytes()).file}
    assert len(descriptors) == len(files)
    for file in files:
        built = descriptors[file.path]
        built.ClearField("options")
        served = file_descriptor(file)
        for descriptor in (built, served):
            for message in descriptor.message_type:
                clear_json_names(message)
        assert comments(built) == comments(served)
        for descriptor in (built, served):
            descriptor.ClearField("source_code_info")
        assert built == served


def comments(file: FileDescriptorProto) -> dict[tuple[int, ...], str]:
    """Return the comments of services, rpcs, messages and fields by what they stand above, in one line each."""
    found = {tuple(place.path): " ".join(place.leading_comments.split()) for place in file.source_code_info.location}
    return {path: text for path, text in found.items() if text and len(path) > 1}


def clear_json_names(message: object) -> None:
    """Forget the usual JSON names, which protoc leaves to the reader; the unusual ones stay."""
    for field in message.field:  # type: ignore[attr-defined]
        first, *others = field.name.split("_")
        if field.json_name == first + "".join(word.capitalize() for word in others):
            field.ClearField("json_name")
    for nested in message.nested_type:  # type: ignore[attr-defined]
        clear_json_names(nested)


@pytest.mark.parametrize("command", [["lint"], ["format", "--diff", "--exit-code"]], ids=["lint", "format"])
def test_buf_has_nothing_to_say(command: list[str], root: Path) -> None:
    buf = str(Path(sys.executable).with_name("buf"))
    done = subprocess.run([buf, *command], cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_command_prints_the_file(catalogue: Catalogue, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apps", "proto", "oneinch"]) == 0
    printed = capsys.readouterr().out
    assert printed == proto_text(design_app(catalogue.apps["oneinch"], catalogue))
    assert printed.count("  rpc ") == 18
    assert main(["apps", "proto", "oneinc"]) == 1
    assert "did you mean oneinch?" in capsys.readouterr().err
    assert main(["apps", "proto", "zzz"]) == 1
    assert "apps are: cbeth, erc20" in capsys.readouterr().err
