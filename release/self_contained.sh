#!/bin/sh
# Makes the self-contained folder in an image without tools, from a wheel: release/self_contained.sh WHEELHOUSE OUT
# AlmaLinux 8 gives one for glibc 2.28 and later, Alpine one for musl; their Pythons have the shared library that it needs.
set -eu
wheels=$1 out=$2
if [ -f /etc/alpine-release ]; then
    apk add --quiet binutils gcc musl-dev python3 python3-dev
    python=python3 platform=musllinux
else
    dnf install --quiet --assumeyes binutils gcc python3.12 python3.12-devel
    python=python3.12 platform=manylinux
fi
"$python" -m venv /tmp/venv
/tmp/venv/bin/python -m pip install --quiet isal "$wheels"/*"$platform"*"$(uname -m)".whl -r .ci/release.txt
/tmp/venv/bin/python -m tools.self_contained "$out"
