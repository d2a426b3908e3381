#!/usr/bin/env python3
"""Says what a release is made of, from Cargo.lock and the sources that cargo fetched.

    describe.py sbom FILE        a CycloneDX 1.6 bill of materials, as JSON
    describe.py audit FILE       the list that `cargo audit bin` reads from the program's section .dep-v0
    describe.py licences FILE    the licence texts of everything that is linked in

The packages are those that `cargo tree` names for the target, the features and the kinds of dependency that the
program is built with, not everything in Cargo.lock. The same sources give the same bytes: nothing of this machine, and
no time but SOURCE_DATE_EPOCH, goes in.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import tomllib
import uuid
import zlib
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LICENCE_FILE = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicen[cs]e)([-._].*)?$")
# What is linked in besides crates; rustc and the C library bring no file of their licence along.
BESIDES = """\
The Rust standard library: Apache-2.0 OR MIT, copyright the Rust Project's contributors (https://www.rust-lang.org).

The GNU C library, in programs for *-linux-gnu: LGPL-2.1-or-later, copyright the Free Software Foundation and others
(https://www.gnu.org/software/libc). It is linked statically and unchanged. Whoever wants to link the program with
another version of it builds it from the source of this release with `.ci/release`; nothing else is needed.
"""


def cargo(*arguments):
    done = subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


class Graph:
    """The packages of the program: `packages` by (name, version), `edges` between them, `linked` those that run."""

    def __init__(self, target, features):
        chosen = ["--locked", "--target", target, "-p", "runseal-cli"]
        if features:
            chosen += ["--features", features]
        self.edges = {}
        self.root = None
        self._walk(chosen, "normal,build")
        self.linked = self._linked(chosen)
        everything = ["--locked", "--format-version", "1", "--all-features", "--filter-platform", target]
        metadata = json.loads(cargo("metadata", *everything))
        known = {(each["name"], each["version"]): each for each in metadata["packages"]}
        self.packages = {key: known[key] for key in sorted(self.edges)}
        lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
        self.checksums = {(each["name"], each["version"]): each.get("checksum") for each in lock["package"]}

    @staticmethod
    def _lines(chosen, kinds):
        text = cargo("tree", *chosen, "-e", kinds, "--prefix", "depth", "--format", "\t{p}")
        for line in text.splitlines():
            depth, package = line.split("\t", 1)
            name, version = package.split(" ")[:2]
            yield int(depth), (name, version.removeprefix("v"))

    def _walk(self, chosen, kinds):
        above = []
        for depth, key in self._lines(chosen, kinds):
            del above[depth:]
            self.edges.setdefault(key, set())
            if above:
                self.edges[above[-1]].add(key)
            else:
                self.root = key
            above.append(key)

    @classmethod
    def _linked(cls, chosen):
        # A macro runs in the compiler: neither it nor what it needs is in the program.
        return {key for _, key in cls._lines(chosen, "normal,no-proc-macro")}

    def is_ours(self, key):
        return self.packages[key]["source"] is None

    def licence(self, key):
        # "MIT/Apache-2.0" is how licences were separated before SPDX.
        return (self.packages[key]["license"] or "").replace("/", " OR ")


def purl(key):
    return f"pkg:cargo/{key[0]}@{key[1]}"


def sbom(graph, epoch):
    components = []
    for key, package in graph.packages.items():
        component = {
            "type": "application" if key == graph.root else "library",
            "bom-ref": purl(key),
            "name": key[0],
            "version": key[1],
            "scope": "required" if key in graph.linked else "excluded",
            "purl": purl(key),
        }
        if package["description"]:
            component["description"] = " ".join(package["description"].split())
        if graph.licence(key):
            component["licenses"] = [{"expression": graph.licence(key)}]
        if graph.checksums.get(key):
            component["hashes"] = [{"alg": "SHA-256", "content": graph.checksums[key]}]
        if package["repository"]:
            component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        components.append(component)
    root = next(each for each in components if each["bom-ref"] == purl(graph.root))
    components.remove(root)
    del root["scope"]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": root,
        },
        "components": components,
        "dependencies": [
            {"ref": purl(key), "dependsOn": sorted(map(purl, graph.edges[key]))} for key in graph.packages
        ],
    }
    # The number is of the content, so that the same release has the same number wherever it is built.
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'sha256:' + digest)}"
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def audit(graph):
    keys = list(graph.packages)
    packages = []
    for key in keys:
        package = {
            "name": key[0],
            "version": key[1],
            "source": "local" if graph.is_ours(key) else "crates.io",
        }
        if key not in graph.linked:
            package["kind"] = "build"
        dependencies = sorted(keys.index(other) for other in graph.edges[key])
        if dependencies:
            package["dependencies"] = dependencies
        if key == graph.root:
            package["root"] = True
        packages.append(package)
    return zlib.compress(json.dumps({"packages": packages}, separators=(",", ":")).encode(), 9)


def licences(graph):
    texts = {}
    lists = []
    for key in sorted(graph.linked):
        if graph.is_ours(key):
            continue
        package = graph.packages[key]
        folder = Path(package["manifest_path"]).parent
        found = sorted(each for each in folder.iterdir() if LICENCE_FILE.match(each.name) and each.is_file())
        lists.append(f"  {key[0]} {key[1]}: {graph.licence(key) or 'see its file'}")
        for file in found:
            text = file.read_text(errors="replace").replace("\r\n", "\n").strip("\n")
            texts.setdefault(text, []).append(f"{key[0]} {key[1]} ({file.name})")
    parts = ["runseal contains the packages below. Their licence texts follow.\n", "\n".join(lists) + "\n", BESIDES]
    for text, owners in sorted(texts.items(), key=lambda each: each[1]):
        parts.append("=" * 78 + "\n" + "\n".join(owners) + "\n" + "-" * 78 + f"\n{text}\n")
    return "\n".join(parts).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["sbom", "audit", "licences"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", default="x86_64-unknown-linux-gnu")
    parser.add_argument("--features", default="sigstore")
    arguments = parser.parse_args()
    graph = Graph(arguments.target, arguments.features)
    if arguments.what == "sbom":
        content = sbom(graph, int(os.environ["SOURCE_DATE_EPOCH"]))
    elif arguments.what == "audit":
        content = audit(graph)
    else:
        content = licences(graph)
    arguments.file.write_bytes(content)


if __name__ == "__main__":
    main()
