#!/bin/sh
# Installs the wheel for this machine into a new environment, as a user does, and compares README's screens: release/try_wheel.sh WHEELHOUSE
set -eu
case $(uname -s) in
Darwin) wheel=$(ls "$1"/*macosx*"$(uname -m)".whl) ;;
*) if [ -f /etc/alpine-release ]; then libc=musllinux; else libc=manylinux; fi && wheel=$(ls "$1"/*"$libc"*"$(uname -m)".whl) ;;
esac
folder=$(mktemp -d)
python3 -m venv "$folder"
if [ -f /etc/alpine-release ]; then # as docs/install.md says where there is no lz4
    "$folder/bin/python" -m pip install --quiet click cramjam crc32c rich zstandard
    "$folder/bin/python" -m pip install --quiet --no-deps python-snappy "$wheel"
else
    "$folder/bin/python" -m pip install --quiet --only-binary :all: "$wheel"
fi
export KDUMP_KERNEL=c # or it fails
"$folder/bin/kdump" --version --verbose
"$folder/bin/python" -B -m tools.screens --program "$folder/bin/kdump"
