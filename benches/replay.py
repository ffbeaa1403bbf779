#!/usr/bin/env python3
"""How exactly and how fast simtel replays, beside tcpreplay and a plain Python
player, on the machine that this runs on.

usage: replay.py SIMTEL SAMPLE.pcap [SECONDS]
Needs root, tcpreplay, iproute2, and two cores that have nothing else to do.
"""

import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE, THERE, PORT, SPACE = "10.77.0.1", "10.77.0.2", 30333, "simtel-bench"
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
script = os.path.abspath(__file__)
if sys.argv[1] != "--receive":
    simtel, sample = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 60


def frames(count, gap, link=bytes(12)):
    """A capture of datagrams that are so many nanoseconds apart."""
    header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)
    size, start = 1352, 1_750_000_000 * 10**9
    here, there = socket.inet_aton(HERE), socket.inet_aton(THERE)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + size, 0, 0x4000, 64, 17, 0, here, there)
    words = struct.unpack(">10H", ip)
    total = sum(words)
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~total & 0xFFFF) + ip[12:]
    # Its checksum is none, as UDP allows.
    udp = struct.pack(">HHHH", 40000, PORT, 8 + size, 0)
    with open("capture.pcap", "wb") as file:
        file.write(header)
        for number in range(count):
            stamp = start + number * gap
            frame = link + b"\x08\x00" + ip + udp + struct.pack("<Q", number) + bytes(size - 8)
            file.write(struct.pack("<IIII", stamp // 10**9, stamp % 10**9, len(frame), len(frame)) + frame)
            yield stamp - start


def receive(count):
    """Takes datagrams with the kernel's time stamps, and prints them."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.bind(("0.0.0.0", PORT))
    sock.settimeout(5)
    print("ready", flush=True)
    stamps = []
    try:
        while len(stamps) < count:
            payload, control, _, _ = sock.recvmsg(2048, 64)
            _, _, data = control[0]
            whole, part = struct.unpack("qq", data[:16])
            stamps.append((struct.unpack_from("<Q", payload)[0], whole * 10**9 + part))
    except TimeoutError:
        pass
    print(json.dumps(stamps))


def play(command, count, where=()):
    """The time stamps of a player's datagrams, and its share of a core."""
    receiver = subprocess.Popen(
        [*where, sys.executable, script, "--receive", str(count)], stdout=subprocess.PIPE, text=True
    )
    receiver.stdout.readline()
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    took = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    stamps = json.loads(receiver.communicate()[0])
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return stamps, used / took, done.stdout


def at(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


PYTHON = """
import socket, struct, sys, time
data = open(sys.argv[1], "rb").read()
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at, before = 24, None
while at < len(data):
    whole, part, length, _ = struct.unpack_from("<IIII", data, at)
    stamp = whole + part / 1e9
    if before is not None and stamp > before:
        time.sleep(stamp - before)
    before = stamp
    sock.sendto(data[at + 16 + 42 : at + 16 + length], (sys.argv[2], int(sys.argv[3])))
    at += 16 + length
"""


def intervals():
    """The intervals between datagrams, of three players, over a virtual cable to
    another network of this machine: tcpreplay does not reach loopback."""

    def ip(*command):
        return subprocess.run(["ip", *command], capture_output=True, text=True, check=True).stdout

    ip("netns", "add", SPACE)
    try:
        ip("link", "add", "simtel0", "type", "veth", "peer", "name", "simtel1", "netns", SPACE)
        ip("addr", "add", f"{HERE}/24", "dev", "simtel0")
        ip("link", "set", "simtel0", "up")
        ip("-n", SPACE, "addr", "add", f"{THERE}/24", "dev", "simtel1")
        ip("-n", SPACE, "link", "set", "simtel1", "up")
        addresses = [json.loads(ip("-j", "link", "show", "simtel0"))]
        addresses.append(json.loads(ip("-n", SPACE, "-j", "link", "show", "simtel1")))
        here, there = (bytes.fromhex(one[0]["address"].replace(":", "")) for one in addresses)
        time.sleep(2)
        compare(there + here)
    finally:
        ip("netns", "del", SPACE)


def compare(link):
    count = 400 * seconds
    wanted = list(frames(count, 2_500_000, link))
    open("player.py", "w").write(PYTHON)
    target = f"{THERE}:{PORT}"
    players = [
        ("simtel", [simtel, "replay", "capture.pcap", "--to", target, "--json"]),
        ("simtel --spin 5ms", [simtel, "replay", "capture.pcap", "--to", target, "--json", "--spin", "5ms"]),
        ("tcpreplay", ["tcpreplay", "-q", "-i", "simtel0", "capture.pcap"]),
        ("Python, time.sleep", [sys.executable, "player.py", "capture.pcap", THERE, str(PORT)]),
    ]
    print(f"{count} datagrams at 400 a second; error of the intervals by the receiver's kernel, µs")
    print(f"{'':20} {'p50':>8} {'p90':>8} {'p99':>8} {'max':>8} {'drift':>10} {'core':>7}")
    for name, command in players:
        stamps, share, out = play(command, count, ("ip", "netns", "exec", SPACE))
        if len(stamps) != count:
            print(f"{name:20} only {len(stamps)} of {count} datagrams arrived")
            continue
        errors = [
            abs((late - early) - (wanted[n + 1] - wanted[n])) / 1e3
            for n, ((_, early), (_, late)) in enumerate(zip(stamps, stamps[1:]))
        ]
        drift = (stamps[-1][1] - stamps[0][1] - wanted[-1]) / 1e3
        row = "".join(f" {at(errors, share_):8.1f}" for share_ in (0.5, 0.9, 0.99, 1))
        print(f"{name:20}{row} {drift:10.1f} {share:7.1%}")
        if name == "simtel":
            own = json.loads(out)["late_microseconds"]
            print(f"{'  its own lateness':20} {own['p50']:8.1f} {own['p90']:8.1f} {own['p99']:8.1f} {own['max']:8.1f} {own['last']:10.1f}")


def round_trip():
    """The sample into a recording: the same payloads at the same distances."""
    recorder = subprocess.Popen(
        [simtel, "record", "f1", "--listen", f"127.0.0.1:{PORT}", "-o", "again.pcap", "-q"]
    )
    time.sleep(0.5)
    subprocess.run([simtel, "replay", sample, "--to", f"127.0.0.1:{PORT}", "-q"], check=True)
    recorder.send_signal(signal.SIGINT)
    recorder.wait()

    def read(path):
        data, at, all_ = open(path, "rb").read(), 24, []
        while at < len(data):
            whole, part, length, _ = struct.unpack_from("<IIII", data, at)
            all_.append((whole * 10**9 + part, data[at + 58 : at + 16 + length]))
            at += 16 + length
        return all_

    before, after = read(sample), read("again.pcap")
    same = [payload for _, payload in before] == [payload for _, payload in after]
    errors = [
        abs((after[n + 1][0] - after[n][0]) - (before[n + 1][0] - before[n][0])) / 1e3
        for n in range(len(before) - 1)
    ]
    print(f"round trip of {len(before)} datagrams: payloads {'identical' if same else 'DIFFER'}, ", end="")
    print(f"intervals off by p50 {at(errors, 0.5):.1f} µs, p99 {at(errors, 0.99):.1f} µs, max {max(errors):.1f} µs")


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Header(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32), ("parts", ctypes.POINTER(Part)),
        ("part_count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int), ("sent", ctypes.c_uint),
    ]


def bare_loop(count, sock):
    """What sendmmsg itself can do: 64 datagrams a call, nothing else."""
    payload = ctypes.create_string_buffer(1352)
    parts = (Part * 64)(*[Part(ctypes.addressof(payload), 1352)] * 64)
    headers = (Header * 64)()
    for number in range(64):
        headers[number].parts = ctypes.pointer(parts[number])
        headers[number].part_count = 1
    send, descriptor, sent = ctypes.CDLL(None).sendmmsg, sock.fileno(), 0
    begun = time.monotonic()
    while sent < count:
        sent += send(descriptor, headers, 64, 0)
    return sent / (time.monotonic() - begun)


def throughput():
    count = 1_000_000
    for _ in frames(count, 1_000):
        pass
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("127.0.0.1", PORT))
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", PORT))
    command = [simtel, "replay", "capture.pcap", "--to", f"127.0.0.1:{PORT}", "--speed", "max", "--json"]
    own, bare = [], []
    for _ in range(5):
        bare.append(bare_loop(count, sock))
        report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        own.append(report["datagrams"] / report["seconds"])
    own, bare = at(own, 0.5), at(bare, 0.5)
    print(f"--speed max: {own:,.0f} datagrams of 1,352 bytes a second; a bare loop {bare:,.0f}; ratio {own / bare:.2f}")


def speed():
    count = 24_000
    for _ in frames(count, 2_500_000):
        pass
    command = [simtel, "replay", "capture.pcap", "--to", f"127.0.0.1:{PORT}", "--speed", "10", "--json"]
    stamps, _, out = play(command, count)
    span = (stamps[-1][1] - stamps[0][1]) / 1e9
    wanted = 2.5e-3 * (count - 1) / 10
    print(f"--speed 10 on {wanted * 10:.3f} s: {span:.4f} s by the receiver ({span / wanted - 1:+.4%}), {json.loads(out)['seconds']:.4f} s by the report")


def main():
    os.chdir(tempfile.mkdtemp())
    try:
        round_trip()
        speed()
        throughput()
        intervals()
    finally:
        shutil.rmtree(os.getcwd())


if sys.argv[1] == "--receive":
    receive(int(sys.argv[2]))
else:
    main()
