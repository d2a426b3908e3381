# Adds numbers up. The input comes on standard input, the output goes to standard output.
set -eu

tr -c '0-9\n' ' ' | awk -v table="$RUNSEAL_ARTIFACTS/running.csv" '
  BEGIN { print "number,sum" > table }
  { for (i = 1; i <= NF; i++) { count++; sum += $i; print $i "," sum > table } }
  END {
    printf "{\"engine\":{\"engine_code\":\"ENGINE_CODE\",\"engine_version\":\"1.0.0\"},"
    printf "\"semantics\":\"DETERMINISTIC_TRANSFORM\",\"outputs\":{\"count\":%d,\"sum\":%d}}", count, sum
  }'
