"""Reads one in-toto statement and validates it by in-toto's own types: the statement, and where it
is SLSA provenance its predicate too. Unknown members are refused.

usage: statement_validate.py < statement
"""
import json
import sys

from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

data = json.load(sys.stdin)
message = statement_pb2.Statement()
json_format.ParseDict(data, message)
Statement.copy_from_pb(message).validate()
if data["predicateType"] == "https://slsa.dev/provenance/v1":
    predicate = provenance_pb2.Provenance()
    json_format.ParseDict(data["predicate"], predicate)
    assert predicate.build_definition.build_type and predicate.run_details.builder.id
    assert predicate.build_definition.resolved_dependencies
