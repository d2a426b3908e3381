#!/usr/bin/env python3
"""Times `runseal pack verify`, process start included, beside the least a Node.js verifier does.

Usage: pack_verify.py RUNSEAL PACK [ROUNDS]
Prints the fastest, middle and slowest of the rounds in milliseconds, taken in turns.
"""
import pathlib
import subprocess
import sys
import time

runseal, pack = sys.argv[1], sys.argv[2]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 60
peer = str(pathlib.Path(__file__).with_name("pack_verify.mjs"))
commands = {
    "runseal pack verify": [runseal, "pack", "verify", pack],
    "runseal pack verify --strict": [runseal, "pack", "verify", pack, "--strict"],
    "node pack_verify.mjs": ["node", peer, pack],
}
times = {name: [] for name in commands}
for _ in range(rounds):
    for name, command in commands.items():
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times[name].append((time.perf_counter() - began) * 1000)
for name, found in times.items():
    found.sort()
    print(f"{name:30} {found[0]:8.1f} {found[len(found) // 2]:8.1f} {found[-1]:8.1f}")
fastest = {name: found[0] for name, found in times.items()}
factor = fastest["node pack_verify.mjs"] / fastest["runseal pack verify"]
print(f"factor by the fastest: {factor:.0f}")
