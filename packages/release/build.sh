# Builds the program of a release; sourced by .ci/release, which sets `profile`, `features` and `work`.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by whoever sources this

# Whether `target` can be built here; says why not in `reason`.
has_compiler() { # TARGET
  reason=""
  if [ ! -e "$("${RUSTC:-rustc}" --print target-libdir --target "$1" 2>/dev/null)" ]; then
    reason="rustc has no standard library for it: rustup target add $1"
  elif ! command -v "$(tool_prefix "$1")gcc" >/dev/null 2>&1; then
    reason="there is no $(tool_prefix "$1")gcc to link with: apt-get install gcc-${1%%-*}-linux-gnu"
  fi
  [ -z "$reason" ]
}

# What the names of the C compiler and its tools begin with.
tool_prefix() { # TARGET
  [ "${1%%-*}" = "$(uname -m)" ] || printf '%s-linux-gnu-' "${1%%-*}"
}

# One static, position-independent program, with the list of its dependencies in the section .dep-v0.
build_program() { # TARGET PROGRAM
  local folder="${CARGO_TARGET_DIR:-$PWD/target}" home="${CARGO_HOME:-$HOME/.cargo}" prefix upper encoded
  prefix="$(tool_prefix "$1")"
  # Where the sources of dependencies lie is replaced below, so they have to lie there.
  cargo fetch --quiet --locked --target "$1"
  local flags=(-C target-feature=+crt-static) maps=("$folder=/target" "$PWD=/runseal")
  local registry
  for registry in "$home"/registry/src/*; do maps+=("$registry=/crates"); done
  maps+=("$home=/cargo")
  local map c_flags=""
  # The compilers take the last prefix that fits, so the longest come last.
  while IFS= read -r map; do
    flags+=("--remap-path-prefix=$map")
    c_flags+=" -ffile-prefix-map=$map"
  done < <(printf '%s\n' "${maps[@]}" | awk '{ print length($0) - length(substr($0, index($0, "="))), $0 }' |
    sort -n | cut -d' ' -f2-)
  upper="$(printf '%s' "$1" | tr 'a-z-' 'A-Z_')"
  encoded="$(printf '%s\x1f' "${flags[@]}")"
  env -u RUSTFLAGS \
    CARGO_ENCODED_RUSTFLAGS="${encoded%$'\x1f'}" \
    CARGO_INCREMENTAL=0 \
    CARGO_TARGET_DIR="$folder" \
    "CARGO_TARGET_${upper}_LINKER=${prefix}gcc" \
    "CC_${1//-/_}=${prefix}gcc" \
    "CFLAGS_${1//-/_}=${c_flags# }" \
    cargo build --quiet --locked -p runseal-cli --bin runseal --features "$features" --profile "$profile" --target "$1"
  python3 packages/release/describe.py audit "$work/dependencies" --target "$1" --features "$features"
  "${prefix}objcopy" --strip-all --add-section .dep-v0="$work/dependencies" --set-section-flags .dep-v0=noload,readonly \
    "$folder/$1/$profile/runseal" "$2"
  chmod 755 "$2"
}
