"""Validates RO-Crates with rocrate-validator, without a network.

    python ro_crate_validate.py SEVERITY CRATE...

Prints a JSON list a crate: of the check and message of each issue. The one thing that validation would fetch,
RO-Crate's JSON-LD context, is taken from the package `rocrate`; anything else that is asked for is an error.
"""

import json
import sys
from pathlib import Path

import requests
import rocrate
from rocrate_validator import services
from rocrate_validator.models import Severity
from rocrate_validator.utils.http import HttpRequester

CONTEXT = Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld"


def get(_, url, **_options):
    if url != "https://w3id.org/ro/crate/1.1/context":
        raise RuntimeError(f"nothing is fetched, and {url} is not at hand")
    response = requests.Response()
    response.status_code = 200
    response.headers["Content-Type"] = "application/ld+json"
    response._content = CONTEXT.read_bytes()
    return response


HttpRequester.get = get


def issues_of(crate, severity):
    settings = services.ValidationSettings(
        rocrate_uri=crate,
        profile_identifier="process-run-crate",
        requirement_severity=severity,
        skip_availability_check=True,
    )
    result = services.validate(settings)
    return [[issue.check.identifier, issue.message] for issue in result.get_issues()]


severity = getattr(Severity, sys.argv[1].upper())
print(json.dumps([issues_of(crate, severity) for crate in sys.argv[2:]]))
