"""Checks a time stamp reply with rfc3161-client: ROOT.pem REPLY.tsr DATA."""
import sys

from cryptography import x509
from rfc3161_client import VerifierBuilder, decode_timestamp_response

root, reply, data = (open(name, "rb").read() for name in sys.argv[1:4])
verifier = VerifierBuilder().add_root_certificate(x509.load_pem_x509_certificate(root)).build()
try:
    verifier.verify_message(decode_timestamp_response(reply), data)
    print("yes")
except Exception as error:  # whatever it refuses with is a refusal
    print("no", type(error).__name__)
