#!/usr/bin/env python3
"""Whether a replay sends what tshark finds in a capture: the same payloads in
the same order; and whether its keys work.

usage: check_replay.py SIMTEL CAPTURE...
Needs root (for a large receive buffer) and tshark.
"""

import json
import os
import pty
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

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


def slow_capture(path):
    """A hundred datagrams, 50 ms apart."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for number in range(100):
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 29, 0, 0, 64, 17, 0, bytes(4), bytes(4))
            packet = ip + struct.pack(">HHHHB", 5000, 20777, 9, 0, number)
            stamp = number * 50_000_000
            file.write(struct.pack("<IIII", stamp // 10**9, stamp % 10**9, len(packet), len(packet)) + packet)


def keys():
    """On a terminal the space bar pauses, s sends one datagram, q ends."""
    path = f"{tempfile.mkdtemp()}/slow.pcap"
    slow_capture(path)
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("127.0.0.1", 0))
    target = "127.0.0.1:%d" % listener.getsockname()[1]
    child, terminal = pty.fork()
    if child == 0:
        os.execv(simtel, [simtel, "replay", path, "--to", target])
    before = termios.tcgetattr(terminal)
    listener.settimeout(0.4)

    def count(seconds):
        end, seen = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            try:
                listener.recv(100)
                seen += 1
            except TimeoutError:
                pass
            # Somebody must read what it shows.
            os.set_blocking(terminal, False)
            try:
                os.read(terminal, 1 << 16)
            except BlockingIOError:
                pass
        return seen

    assert count(1) > 5, "it does not play"
    os.write(terminal, b" ")
    count(0.3)
    assert count(1) == 0, "it does not pause"
    for _ in range(3):
        os.write(terminal, b"s")
        assert count(0.5) == 1, "a step is one datagram"
    os.write(terminal, b" ")
    assert count(1) > 5, "it does not go on"
    assert termios.tcgetattr(terminal)[3] != before[3], "keys are not taken singly"
    os.write(terminal, b"q")
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    assert termios.tcgetattr(terminal)[3] == before[3], "the terminal is left changed"
    print("keys pause, step and end a replay")


def answers():
    """What another machine answers is counted, however fast it goes."""
    path = f"{tempfile.mkdtemp()}/slow.pcap"
    slow_capture(path)

    def ip(*command):
        subprocess.run(["ip", *command], check=True)

    ip("netns", "add", "simtel-check")
    try:
        ip("link", "add", "simtel2", "type", "veth", "peer", "name", "simtel3", "netns", "simtel-check")
        ip("addr", "add", "10.78.0.1/24", "dev", "simtel2")
        ip("link", "set", "simtel2", "up")
        ip("-n", "simtel-check", "addr", "add", "10.78.0.2/24", "dev", "simtel3")
        ip("-n", "simtel-check", "link", "set", "simtel3", "up")
        # Linux else answers a few datagrams only: of one sender, and of all together,
        # which kernels of some years ago count for all namespaces and do not have here.
        limits = {"icmp_ratelimit": 0, "icmp_msgs_per_sec": 100_000, "icmp_msgs_burst": 100_000}
        for limit, value in limits.items():
            file = f"/proc/sys/net/ipv4/{limit}"
            write = f"if [ -e {file} ]; then echo {value} >{file}; fi"
            ip("netns", "exec", "simtel-check", "sh", "-c", write)
        time.sleep(2)
        for target, speed, what in [
            ("10.78.0.2:20777", "max", "refused"),
            ("10.78.0.2:20777", "2", "refused"),
            ("10.78.0.99:20777", "1", "unreachable"),
        ]:
            command = [simtel, "replay", path, "--to", target, "--speed", speed, "--json"]
            run = subprocess.run(command, capture_output=True, text=True)
            counts = json.loads(run.stdout)["targets"][0]
            assert counts[what] > 0 and counts["sent"] == 100, (target, counts)
            run = subprocess.run([*command, "--require-listener"], capture_output=True, text=True)
            assert run.returncode == 1 and "nobody listens" in run.stderr, run
    finally:
        ip("netns", "del", "simtel-check")
    print("answers of other machines are counted, and --require-listener fails by them")


keys()
answers()
