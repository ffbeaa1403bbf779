"""Whole conversions by simtel beside what other readers of the same captures need: a
program that reads the file by the library and writes Parquet, in Node.js one that only
reads. Rounds of all in turn, medians, and the ratio to each of the others. Needs Linux,
pip and, for one of them, npm; builds simtel, makes its own inputs.

A reader that cannot be installed is told as not measured. Missing are the Go module
github.com/teamjorge/ibt, which could not be had to be tried, and the npm package
@z0mt3c/f1-telemetry-client 1, which ends with F1 24.

usage: benches/field.py [SIZE] [ROUNDS]      (100MB, 3)
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from operator import attrgetter
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
# Ethernet, IPv4 and UDP, which make_samples writes without options.
HEADERS = 14 + 20 + 8


def pyirsdk(source, out):
    import irsdk
    import pandas

    ibt = irsdk.IBT()
    ibt.open(source)
    columns = {name: ibt.get_all(name) for name in ibt.var_headers_names}
    write_frame(pandas.DataFrame(columns), out)


def libibt(source, out):
    import libibt
    import pyarrow.parquet

    log = libibt.ibt(source)
    # All have the same times, so the resampling of get_channels_as_table() is spared.
    columns = {name: channel[name] for name, channel in log.channels.items()}
    table = pyarrow.table(columns)
    pyarrow.parquet.write_table(table, out, compression="zstd", compression_level=1)


def car_telemetry_packets(source):
    import dpkt
    from f1.packets import PacketCarTelemetryData, resolve

    with open(source, "rb") as capture:
        for _, frame in dpkt.pcap.Reader(capture):
            packet = resolve(frame[HEADERS:])
            if isinstance(packet, PacketCarTelemetryData):
                yield packet


def f1_packets(source, out):
    """Row by row. The library's own to_dict() is slower and rounds."""
    import pandas
    from f1.packets import CarTelemetryData

    arrays = [name for name, kind in CarTelemetryData._fields_ if hasattr(kind, "_length_")]
    scalars = [name for name, _ in CarTelemetryData._fields_ if name not in arrays]
    header_of = attrgetter("session_uid", "session_time", "frame_identifier")
    scalars_of = attrgetter(*scalars)
    arrays_of = attrgetter(*arrays)
    rows = []
    for packet in car_telemetry_packets(source):
        header = header_of(packet.header)
        for index, car in enumerate(packet.car_telemetry_data):
            row = [*header, index, *scalars_of(car)]
            for wheels in arrays_of(car):
                row += wheels
            rows.append(row)
    names = ["session_uid", "session_time", "frame_identifier", "car_index", *scalars]
    names += [f"{name}_{wheel}" for name in arrays for wheel in range(4)]
    write_frame(pandas.DataFrame(rows, columns=names), out)


def f1_packets_by_numpy(source, out):
    """The library only tells the packets apart; numpy takes their fields."""
    import numpy
    import pandas
    from f1.packets import PacketCarTelemetryData

    layout = numpy.ctypeslib.as_array((PacketCarTelemetryData * 1)()).dtype
    packets = numpy.frombuffer(b"".join(car_telemetry_packets(source)), layout)
    cars = packets["car_telemetry_data"]
    columns = {
        name: packets["header"][name].repeat(cars.shape[1])
        for name in ("session_uid", "session_time", "frame_identifier")
    }
    columns["car_index"] = numpy.tile(numpy.arange(cars.shape[1]), cars.shape[0])
    for name in cars.dtype.names:
        if cars[name].ndim == 2:
            columns[name] = cars[name].ravel()
        else:
            for wheel in range(4):
                columns[f"{name}_{wheel}"] = cars[name][:, :, wheel].ravel()
    write_frame(pandas.DataFrame(columns), out)


def write_frame(frame, out):
    frame.to_parquet(out, compression="zstd", compression_level=1)


# Asks for the values one by one: toJSON() does the same, in six times the time. All are
# kept, as a sample is gone once the next is read.
IBT_TELEMETRY = """
require('regenerator-runtime/runtime');
const { Telemetry } = require('ibt-telemetry');
Telemetry.fromFile(process.argv[1]).then(telemetry => {
  const names = telemetry.varHeaders.map(header => header.name);
  const rows = [];
  for (const sample of telemetry.samples()) {
    rows.push(names.map(name => sample.getParam(name).value));
  }
});
"""

# By which function, installed as what. A version of f1-packets knows one year's format.
PARQUET = ["pandas", "pyarrow"]
F1_PACKETS = ["f1-packets==2025.*", "dpkt", *PARQUET]
PYTHON_READERS = {
    "pyirsdk": (pyirsdk, ["pyirsdk", *PARQUET]),
    "libibt": (libibt, ["libibt"]),
    "f1-packets": (f1_packets, F1_PACKETS),
    "f1-packets by numpy": (f1_packets_by_numpy, F1_PACKETS),
}
# The first does not say that it needs the second.
IBT_TELEMETRY_PACKAGES = ["ibt-telemetry", "regenerator-runtime"]

WORKS = [
    # What, from what, which options of simtel, beside whom.
    ("Parquet of an .ibt", "stint.ibt", [], ["pyirsdk"]),
    ("Parquet of an .ibt less its arrays", "stint.ibt", ["--tables", "ticks"], ["libibt"]),
    ("Parquet of an .ibt, by the other no more than read", "stint.ibt", [], ["ibt-telemetry"]),
    (
        "Parquet of car_telemetry",
        "race.pcap",
        ["--tables", "car_telemetry"],
        ["f1-packets", "f1-packets by numpy"],
    ),
    (
        "Parquet of all F1 tables, by the others of car_telemetry",
        "race.pcap",
        [],
        ["f1-packets", "f1-packets by numpy"],
    ),
]


def prepare(size, scratch):
    """Builds simtel, makes the inputs, and installs the others: their commands, which
    lack the file to read and the file to write, and why some have none."""
    build = ["cargo", "build", "--release", "--quiet"]
    subprocess.run(build, cwd=PROJECT, check=True)
    subprocess.run([*build, "--example", "make_samples"], cwd=PROJECT, check=True)
    make = PROJECT / "target/release/examples/make_samples"
    for name in ("race.pcap", "stint.ibt"):
        subprocess.run([make, size, scratch / name], check=True)
    tame_names(scratch / "stint.ibt")

    venv.create(scratch / "venv", with_pip=True)
    python = scratch / "venv/bin/python"
    commands, failures = {}, {}
    for reader, (_, packages) in PYTHON_READERS.items():
        failures[reader] = failure([python, "-m", "pip", "install", "-q"], packages)
        # Silent, as ctypes describes packed structures to numpy in a way it warns of.
        commands[reader] = [python, "-W", "ignore", __file__, "--in", reader]
    npm = ["npm", "install", "--prefix", scratch]
    failures["ibt-telemetry"] = failure(npm, IBT_TELEMETRY_PACKAGES)
    commands["ibt-telemetry"] = ["node", "-e", IBT_TELEMETRY]
    return commands, failures


def tame_names(ibt):
    """Replaces names that players can have but that no YAML reader takes, as libibt and
    ibt-telemetry give such a file up."""
    content = ibt.read_bytes()
    for name in (b"- TERCIO -7 -", b"? ?", b"[SIM]: 100% #1"):
        content = content.replace(b"Name: " + name, b"Name: " + b"x" * len(name))
    ibt.write_bytes(content)


def failure(install, packages):
    if shutil.which(install[0]) is None:
        return f"no {install[0]}"
    command = [*install, *packages]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        return f"cannot install {' '.join(packages)}"
    return None


def compare(scratch, rounds, commands, failures):
    simtel = [PROJECT / "target/release/simtel", "convert", "-q", "--compression", "zstd:1"]
    for name, source, options, readers in WORKS:
        for reader in readers:
            if failures[reader]:
                print(f"{name}: {reader} not measured: {failures[reader]}", flush=True)
        able = [reader for reader in readers if not failures[reader]]
        works = {"simtel": [*simtel, *options, scratch / source, "-o"]}
        works |= {reader: [*commands[reader], scratch / source] for reader in able}
        times = {program: [] for program in works}
        for _ in range(rounds):
            for program, command in works.items():
                times[program].append(seconds(command, scratch))
        medians = {program: statistics.median(of) for program, of in times.items()}
        for reader in able:
            print(
                f"{name}: simtel {medians['simtel']:.2f} s, {reader} {medians[reader]:.2f} s: "
                f"1/{medians[reader] / medians['simtel']:.1f} of {reader}",
                flush=True,
            )


def seconds(command, scratch):
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        start = time.perf_counter()
        subprocess.run([*command, Path(folder) / "out"], cwd=scratch, check=True)
        return time.perf_counter() - start


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in"]:
        read, _ = PYTHON_READERS[sys.argv[2]]
        read(sys.argv[3], sys.argv[4])
    else:
        size = sys.argv[1] if len(sys.argv) > 1 else "100MB"
        rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
        # Memory, so that no disk is measured.
        memory = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            compare(Path(folder), rounds, *prepare(size, Path(folder)))
