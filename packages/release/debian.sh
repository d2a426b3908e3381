# Makes the Debian package of a release; sourced by .ci/release, which sets `version`, `work` and `output`.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by whoever sources this

make_debian_package() { # MACHINE FOLDER, as it is in the archive
  local architecture root name page size
  case "$1" in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *)
      echo "Debian's name of $1 is not known here" >&2
      return 1
      ;;
  esac
  name="runseal_${version}_$architecture"
  root="$work/$name"
  local documents="$root/usr/share/doc/runseal"
  mkdir -p "$root/DEBIAN" "$documents" "$root/usr/share/lintian/overrides"
  cp -r "$2/bin" "$2/share" "$root/usr/"
  # Debian looks for completions of zsh and fish in folders of its own.
  mkdir -p "$root/usr/share/zsh/vendor-completions"
  mv "$root/usr/share/zsh/site-functions/_runseal" "$root/usr/share/zsh/vendor-completions/_runseal"
  rmdir "$root/usr/share/zsh/site-functions"
  for page in "$root/usr/share/man/man1/"*.1; do gzip -9n "$page"; done
  cp "$2/README.md" "$2/SECURITY.md" "$documents/"
  gzip -9n <"$2/CHANGELOG.md" >"$documents/NEWS.gz"
  gzip -9n <"$2/THIRD-PARTY-LICENSES.txt" >"$documents/THIRD-PARTY-LICENSES.txt.gz"
  cp packages/release/debian/copyright "$documents/copyright"
  mkdir -p "$root/usr/share/runseal"
  cp packages/release/debian/apparmor "$root/usr/share/runseal/apparmor"
  install -m 755 packages/release/debian/postinst packages/release/debian/postrm "$root/DEBIAN/"
  cp packages/release/debian/overrides "$root/usr/share/lintian/overrides/runseal"
  printf 'runseal (%s) unstable; urgency=medium\n\n  * Release %s; NEWS.gz says what it brings.\n\n -- %s  %s\n' \
    "$version" "$version" "$(sed -n 's/^Maintainer: //p' packages/release/debian/control)" \
    "$(date --utc --date="@$SOURCE_DATE_EPOCH" --rfc-email)" | gzip -9n >"$documents/changelog.gz"
  find "$root/usr" -type f ! -path "$root/usr/bin/*" -exec chmod 644 {} +
  # Kilobytes of the files themselves: what a folder takes differs between file systems.
  size="$(find "$root/usr" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')"
  sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" \
    packages/release/debian/control >"$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$root" "$output/$name.deb" >/dev/null
}
