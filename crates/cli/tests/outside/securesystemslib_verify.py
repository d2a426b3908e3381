"""Reads DSSE envelopes, one JSON object a line, and says for each whether the key signed it.

usage: securesystemslib_verify.py ed25519|ecdsa PUBLIC_KEY.pem < envelopes
"""
import json
import sys

from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

scheme, keytype = {
    "ed25519": ("ed25519", "ed25519"),
    "ecdsa": ("ecdsa-sha2-nistp256", "ecdsa"),
}[sys.argv[1]]
pem = open(sys.argv[2]).read()
if keytype == "ed25519":
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_pem_public_key,
    )

    raw = load_pem_public_key(pem.encode()).public_bytes(Encoding.Raw, PublicFormat.Raw)
    keyval = {"public": raw.hex()}
else:
    keyval = {"public": pem}

for line in sys.stdin:
    try:
        data = json.loads(line)
        keyid = data["signatures"][0].get("keyid", "k")
        key = SSlibKey(keyid, keytype, scheme, keyval)
        Envelope.from_dict(data).verify([key], 1)
        print("yes")
    except Exception as error:  # whatever it refuses with is a refusal
        print("no", type(error).__name__)
