#!/usr/bin/env python3
"""Whether a replay sends what tshark finds in a capture: the same payloads in
the same order.

usage: check_replay.py SIMTEL CAPTURE...
Needs root (for a large receive buffer) and tshark.
"""

import json
import socket
import subprocess
import sys

SO_RCVBUFFORCE = 33
simtel, captures = sys.argv[1], sys.argv[2:]


def expected(path):
    """The UDP payloads of a capture, by tshark."""
    command = ["tshark", "-n", "-r", path, "-Y", "udp && !icmp && !icmpv6", "-T", "fields", "-e", "udp.payload"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0 and "cut short" not in run.stderr:
        return None
    return [bytes.fromhex(line) for line in run.stdout.splitlines()]


def heard(path):
    """What a listener gets, and how the replay ended."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
    listener.bind(("127.0.0.1", 0))
    target = "127.0.0.1:%d" % listener.getsockname()[1]
    command = [simtel, "replay", path, "--to", target, "--speed", "max", "--json"]
    run = subprocess.run(command, capture_output=True, text=True)
    listener.setblocking(False)
    payloads = []
    while True:
        try:
            payloads.append(listener.recv(1 << 16))
        except BlockingIOError:
            break
    return run, payloads


total = exact = 0
for path in captures:
    wanted = expected(path)
    run, payloads = heard(path)
    if wanted is None or run.returncode == 1:
        assert run.returncode == 1 and not payloads, (path, run.stderr)
        continue
    report = json.loads(run.stdout)
    assert report["datagrams"] == len(payloads), (path, report, len(payloads))
    if run.returncode == 0:
        assert payloads == wanted, (path, len(payloads), len(wanted))
        exact += 1
    else:
        # What is cut or lacks fragments is not sent; the rest is.
        rest = iter(wanted)
        assert all(payload in rest for payload in payloads), path
        assert report["incomplete"] or report["damage_count"] or not payloads, (path, report)
    total += len(payloads)
print(f"{total} datagrams of {len(captures)} captures replayed; {exact} captures whole, the same as tshark reads")
