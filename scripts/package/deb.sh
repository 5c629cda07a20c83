#!/bin/sh
# deb.sh FOLDER - a Debian package of what `make install DESTDIR=FOLDER/root PREFIX=/usr` has put there:
# FOLDER/dimscope_VERSION_ARCHITECTURE.deb. The same tree gives the same bytes: files have the time of
# the last commit ($SOURCE_DATE_EPOCH if that is set).
set -e
folder=$1
root=$folder/root
version=$(sed -n 's/.*DIMSCOPE_VERSION "\(.*\)"/\1/p' core/base/version.h)
architecture=$(dpkg --print-architecture)
here=$(dirname "$0")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)}
export SOURCE_DATE_EPOCH

# Policy: programs without debugging symbols, pages and changes compressed, one file of licences.
strip --remove-section=.comment --remove-section=.note "$root/usr/bin/dimscope"
for library in "$root"/usr/lib/dimscope/*.so; do
    [ ! -e "$library" ] || { strip --strip-unneeded "$library" && chmod 644 "$library"; }
done
docs=$root/usr/share/doc/dimscope
rm -f "$docs/LICENSE"
cp "$here/copyright" "$docs/copyright"
sed "s/VERSION/$version/; s/DATE/$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")/" "$here/changelog" \
    >"$docs/changelog"
gzip -9n "$docs/changelog" "$root"/usr/share/man/man*/*
chmod 644 "$docs"/* "$root"/usr/share/man/man*/*
find "$root/usr/share/dimscope" -type f -exec chmod 644 {} +

# What it needs is read off the program; what the runners in libraries need is only suggested.
mkdir -p "$folder/debian" "$root/DEBIAN"
cp "$here/control" "$folder/debian/control"
(
    cd "$folder"
    libraries=$(ls root/usr/lib/dimscope/*.so 2>/dev/null || true)
    dpkg-shlibdeps -O root/usr/bin/dimscope ${libraries:+-dSuggests $libraries} 2>/dev/null
) >"$folder/needs"
size=$(du -ks --apparent-size "$root/usr" | cut -f1)
{
    sed -n '/^Package:/,$p' "$here/control" | sed '/^Description:/,$d' | sed "s/^Architecture: .*/Architecture: $architecture/"
    echo "Version: $version"
    sed -n 's/^Source: .*//; s/^\(Maintainer\|Section\|Priority\|Homepage\): /&/p' "$here/control"
    echo "Installed-Size: $size"
    sed -n 's/^shlibs:Depends=/Depends: /p; s/^shlibs:Suggests=/Suggests: openmpi-bin, /p' "$folder/needs"
    echo "Recommends: graphviz"
    sed -n '/^Description:/,$p' "$here/control"
} >"$root/DEBIAN/control"
(cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$folder/dimscope_${version}_$architecture.deb" >/dev/null
echo "$folder/dimscope_${version}_$architecture.deb"
