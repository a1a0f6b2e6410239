#!/bin/sh
# Writes the stubs to src/gen, by plugins of these versions, built once into .tools: `sh generate.sh [path of buf]`.
set -eu
cd "$(dirname "$0")"
buf=${1:-buf}
install() {
    test -x ".tools/bin/$1" && .tools/bin/"$1" --version 2>/dev/null | grep -qF "$2" ||
        CARGO_TARGET_DIR=.tools/target cargo install --quiet --debug --locked --root .tools --version "$2" "$1"
}
install protoc-gen-prost 0.5.0
install protoc-gen-tonic 0.5.0
exec "$buf" generate
