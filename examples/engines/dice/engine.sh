#!/bin/sh
# Gives another number every time. `rolls` is read only to show that the input arrives.
set -eu
rolls=$(tr -cd 0-9)
seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
printf '{"engine":{"engine_code":"DICE","engine_version":"1.0.0"},"semantics":"RAW_TRUTH",'
printf '"outputs":{"rolls":%s,"seed":%s}}' "$rolls" "$seed"
