#!/usr/bin/env python3
"""Whether the memory of a simulator is recorded whole and made as programs know
it: round trips of real recordings, pyirsdk reading a replay, ticks that come as
fast as they can, recordings that are killed, and what 360 ticks a second cost.

usage: check_irsdk.py SIMTEL FAKE_SIMULATOR FILE.ibt...
Needs pyirsdk and pyarrow.
"""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import irsdk
import pyarrow.parquet as parquet

simtel, fake, *files = sys.argv[1:]
simtel, fake = str(Path(simtel).resolve()), str(Path(fake).resolve())
files = [Path(file).resolve() for file in files]
folder = tempfile.TemporaryDirectory()
scratch = Path(folder.name)
# Longer than anything here takes.
PATIENCE = 200
memory = scratch / "memory"


def fail(what):
    sys.exit(f"FAILED: {what}")


def record(name, *options):
    command = [simtel, "record", "iracing", "--map", memory, "-o", name, "--json", *options]
    errors = open(scratch / "errors", "w+")
    recording = subprocess.Popen(
        command, cwd=scratch, stdout=subprocess.PIPE, stderr=errors, text=True
    )
    deadline = time.monotonic() + PATIENCE
    while '"start"' not in (scratch / "errors").read_text():
        if recording.poll() is not None or time.monotonic() > deadline:
            fail(f"{command} did not start")
        time.sleep(0.01)
    return recording


def ended(recording):
    out, _ = recording.communicate(timeout=PATIENCE)
    if not out:
        fail(f"no report: {(scratch / 'errors').read_text()}")
    return json.loads(out)


def replay(file, *options):
    return subprocess.Popen([simtel, "replay", file, "--map", memory, "-q", *options], cwd=scratch)


def publish(*options):
    return subprocess.Popen(
        [fake, "publish", "--map", memory, *options], stdout=subprocess.PIPE, text=True
    )


def values(path):
    """Every variable of every tick, as pyirsdk reads them."""
    reader = irsdk.IBT()
    reader.open(str(path))
    found = {name: reader.get_all(name) for name in reader.var_headers_names}
    reader.close()
    return found


def tables(path):
    """All tables, but for the time of day."""
    folder = path.with_suffix(".tables")
    subprocess.run([simtel, "convert", path, "-o", folder, "-q", "--force"], check=True)
    found = {}
    for file in sorted(folder.glob("iracing/*.parquet")):
        table = parquet.read_table(file)
        kept = [name for name in table.column_names if name != "capture_time"]
        found[file.stem] = table.select(kept)
    return found


def unless_the_machine_stalls(attempt):
    """Tries again, twice at most, when ticks were counted as lost: memory holds
    three, and a virtual machine may stand still for longer than they last."""
    for _ in range(3):
        report = attempt()
        if not report["lost"]:
            return report
        print(f"the machine was too busy: {report['lost']} of {report['received']} ticks lost")
    fail("ticks are lost again and again")


def round_trip(file):
    def attempt():
        recording = record(f"{file.stem}.ibt", "--force")
        if replay(file, "--speed", "10").wait(timeout=PATIENCE):
            fail(f"{file.name} was not replayed")
        return ended(recording)

    report = unless_the_machine_stalls(attempt)
    again = scratch / f"{file.stem}.ibt"
    ours, theirs = values(again), values(file)
    # NaN is not equal to itself, but written alike.
    if repr(ours) != repr(theirs):
        fail(f"{file.name}: pyirsdk reads other values from the recording of its replay")
    # A copy, which its tables can lie beside.
    copy = scratch / f"original-{file.name}"
    copy.write_bytes(file.read_bytes())
    before, after = tables(copy), tables(again)
    if repr({name: table.to_pydict() for name, table in before.items()}) != repr(
        {name: table.to_pydict() for name, table in after.items()}
    ):
        fail(f"{file.name}: other tables come from the recording of its replay")
    ticks = len(next(iter(ours.values())))
    if report["ticks"] != ticks:
        fail(f"{file.name}: {report}")
    print(f"{file.name}: {ticks} ticks at ten times the speed, {len(ours)} variables and {len(after)} tables equal")


def look_on(file):
    """pyirsdk sees a running simulator."""
    player = replay(file, "--loop", "forever")
    deadline = time.monotonic() + 20
    reader = irsdk.IRSDK()
    while not memory.exists() or memory.read_bytes()[4:5] != b"\x01":
        if time.monotonic() > deadline:
            fail("the replay did not connect")
        time.sleep(0.05)
    if not reader.startup(test_file=str(memory)):
        fail("pyirsdk does not start")
    ticks = set()
    while len(ticks) < 100:
        if time.monotonic() > deadline:
            fail(f"pyirsdk has seen {len(ticks)} ticks only")
        reader.freeze_var_buffer_latest()
        ticks.add(reader["SessionTime"])
        reader.unfreeze_var_buffer_latest()
        time.sleep(0.01)
    track = reader["WeekendInfo"]["TrackDisplayName"]
    if not reader.is_connected or not track:
        fail("pyirsdk sees no simulator")
    count = len(reader.var_headers_names)
    reader.shutdown()
    player.send_signal(signal.SIGINT)
    player.wait(timeout=PATIENCE)
    print(f"pyirsdk: connected, {track}, {count} variables, {len(ticks)} ticks")


def check_numbers(path, is_whole):
    """Every value of a tick is its number; how many there are, first and last."""
    data = path.read_bytes()
    length, first = struct.unpack_from("<i", data, 36)[0], struct.unpack_from("<i", data, 52)[0]
    stated = struct.unpack_from("<i", data, 140)[0]
    count = (len(data) - first) // length
    if is_whole and (stated != count or first + count * length != len(data)):
        fail(f"{path.name}: {stated} records stated, {count} in {len(data)} bytes")
    seen = []
    for number in range(count if is_whole else stated):
        at = first + number * length
        (tick,) = struct.unpack_from("<i", data, at + 8)
        expected = struct.pack("<d", tick) + struct.pack("<2i", tick, tick) + struct.pack("<f", tick)
        expected += struct.pack("<i", tick) * ((length - len(expected)) // 4)
        if data[at : at + length] != expected:
            fail(f"{path.name}: record {number} mixes ticks")
        if seen and tick <= seen[-1]:
            fail(f"{path.name}: tick {tick} after {seen[-1]}")
        seen.append(tick)
    return seen


def torn(seconds, *options):
    recording = record("torn.ibt", "--force")
    publisher = publish("--seconds", str(seconds), *options)
    published = int(publisher.communicate(timeout=PATIENCE)[0].split()[1])
    report = ended(recording)
    seen = check_numbers(scratch / "torn.ibt", True)
    counted = report["ticks"] + report["lost"]
    if len(seen) != report["ticks"] or not seen[-1] - seen[0] + 1 <= counted <= published:
        fail(f"{len(seen)} ticks from {seen[0]} to {seen[-1]}: {report}")
    print(
        f"{published} ticks in {seconds} s {' '.join(options)}: {len(seen)} recorded, none mixed, "
        f"{report['lost']} counted as lost, {report['overwritten']} overwritten while read"
    )


def killed(times):
    publisher = publish("--rate", "360", "--seconds", "600", "--change-every", "100")
    least = None
    for number in range(times):
        name = f"killed-{number}.ibt"
        recording = record(name, "--flush-interval", "500ms")
        time.sleep(1.5 + random.random())
        recording.send_signal(signal.SIGKILL)
        recording.wait(timeout=PATIENCE)
        seen = check_numbers(scratch / name, False)
        path = str(scratch / name)
        reader = irsdk.IBT()
        reader.open(path)
        if reader.get_all("SessionTick") != seen:
            fail(f"{name}: pyirsdk reads other ticks")
        reader.close()
        command = [simtel, "convert", path, "-o", scratch / "killed", "-q", "--force"]
        converted = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if converted.returncode not in (0, 3):
            fail(f"{name}: {converted.stderr}")
        # 1.5 s at least, less what a failure may cost.
        if len(seen) < 360 * 0.9:
            fail(f"{name}: only {len(seen)} ticks")
        least = min(least or len(seen), len(seen))
    publisher.kill()
    publisher.wait(timeout=PATIENCE)
    print(f"killed {times} times: pyirsdk and simtel read each file, at least {least} ticks")


def processor_time(process):
    """What it has used, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(rate, seconds):
    found = {}

    def attempt():
        recording = record("cost.ibt", "--force")
        publisher = publish("--rate", str(rate), "--seconds", str(seconds))
        time.sleep(seconds * 0.5)
        before, moment = processor_time(recording), time.monotonic()
        time.sleep(seconds * 0.3)
        share = (processor_time(recording) - before) / (time.monotonic() - moment)
        published = int(publisher.communicate(timeout=PATIENCE)[0].split()[1])
        found.update(share=share, published=published)
        return ended(recording)

    report = unless_the_machine_stalls(attempt)
    share, published = found["share"], found["published"]
    seen = check_numbers(scratch / "cost.ibt", True)
    print(f"{rate} Hz for {seconds} s: {published} published, {len(seen)} recorded, {share:.1%} of a core")
    if len(seen) != published or report["ticks"] != published or share > 0.1:
        fail(f"ticks are missing, or it costs too much: {report}")


for file in files:
    round_trip(file)
look_on(files[0])
torn(15)
# Long records, which take long to write, are read in part more often.
torn(15, "--cars", "1400")
torn(10, "--old")
killed(20)
cost(360, 60)
