"""Compares simtel's Forza tables with what else is known of the same datagrams:
with CSV files of real laps that another program recorded, and with a decoder of
its own, column by column and row by row.

usage: compare_forza.py SIMTEL CAPTURES SAMPLES

Needs pyarrow.
"""

import csv
import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as parquet

# The official listings as format strings, for a decoder that owes nothing to
# simtel's layout files.
SLED = "iI" + "f" * 27 + "i" * 4 + "f" * 20 + "i" * 5
DASH = "f" * 17 + "H" + "B" * 6 + "b" * 3
FORMATS = {
    232: ("forza_sled", SLED),
    311: ("forza_dash", SLED + DASH),
    323: ("forza_horizon", SLED + "Iff" + DASH),
    324: ("forza_horizon", SLED + "Iff" + DASH + "B"),
    331: ("forza_motorsport", SLED + DASH + "ffff" + "i"),
}
PUDDLES = range(132, 148, 4)
# Columns of the CSV files that were damaged before they came here.
DAMAGED = {"CarOrdinal", "CarPerformanceIndex"}


def convert(simtel, capture, folder):
    """The rows of each table, by format."""
    command = [simtel, "convert", capture, "-o", folder, "--force", "-q"]
    # Hidden columns come only when they are named.
    command += ["--columns", "*,*unknown"]
    subprocess.run(command, check=True)
    return {path.parent.name: parquet.read_table(path) for path in folder.glob("*/telemetry.parquet")}


def datagrams(capture):
    """The UDP payloads of a pcap of Ethernet frames with IPv4."""
    data = capture.read_bytes()
    position = 24
    while position < len(data):
        (length,) = struct.unpack_from("<I", data, position + 8)
        yield data[position + 16 + 42 : position + 16 + length]
        position += 16 + length


def write_capture(path, payloads):
    with path.open("wb") as out:
        out.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for number, payload in enumerate(payloads):
            udp = struct.pack(">HHHH", 5000, 9999, 8 + len(payload), 0) + payload
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2")
            frame = bytes(12) + b"\x08\0" + ip + udp
            out.write(struct.pack("<IIII", 1700000000 + number, 0, len(frame), len(frame)) + frame)


def same(ours, theirs):
    return ours == theirs or (ours != ours and theirs != theirs)


def in_wire_order(table):
    """The columns as the datagram has them: the key does not come first there."""
    time, stamp, race, *others = table.column_names
    assert (time, stamp, race) == ("capture_time", "timestamp_ms", "is_race_on"), table.column_names
    return [table.column(name).to_pylist() for name in [race, stamp, *others]]


def number(text, is_float, title):
    """A cell of the CSV files as the number on the wire."""
    if is_float:
        return struct.unpack("<f", struct.pack("<f", float(text)))[0]
    if title.startswith("WheelOnRumbleStrip"):
        # Read as a float there: its bits are the number.
        return struct.unpack("<i", struct.pack("<f", float(text)))[0]
    value = int({"True": "1", "False": "0"}.get(text, text))
    if title in {"Steer", "NormalDrivingLine", "NormalAiBrakeDifference"} and value > 127:
        # Some of these are read without their sign there.
        return value - 256
    return value


def compare_csv(name, table, path):
    with path.open(encoding="utf-8-sig") as file:
        header, *rows = csv.reader(file)
    columns = in_wire_order(table)
    assert len(header) == len(columns) == 85, (len(header), len(columns))
    assert len(rows) == table.num_rows, (len(rows), table.num_rows)
    values = 0
    for position, title in enumerate(header):
        if title in DAMAGED:
            continue
        for row, ours in zip(rows, columns[position]):
            text = row[position]
            theirs = number(text, isinstance(ours, float), title)
            assert same(ours, theirs), f"{name} {title}: {ours} is not {theirs}"
            values += 1
    print(f"{name}: {values} values of {len(rows)} rows equal those of {path.name}")


def compare_decoded(capture, tables):
    """With the decoder above; returns the number of values."""
    by_format = {}
    for payload in datagrams(capture):
        by_format.setdefault(FORMATS[len(payload)][0], []).append(payload)
    assert by_format.keys() == tables.keys()
    values = 0
    for name, payloads in by_format.items():
        columns = in_wire_order(tables[name])
        for row, payload in enumerate(payloads):
            theirs = list(struct.unpack("<" + FORMATS[len(payload)][1], payload))
            if name == "forza_horizon":
                for position, offset in enumerate(PUDDLES, start=(132 // 4)):
                    if payload[offset : offset + 4] == b"\1\0\0\0":
                        theirs[position] = 1.0
                theirs += [None] * (324 - len(payload))
            ours = [column[row] for column in columns]
            assert len(ours) == len(theirs), (name, len(ours), len(theirs))
            for position, pair in enumerate(zip(ours, theirs)):
                assert same(*pair), f"{capture.name} row {row} value {position}: {pair}"
            values += len(ours)
    print(f"{capture.name}: {values} values equal those of the other decoder")


def main():
    simtel, captures, samples = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for number, capture in enumerate(sorted([*captures.glob("*.pcap"), *samples.glob("forza_*.pcap")])):
            compare_decoded(capture, convert(simtel, capture, scratch / str(number)))
        for lap in ["laguna_seca", "nurburgring"]:
            tables = convert(simtel, captures / f"fm7-dash-{lap.replace('_', '-')}.pcap", scratch / lap)
            compare_csv(f"fm7-dash-{lap}", tables["forza_dash"], captures / "fm7" / f"{lap}.csv")
        laps = sorted((captures / "fm7" / "reencoded").glob("*.dash311.bin"))
        assert len(laps) == 6, laps
        for lap in laps:
            data = lap.read_bytes()
            capture = scratch / f"{lap.name}.pcap"
            write_capture(capture, (data[start : start + 311] for start in range(0, len(data), 311)))
            tables = convert(simtel, capture, scratch / lap.name)
            compare_csv(lap.name, tables["forza_dash"], captures / "fm7" / lap.name.replace(".dash311.bin", ".csv"))

        table = convert(simtel, captures / "fh6-one-packet.pcap", scratch / "fh6")["forza_horizon"]
        (row,) = table.to_pylist()
        length = math.hypot(*(row[f"velocity_{axis}"] for axis in "xyz"))
        assert abs(length - row["speed"]) < 1e-5, (length, row["speed"])
        print(f"Forza Horizon 6: |velocity| {length:.6f}, speed {row['speed']:.6f}")


main()
