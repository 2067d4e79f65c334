#!/bin/sh
# Makes a package for Debian and Ubuntu of a self-contained folder for glibc: release/deb.sh FOLDER OUT
set -eu
version=$(basename "$1" | cut -d- -f2)
package=kafka-kdump_${version}_$(dpkg --print-architecture)
root=$(mktemp -d)/$package
mkdir -p "$root/DEBIAN" "$root/opt" "$root/usr/bin" "$root/usr/share/doc/kafka-kdump" "$2"
cp -r "$1" "$root/opt/kafka-kdump"
mv "$root/opt/kafka-kdump/LICENSE" "$root/usr/share/doc/kafka-kdump/copyright"
mv "$root"/opt/kafka-kdump/share/* "$root/usr/share/"
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions" # where Debian's zsh looks
gzip --best --no-name "$root"/usr/share/man/man1/*
rmdir "$root/opt/kafka-kdump/share"
ln -s /opt/kafka-kdump/kdump "$root/usr/bin/kdump"
cat >"$root/DEBIAN/control" <<CONTROL
Package: kafka-kdump
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The kdump maintainers <maintainers@example.invalid>
Installed-Size: $(du -sk "$root" | cut -f1)
Depends: libc6 (>= 2.28)
Section: utils
Priority: optional
Description: read Apache Kafka's files on disk
 kdump prints what kafka-dump-log.sh prints, without a JVM, and checks,
 forecasts, searches and recovers what brokers have stored. It brings its
 own Python.
CONTROL
dpkg-deb --root-owner-group --build "$root" "$2/$package.deb"
