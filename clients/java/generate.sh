#!/bin/sh
# Writes the stubs to gen/, by the compiler and the plugin of pom.xml's versions, which Maven fetches: `sh generate.sh [path of buf]`.
set -eu
cd "$(dirname "$0")"
buf=${1:-buf}
case $(uname -s) in Linux) system=linux ;; Darwin) system=osx ;; *) system=windows ;; esac
case $(uname -m) in arm64 | aarch64) machine=aarch_64 ;; *) machine=x86_64 ;; esac
version() { sed -n "s#.*<$1.version>\(.*\)</$1.version>.*#\1#p" pom.xml; }
fetch() {
    tool=target/tools/$2-$3
    if ! test -x "$tool"; then
        mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy -Dartifact="$1:$2:$3:exe:$system-$machine" -DoutputDirectory=target/tools
        mv "target/tools/$2-$3-$system-$machine.exe" "$tool"
        chmod +x "$tool"
    fi
    ln -sf "$2-$3" "target/tools/$2"
}
fetch com.google.protobuf protoc "$(version protobuf)"
fetch io.grpc protoc-gen-grpc-java "$(version grpc)"
exec "$buf" generate
