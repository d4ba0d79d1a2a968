#!/usr/bin/env bash
# Writes the stubs of proto/ into src/generated/java, or into the directory that is given (to compare).
# protoc and its plugin come from Maven Central, at the versions of pom.xml: the protoc of grpcio-tools has no generator for Java.
# Of grpcio-tools are the .proto files of google.protobuf (PERDURE_PYTHON, default ../../.venv/bin/python).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-$here/src/generated/java}")
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) platform=linux-x86_64 ;;
  Linux-aarch64) platform=linux-aarch_64 ;;
  Darwin-*) platform=osx-universal_binary ;;
  *) echo "generate.sh: no protoc for $(uname -s) on $(uname -m)" >&2; exit 1 ;;
esac

version_of() { sed -n "s|.*<$1.version>\(.*\)</$1.version>.*|\1|p" "$here/pom.xml"; }

tool() { # tool ARTIFACT VERSION: the path of an executable
  local path=$here/target/protoc/${1#*:}-$2-$platform.exe
  if [ ! -e "$path" ]; then
    (cd "$here" && mvn -B -q dependency:copy "-Dartifact=$1:$2:exe:$platform" -DoutputDirectory=target/protoc >&2)
  fi
  chmod +x "$path"
  echo "$path"
}

protoc=$(tool com.google.protobuf:protoc "$(version_of protobuf)")
plugin=$(tool io.grpc:protoc-gen-grpc-java "$(version_of grpc)")
python=${PERDURE_PYTHON:-$here/../../.venv/bin/python}
well_known=$("$python" -c 'import grpc_tools, pathlib; print(pathlib.Path(grpc_tools.__file__).parent / "_proto")')
rm -rf "$out"
mkdir -p "$out"
cd "$here/../../proto"
mapfile -t files < <(find perdure -name '*.proto' | LC_ALL=C sort)
# proto/google has the types of google.rpc; in Java they come from proto-google-common-protos.
"$protoc" -I . -I "$well_known" --java_out="$out" --plugin=protoc-gen-grpc-java="$plugin" --grpc-java_out="@generated=omit:$out" "${files[@]}"
