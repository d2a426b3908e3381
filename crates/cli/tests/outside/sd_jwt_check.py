"""Verifies an SD-JWT with Python's sd-jwt and prints its claims as JSON.

usage: sd_jwt_check.py PUBLIC_KEY.pem EdDSA|ES256 < token
"""
import json
import sys

from jwcrypto.jwk import JWK
from sd_jwt.verifier import SDJWTVerifier

key = JWK.from_pem(open(sys.argv[1], "rb").read())
token = sys.stdin.read().strip()
verifier = SDJWTVerifier(token, lambda issuer, header: key)
print(json.dumps(verifier.get_verified_payload(), sort_keys=True))
