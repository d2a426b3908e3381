"""Adds numbers up. The input comes on standard input, the output goes to standard output."""
import csv
import json
import os
import sys

numbers = json.load(sys.stdin)["numbers"]

total = 0
with open(os.path.join(os.environ["RUNSEAL_ARTIFACTS"], "running.csv"), "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["number", "sum"])
    for number in numbers:
        total += number
        rows.writerow([number, total])

json.dump(
    {
        "engine": {"engine_code": "ENGINE_CODE", "engine_version": "1.0.0"},
        "semantics": "DETERMINISTIC_TRANSFORM",
        "outputs": {"count": len(numbers), "sum": total},
    },
    sys.stdout,
)
