#!/usr/bin/env python3
"""Whether recordings keep everything: at 50,000 datagrams a second, beyond what
the machine can hold, when killed, and on a full disk; whether tshark and tcpdump
find nothing wrong with them; and what recording costs.

usage: check_record.py SIMTEL FLOOD SAMPLE.pcap
Needs root (for a small disk), tshark, tcpdump, and pyarrow.
"""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import pyarrow.parquet as parquet

simtel, flood, sample = sys.argv[1:4]
scratch = tempfile.mkdtemp()


def fail(what):
    sys.exit(f"FAILED: {what}")


def start(name, *options):
    """Starts a recording, and returns it with its port."""
    command = [simtel, "record", "udp", "--listen", "127.0.0.1:0", "--json", "-o", name, *options]
    recording = subprocess.Popen(
        command, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while True:
        line = recording.stderr.readline()
        if not line:
            fail(f"{command} did not start")
        event = json.loads(line)
        if event["event"] == "start":
            return recording, int(event["listeners"][0].rsplit(":", 1)[1])


def stop(recording, how=signal.SIGINT):
    recording.send_signal(how)
    out, err = recording.communicate()
    return recording.returncode, json.loads(out) if out else None, err


def records(path):
    """Time stamp in nanoseconds and UDP payload of each record of a pcap."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x4d\x3c\xb2\xa1":
        fail(f"{path} is no nanosecond pcap")
    at = 24
    while at + 16 <= len(data):
        seconds, nanoseconds, length, original = struct.unpack_from("<IIII", data, at)
        if at + 16 + length > len(data) or length != original:
            return
        yield seconds * 10**9 + nanoseconds, data[at + 16 + 42 : at + 16 + length]
        at += 16 + length


def check_whole(path, sent):
    """Everything is there, in order, and time never goes back."""
    last, count = 0, 0
    for stamp, payload in records(path):
        number = struct.unpack_from("<Q", payload, 8)[0]
        if number != count or payload[:8] != b"numbered" or stamp < last:
            fail(f"{path}: datagram {count} is {number}, {stamp} after {last}")
        last, count = stamp, count + 1
    if count != sent:
        fail(f"{path} holds {count} of {sent} datagrams")


def check_tools(path, count):
    """tshark and tcpdump read it, and tshark finds no fault."""
    read = ["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    fields = ["-T", "fields", "-e", "ip.checksum.status", "-e", "udp.checksum.status", "-e", "udp.dstport"]
    lines = subprocess.run(read + fields, capture_output=True, text=True, check=True).stdout.splitlines()
    if len(lines) != count or any(line.split("\t")[:2] != ["1", "1"] for line in lines):
        fail(f"tshark reads {len(lines)} of {count} datagrams in {path}, or wrong checksums")
    faults = read + ["-Y", "_ws.malformed || _ws.expert.severity >= 6291456"]
    if subprocess.run(faults, capture_output=True, check=True).stdout:
        fail(f"tshark finds faults in {path}")
    lines = subprocess.run(
        ["tcpdump", "-n", "-r", path], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    if len(lines) != count:
        fail(f"tcpdump reads {len(lines)} of {count} datagrams in {path}")


# 50,000 a second.
recording, port = start("fast.pcap")
subprocess.run([flood, f"127.0.0.1:{port}", "200000", "50000", "1352"], check=True, stdout=subprocess.DEVNULL)
code, report, err = stop(recording)
if code != 0 or report["dropped"] != 0 or report["datagrams"] != 200000:
    fail(f"50,000 a second: exit {code}, {report}")
check_whole(f"{scratch}/fast.pcap", 200000)
print("200,000 datagrams of 1,352 bytes at 50,000 a second: all recorded, in order, none lost")

# Too fast for a small buffer.
for name in ("flooded.pcap", "flooded.pcapng"):
    recording, port = start(name, "--buffer", "64kB")
    sent = 400000
    floods = [
        subprocess.Popen([flood, f"127.0.0.1:{port}", str(sent // 2), "1e9", "1352"], stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    for process in floods:
        process.wait()
    code, report, err = stop(recording)
    counted = subprocess.run(
        ["capinfos", "-Mc", f"{scratch}/{name}"], capture_output=True, text=True, check=True
    ).stdout
    recorded = int(counted.split("packets:")[1].split()[0])
    if recorded + report["dropped"] != sent or recorded != report["datagrams"]:
        fail(f"{recorded} recorded + {report['dropped']} dropped is not {sent}: {report}")
    if code != (3 if report["dropped"] else 0):
        fail(f"{report['dropped']} drops, exit {code}")
    print(f"{name}: {recorded} recorded + {report['dropped']} reported as dropped = {sent} sent")

# Killed at any moment. The datagrams are car telemetry whose frame tells their number.
frames = [payload for _, payload in records(sample) if len(payload) == 1352]
telemetry = bytearray(frames[0])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
chance = random.Random(6)
interval = 0.5
for turn in range(20):
    name = f"killed{turn}.{'pcapng' if turn % 2 else 'pcap'}"
    recording, port = start(name, "--flush-interval", f"{int(interval * 1000)}ms")
    begun, moments = time.monotonic(), []
    end = begun + chance.uniform(0.05, 2)
    while time.monotonic() < end:
        struct.pack_into("<I", telemetry, 23, len(moments))
        sender.sendto(telemetry, ("127.0.0.1", port))
        moments.append(time.monotonic())
        time.sleep(0.0003)
    recording.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    recording.wait()
    must = sum(moment < killed - interval for moment in moments)
    path = f"{scratch}/{name}"
    count = len(
        subprocess.run(["tshark", "-n", "-r", path], capture_output=True, text=True).stdout.splitlines()
    )
    convert = subprocess.run(
        [simtel, "convert", path, "-o", f"{path}.parquet", "-t", "car_telemetry", "--cars", "player"],
        capture_output=True,
        text=True,
    )
    if count < must or convert.returncode not in (0, 3):
        fail(f"{name}: tshark reads {count} of at least {must}; {convert.stderr}")
    if count:
        numbers = parquet.read_table(f"{path}.parquet")["overall_frame_identifier"].to_pylist()
        if numbers != list(range(count)):
            fail(f"{name}: simtel reads {len(numbers)} of {count} datagrams")
print("killed at 20 moments: each file opens, and holds everything older than the flush interval")

# A full disk.
disk = f"{scratch}/disk"
os.mkdir(disk)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
try:
    for name in ("full.pcap", "full.pcapng"):
        recording, port = start(f"disk/{name}")
        # The recording ends before the flood does.
        flooding = [flood, f"127.0.0.1:{port}", "5000", "20000", "1352"]
        subprocess.run(flooding, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out, err = recording.communicate()
        report = json.loads(out)
        if recording.returncode != 1 or "No space left on device" not in err:
            fail(f"a full disk: exit {recording.returncode}, {err}")
        path = f"{disk}/{name}"
        check_tools(path, report["datagrams"])
        if os.path.getsize(path) < 1_900_000:
            fail(f"{path} has only {os.path.getsize(path)} bytes")
        print(f"full disk: {json.loads(err.splitlines()[-1])['message']}")
        os.remove(path)
finally:
    subprocess.run(["umount", disk], check=True)

# What other programs make of it.
for name in ("sizes.pcap", "sizes.pcapng"):
    recording, port = start(name)
    for size in list(range(0, 1600, 7)) + [9000, 65507]:
        sender.sendto(bytes(size), ("127.0.0.1", port))
        time.sleep(0.0002)
    code, report, err = stop(recording, signal.SIGTERM)
    if code != 0:
        fail(f"{name}: exit {code}, {err}")
    check_tools(f"{scratch}/{name}", report["datagrams"])
print("tshark and tcpdump: every checksum right, no fault")

# What a game's traffic costs.
recording, port = start("hour.pcap")
ticks, seconds = os.sysconf("SC_CLK_TCK"), 20


def used():
    fields = open(f"/proc/{recording.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / ticks


before, begun = used(), time.monotonic()
for number in range(400 * seconds):
    time.sleep(max(0, begun + number / 400 - time.monotonic()))
    sender.sendto(telemetry, ("127.0.0.1", port))
share = (used() - before) / (time.monotonic() - begun)
code, report, err = stop(recording)
if code != 0 or report["datagrams"] != 400 * seconds:
    fail(f"400 a second: exit {code}, {report}")
print(f"400 datagrams a second take {share:.2%} of a core")
if share > 0.02:
    fail("that is more than 2 %")
subprocess.run(["rm", "-r", scratch], check=True)
