#!/bin/sh
# Sweeps a driven damped oscillator: RUN_INPUT.json comes on standard input, RUN_OUTPUT.json goes
# to standard output, the samples go into $RUNSEAL_ARTIFACTS/sweep.csv. Needs sh and awk only.
# The awk program is named in the command, so that its hash is sealed with the run.
set -eu
export LC_ALL=C
exec awk -f "$1"
