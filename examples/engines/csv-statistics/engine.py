"""Statistics of the numeric columns of a CSV text.

RUN_INPUT.json comes on standard input, RUN_OUTPUT.json goes to standard output, a table for people
into the folder RUNSEAL_ARTIFACTS. The CSV text is in the input, or is an artifact of another
engine's run below RUNSEAL_UPSTREAM. Only the standard library is used.
"""

import csv
import io
import json
import os
import statistics
import sys


def find_upstream(name):
    found = []
    for folder, _, files in sorted(os.walk(os.environ.get("RUNSEAL_UPSTREAM", "/upstream"))):
        if name in files:
            found.append(os.path.join(folder, name))
    if len(found) != 1:
        sys.exit(f"{len(found)} upstream artifacts are called {name}, not one")
    with open(found[0], encoding="utf-8", newline="") as file:
        return file.read()


def numbers_of(rows, column):
    cells = [(row.get(column) or "").strip() for row in rows]
    try:
        return [float(cell) for cell in cells if cell]
    except ValueError:
        return []


def describe(numbers):
    return {
        "count": len(numbers),
        "mean": round(statistics.fmean(numbers), 9),
        "minimum": min(numbers),
        "maximum": max(numbers),
        "median": statistics.median(numbers),
        "standard_deviation": round(statistics.pstdev(numbers), 9),
    }


def main():
    inputs = json.load(sys.stdin)["inputs"]
    text = inputs["csv"] if "csv" in inputs else find_upstream(inputs["upstream_csv"])
    reader = csv.DictReader(io.StringIO(text))
    rows = list(reader)
    columns = {}
    for column in inputs.get("columns", reader.fieldnames or []):
        numbers = numbers_of(rows, column)
        if numbers:
            columns[column] = describe(numbers)
    with open(os.path.join(os.environ["RUNSEAL_ARTIFACTS"], "statistics.md"), "w") as table:
        table.write("| column | count | mean | median |\n|---|---|---|---|\n")
        for name, one in sorted(columns.items()):
            table.write(f"| {name} | {one['count']} | {one['mean']} | {one['median']} |\n")
    json.dump(
        {
            "engine": {"engine_code": "CSV_STATISTICS", "engine_version": "1.0.0"},
            "semantics": "RAW_TRUTH",
            "outputs": {"rows": len(rows), "columns": columns},
        },
        sys.stdout,
    )


main()
