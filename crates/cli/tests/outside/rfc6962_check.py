"""An independent check of proofs and checkpoints, written from RFC 6962 (2.1), C2SP's signed-note,
tlog-checkpoint and tlog-proof, with no code of ours. Ed25519 is the `cryptography` package's, where it
is there.

usage: rfc6962_check.py PROOF ENTRIES [VKEY]
  recomputes the tree over the lines of ENTRIES by the RFC's recursive definition, checks that the
  proof's checkpoint has that root, that its path is the RFC's PATH(m, D[n]), and that it leads from
  the entry to the root. With VKEY, that the log signed the checkpoint.
usage: rfc6962_check.py --since OLD_CHECKPOINT PROOF ENTRIES
  the same for a consistency proof: the RFC's PROOF(m, D[n]).
"""
import base64
import hashlib
import sys


def leaf(data):
    return hashlib.sha256(b"\x00" + data).digest()


def node(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def split(n):
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def mth(d):
    if not d:
        return hashlib.sha256(b"").digest()
    if len(d) == 1:
        return leaf(d[0])
    k = split(len(d))
    return node(mth(d[:k]), mth(d[k:]))


def path(m, d):
    if len(d) == 1:
        return []
    k = split(len(d))
    if m < k:
        return path(m, d[:k]) + [mth(d[k:])]
    return path(m - k, d[k:]) + [mth(d[:k])]


def subproof(m, d, whole):
    if m == len(d):
        return [] if whole else [mth(d)]
    k = split(len(d))
    if m <= k:
        return subproof(m, d[:k], whole) + [mth(d[k:])]
    return subproof(m - k, d[k:], False) + [mth(d[:k])]


def note(text):
    at = text.rindex("\n\n")
    body, lines = text[: at + 1], text[at + 2 :].splitlines()
    origin, size, root = body.split("\n")[:3]
    return body, lines, origin, int(size), base64.b64decode(root)


def signed(body, lines, vkey):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    name, key_id, key = vkey.split("+", 2)
    key = base64.b64decode(key)
    assert key[0] == 1
    digest = hashlib.sha256(name.encode() + b"\n" + key).digest()
    assert digest[:4].hex() == key_id
    for line in lines:
        dash, who, sig = line.split(" ")
        sig = base64.b64decode(sig)
        if dash == "\u2014" and who == name and sig[:4].hex() == key_id:
            Ed25519PublicKey.from_public_bytes(key[1:]).verify(sig[4:], body.encode())
            return True
    return False


arguments = sys.argv[1:]
old = None
if arguments[0] == "--since":
    old = note(open(arguments[1], encoding="utf-8").read())
    arguments = arguments[2:]
text = open(arguments[0], encoding="utf-8", newline="").read()
entries = open(arguments[1], "rb").read().split(b"\n")[:-1]
head, rest = text.split("\n\n", 1)
body, lines, origin, size, root = note(rest)
head = head.split("\n")
entries = entries[:size]
assert len(entries) == size and mth(entries) == root, "root"
if old is None:
    assert head[0] == "c2sp.org/tlog-proof@v1"
    assert head[1].startswith("extra ") and head[2].startswith("index ")
    index = int(head[2][6:])
    assert base64.b64decode(head[1][6:]) == entries[index], "entry"
    hashes = [base64.b64decode(line) for line in head[3:]]
    assert hashes == path(index, entries), "path"
else:
    assert head[0] == "runseal.dev/tlog-consistency@v1" and head[1] == f"old {old[3]}"
    assert mth(entries[: old[3]]) == old[4] and origin == old[2], "old root"
    hashes = [base64.b64decode(line) for line in head[2:]]
    expected = [] if old[3] in (0, size) else subproof(old[3], entries, True)
    assert hashes == expected, "proof"
if len(arguments) > 2:
    assert signed(body, lines, arguments[2]), "signature"
print("holds")
