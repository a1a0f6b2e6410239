#!/bin/sh
# Installs what serving needs, and nothing else, into an empty folder: `deploy/install.sh /opt/waypost`.
# The Dockerfile runs this, and so can a machine without containers. Needs Python 3.11+ with pip and venv; no compiler, as
# every package comes as a wheel, by its hash.
set -eu

prefix=${1:?give the folder to install into}
python=${PYTHON:-python3}
tree=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)

mkdir -p "$prefix"
if [ -n "$(ls -A "$prefix")" ]; then
    echo "$prefix is not empty: give a new folder, and switch over once it is complete" >&2
    exit 1
fi

"$python" -m venv --without-pip "$prefix/.venv"
"$python" -m pip --python "$prefix/.venv/bin/python" install --quiet --disable-pip-version-check --no-cache-dir \
    --no-deps --require-hashes --only-binary :all: -r "$tree/locks/run.txt"

# The tree as it serves: no devnet, no tests, no tools.
for part in runtime transcoder server cli generated; do
    cp -R "$tree/$part" "$prefix/$part"
done
cp -R "$tree/clients/python/waypost" "$prefix/generated/waypost"
cp "$tree/waypost" "$tree/LICENSE" "$prefix/"
find "$prefix" -name __pycache__ -path "$prefix/[!.]*" -prune -exec rm -rf {} +

# Both roots are found without variables, and compiled here: the folder may be read-only from now on.
packages=$("$prefix/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
printf '%s\n%s\n' "$prefix" "$prefix/generated" > "$packages/waypost-tree.pth"
"$prefix/.venv/bin/python" -m compileall -q --invalidation-mode unchecked-hash \
    "$prefix/runtime" "$prefix/transcoder" "$prefix/server" "$prefix/cli" "$prefix/generated"
# Whoever installs it, and with whatever umask: any user may serve it, only its owner change it.
chmod -R a+rX,go-w "$prefix"
"$prefix/waypost" --version
