"""Counts UDP datagrams with simtel and with tshark, and packets and their times
with capinfos; all must agree, also on captures that editcap has saved again in
other ways.

usage: check_tshark.py SIMTEL CAPTURE...
"""

import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Ways to save a capture again: a name and the arguments for editcap.
RESAVED = {
    "pcapng": ["-F", "pcapng"],
    "microseconds": ["-F", "pcap"],
    "raw-ip": ["-F", "pcap", "-C", "0:14", "-L", "-T", "rawip"],
    "snap-length-100": ["-F", "nsecpcap", "-s", "100"],
    "every-second": ["-F", "pcapng", "-r", *[str(number) for number in range(1, 200, 2)]],
}


def convert(simtel, path):
    with tempfile.TemporaryDirectory() as folder:
        command = [simtel, "convert", path, "-o", folder, "--json", "-q", "--tables", "events"]
        run = subprocess.run(command, capture_output=True)
        assert run.returncode in (0, 3), (path, run.stderr.decode())
        return json.loads(run.stdout)["inputs"][0]


def info(simtel, path):
    run = subprocess.run([simtel, "info", "--json", path], capture_output=True)
    assert run.returncode == 0, (path, run.stderr.decode())
    return json.loads(run.stdout)


def nanoseconds(moment):
    """Since 1970 UTC, of a moment such as 2026-05-24T12:00:00.123456789Z."""
    if moment is None:
        return None
    seconds, _, fraction = moment.removesuffix("Z").partition(".")
    whole = datetime.datetime.fromisoformat(seconds + "+00:00")
    return int(whole.timestamp()) * 10**9 + int(fraction)


def capinfos(path):
    """Packets, first and last time in nanoseconds, whether they are in order."""
    command = ["capinfos", "-T", "-r", "-S", "-c", "-a", "-e", "-o", path]
    run = subprocess.run(command, capture_output=True, text=True)
    _, packets, first, last, in_order = run.stdout.rstrip("\n").split("\t")

    def decimal(text):
        if text == "n/a":
            return None
        seconds, _, fraction = text.partition(".")
        return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))

    return int(packets), decimal(first), decimal(last), in_order == "True"


def tshark_count(path):
    command = ["tshark", "-n", "-r", path, "-Y", "udp", "-T", "fields", "-e", "frame.number"]
    run = subprocess.run(command, capture_output=True, text=True)
    # A capture that ends early is read up to there by both.
    assert run.returncode == 0 or "cut short" in run.stderr, (path, run.stderr)
    return len(run.stdout.split())


def cooked(path, target, version):
    """The capture with Linux cooked headers, as `tcpdump -i any` would have it."""
    data = Path(path).read_bytes()
    out = bytearray(data[:20]) + (113 if version == 1 else 276).to_bytes(4, "little")
    at = 24
    while at < len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        frame = data[at + 16 : at + 16 + length]
        kind = frame[12:14]
        if version == 1:
            header = bytes([0, 0, 0, 1, 0, 6]) + frame[6:12] + b"\0\0" + kind
        else:
            header = kind + bytes([0, 0, 0, 0, 0, 3, 0, 1, 0, 6]) + frame[6:12] + b"\0\0"
        frame = header + frame[14:]
        size = len(frame).to_bytes(4, "little")
        out += data[at : at + 8] + size + size + frame
        at += 16 + length
    Path(target).write_bytes(out)


def check(simtel, path, name):
    global compared
    converted, seen, theirs = convert(simtel, path), info(simtel, path), tshark_count(path)
    ours = converted["datagrams"] + converted["malformed"]
    assert ours == theirs, f"{name}: simtel counts {ours} datagrams, tshark {theirs}"
    for key in ("packets", "datagrams", "decoded", "refused", "cut", "malformed", "by_packet"):
        assert seen[key] == converted[key], f"{name}: info and convert differ in {key}"
    # Other programs give up where a capture is damaged, and know no untimed packets.
    if not seen["damage_count"] and not seen["untimed"]:
        compared += 1
        ours = (
            seen["packets"],
            nanoseconds(seen["first_time"]),
            nanoseconds(seen["last_time"]),
            seen["backwards"] == 0,
        )
        theirs = capinfos(path)
        assert ours == theirs, f"{name}: info says {ours}, capinfos {theirs}"
    return converted["datagrams"]


simtel, *captures = sys.argv[1:]
total = files = compared = 0
for capture in captures:
    total += check(simtel, capture, capture)
    files += 1
    if not capture.endswith(".pcap"):
        continue
    with tempfile.TemporaryDirectory() as folder:
        again = {}
        for name, arguments in RESAVED.items():
            again[name] = str(Path(folder) / name)
            options = arguments if name != "every-second" else arguments[:2] + arguments[2:3]
            picked = arguments[3:] if name == "every-second" else []
            subprocess.run(["editcap", *options, capture, again[name], *picked], check=True)
        for version in (1, 2):
            again[f"cooked-{version}"] = str(Path(folder) / f"cooked-{version}")
            cooked(capture, again[f"cooked-{version}"], version)
        for name, path in again.items():
            total += check(simtel, path, f"{capture} as {name}")
            files += 1
print(f"tshark and simtel agree on {total} UDP datagrams in {files} captures,")
print(f"capinfos and simtel on packets, times and order in the {compared} that are not damaged")
