#!/bin/sh
# An assessor for `runseal assess` that is a person: shows the intent in $EDITOR's place on the terminal and takes one
# finding by hand. Usage: runseal assess intent.json --with examples/assessors/ask-me.sh
set -eu
intent=$(cat)
{
  printf '%s\n\n' "$intent"
  printf 'Words that are open (copied exactly, empty for none): '
} >/dev/tty
read -r quote </dev/tty
if [ -z "$quote" ]; then
  printf '{"findings":[]}\n'
  exit 0
fi
printf 'What should be asked about them? ' >/dev/tty
read -r message </dev/tty
# JSON strings: backslash and quotation mark escaped.
escape() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }
printf '{"findings":[{"kind":"choice","quotes":["%s"],"message":"%s"}]}\n' "$(escape "$quote")" "$(escape "$message")"
