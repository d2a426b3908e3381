// Reads keyed sigstore bundles, one JSON object a line, and says for each whether the key signed
// it: no logs, no certificates, no timestamps.
//
// usage: node sigstore_verify.js PUBLIC_KEY.pem < bundles
const crypto = require('crypto');
const fs = require('fs');
const readline = require('readline');
const { bundleFromJSON } = require('@sigstore/bundle');
const { Verifier, toSignedEntity } = require('@sigstore/verify');

const publicKey = crypto.createPublicKey(fs.readFileSync(process.argv[2]));
const material = {
  certificateAuthorities: [],
  timestampAuthorities: [],
  tlogs: [],
  ctlogs: [],
  publicKey: () => ({ publicKey, validFor: () => true }),
};
const verifier = new Verifier(material, {
  ctlogThreshold: 0,
  tlogThreshold: 0,
  tsaThreshold: 0,
  timestampThreshold: 0,
});

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  try {
    verifier.verify(toSignedEntity(bundleFromJSON(JSON.parse(line))));
    console.log('yes');
  } catch (error) {
    console.log('no', error.code || error.name);
  }
});
