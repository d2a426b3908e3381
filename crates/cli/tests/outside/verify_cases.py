"""Verifies a list of cases with the Python package: verify_cases.py CASES.json

Writes a line {"code":…,"text":…} for each case, as the other drivers of the gate do.
"""

import json
import os
import sys

import runseal

with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)
for case in cases:
    os.chdir(case["root"])
    report = runseal.verify(
        case["path"], level=case["level"], trust=case.get("trust"), at=case.get("at")
    )
    print(json.dumps({"code": report.exit_code, "text": report.json + "\n"}))
