"""Checks what a release says of its dependencies: check_lists.py BOM.cdx.json SECTION

The bill of materials against CycloneDX's schema, with CycloneDX's own validator; the section .dep-v0 against the bill, package
by package, and for the order that its readers rely on.
"""

import json
import sys
import zlib
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main():
    text = Path(sys.argv[1]).read_text()
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    fault = validator.validate_str(text)
    if fault:
        sys.exit(f"the bill of materials: {fault}")
    bill = json.loads(text)
    # A validator that accepts anything shows nothing.
    if not validator.validate_str(json.dumps({**bill, "components": [{"type": "library"}]})):
        sys.exit("the validator accepts a component without a name")
    listed = {(each["name"], each["version"]) for each in [*bill["components"], bill["metadata"]["component"]]}
    packages = json.loads(zlib.decompress(Path(sys.argv[2]).read_bytes()))["packages"]
    names = [(each["name"], each["version"]) for each in packages]
    if names != sorted(names) or set(names) != listed:
        sys.exit("the list in the program is not the bill's")
    if [each["name"] for each in packages if each.get("root")] != ["runseal-cli"]:
        sys.exit("the list in the program has no root")
    print(f"{len(names)} packages in both")


main()
