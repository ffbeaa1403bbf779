"""Compares simtel's tables with what an independent decoder reads from the
same datagrams, field by field, for every table of format 2025.

usage: compare_f1.py SIMTEL CAPTURE...

Needs f1-packets of 2025 and pyarrow.
"""

import ctypes
import json
import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as parquet
from f1 import packets

WHEELS = ["rl", "rr", "fl", "fr"]

# The array of each packet that gives its table a row an entry.
ROWS = {
    "motion": "car_motion_data",
    "lap_data": "lap_data",
    "participants": "participants",
    "car_setups": "car_setup_data",
    "car_telemetry": "car_telemetry_data",
    "car_status": "car_status_data",
    "final_classification": "classification_data",
    "lobby_info": "lobby_players",
    "car_damage": "car_damage_data",
    "tyre_sets": "tyre_set_data",
}
TABLES = [
    "motion", "session", "lap_data", "events", "participants", "car_setups", "car_telemetry",
    "car_status", "final_classification", "lobby_info", "car_damage", "session_history",
    "tyre_sets", "motion_ex", "time_trial", "lap_positions",
]  # fmt: skip
# Arrays that become tables of their own: parent, field, count, index column.
CHILDREN = {
    "session_marshal_zones": ("marshal_zones", "num_marshal_zones", "marshal_zone_index"),
    "session_weather_forecast_samples": (
        "weather_forecast_samples", "num_weather_forecast_samples", "sample_index",
    ),
    "session_weekend_structure": ("weekend_structure", "num_sessions_in_weekend", "session_index"),
    "session_history_laps": ("lap_history_data", "num_laps", "lap_index"),
    "session_history_tyre_stints": ("tyre_stints_history_data", "num_tyre_stints", "stint_index"),
    "participants_livery_colours": ("livery_colours", "num_colours", "colour_index"),
}  # fmt: skip
STINTS = ["tyre_stints_actual", "tyre_stints_visual", "tyre_stints_end_laps"]
EVENTS = {
    "FTLP": "fastest_lap", "RTMT": "retirement", "DRSD": "drs_disabled",
    "TMPT": "team_mate_in_pits", "RCWN": "race_winner", "PENA": "penalty", "SPTP": "speed_trap",
    "STLG": "start_lights", "DTSV": "drive_through_penalty_served",
    "SGSV": "stop_go_penalty_served", "FLBK": "flashback", "BUTN": "buttons", "OVTK": "overtake",
    "SCAR": "safety_car", "COLL": "collision",
}  # fmt: skip
# Columns that simtel names otherwise, with the reason beside them.
RENAMED = {
    "car_idx": "car_index",  # one name for the car in every table
    ("retirement", "reason"): "retirement_reason",  # two events have a `reason`
    ("drs_disabled", "reason"): "drs_disabled_reason",
    ("penalty", "time"): "penalty_time",
}
TIME_TRIAL = {
    "player_session_best_data_set": "player_session_best",
    "personal_best_data_set": "personal_best",
    "rival_data_set": "rival",
}


def datagrams(path):
    """Payloads of a nanosecond pcap of plain Ethernet, IPv4, UDP frames."""
    data = Path(path).read_bytes()
    at = 24
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        yield data[at + 16 + 42 : at + 16 + length]
        at += 16 + length


def plain(value):
    return value.split(b"\0")[0].decode() if isinstance(value, bytes) else value


def flatten(record, prefix=""):
    """The plain fields of a struct; arrays of four are wheels."""
    row = {}
    for name, _ in record._fields_:
        value = getattr(record, name)
        if isinstance(value, ctypes.Array):
            if len(value) == 4 and not isinstance(value[0], ctypes.Structure):
                row.update({f"{prefix}{name}_{w}": v for w, v in zip(WHEELS, value)})
        elif name in TIME_TRIAL:
            row.update(flatten(value, TIME_TRIAL[name] + "_"))
        elif not isinstance(value, (ctypes.Structure, ctypes.Union)):
            row[prefix + ("car_index" if name == "car_idx" and not prefix else name)] = plain(value)
    return row


def expected_rows(payload):
    """Every row that a packet gives, as (table, row)."""
    packet = packets.resolve(payload)
    header = flatten(packet.header)
    table = TABLES[header.pop("packet_id")]
    for hidden in ["packet_format", "game_year", "game_major_version", "game_minor_version", "packet_version"]:
        del header[hidden]
    own = {**header, **flatten(packet)}
    keys = {**header, **({"car_index": own["car_index"]} if "car_index" in own else {})}
    if table == "events":
        code = bytes(packet.event_string_code).decode()
        row = {**header, "event_code": code}
        if code in EVENTS:
            kind = EVENTS[code]
            for name, value in flatten(getattr(packet.event_details, kind)).items():
                row[RENAMED.get((kind, name), name)] = value
        yield table, row
    elif table == "lap_positions":
        for lap in range(min(packet.num_laps, 50)):
            for car in range(22):
                position = packet.position_for_vehicle_idx[lap * 22 + car]
                yield table, {
                    **own, "lap_index": packet.lap_start + lap, "car_index": car,
                    "position_for_vehicle_idx": position,
                }  # fmt: skip
    elif table in ROWS:
        entries = getattr(packet, ROWS[table])
        index = {"lobby_info": "player_index", "tyre_sets": "set_index"}.get(table, "car_index")
        count = packet.num_players if table == "lobby_info" else len(entries)
        for number, entry in enumerate(entries[: min(count, len(entries))]):
            yield table, {**own, index: number, **flatten(entry)}
            yield from children(table, entry, {**keys, index: number})
            if table == "final_classification":
                for stint in range(min(entry.num_tyre_stints, 8)):
                    row = {name: getattr(entry, name)[stint] for name in STINTS}
                    yield table + "_tyre_stints", {**keys, index: number, "stint_index": stint, **row}
    else:
        yield table, own
        yield from children(table, packet, keys)


def children(table, record, keys):
    for child, (field, count, index) in CHILDREN.items():
        if child.startswith(table + "_") and hasattr(record, field):
            entries = getattr(record, field)
            for number in range(min(getattr(record, count), len(entries))):
                entry = entries[number]
                row = flatten(entry) if isinstance(entry, ctypes.Structure) else {field: entry}
                yield child, {**keys, index: number, **row}


def same(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def compare(simtel, capture):
    with tempfile.TemporaryDirectory() as folder:
        command = [simtel, "convert", capture, "-o", folder, "--json", "-q"]
        report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        expected = {}
        count = 0
        for payload in datagrams(capture):
            count += 1
            for table, row in expected_rows(payload):
                expected.setdefault(table, []).append(row)
        assert report["inputs"][0]["decoded"] == count, (report, count)
        values = 0
        written = {table["table"]: table["path"] for table in report["tables"] if table["rows"]}
        assert written.keys() == expected.keys(), (written.keys(), expected.keys())
        for table, rows in expected.items():
            actual = parquet.read_table(written[table]).drop_columns("capture_time").to_pylist()
            assert len(actual) == len(rows), (table, len(actual), len(rows))
            for number, (ours, theirs) in enumerate(zip(actual, rows)):
                missing = theirs.keys() - ours.keys()
                assert not missing, (table, missing)
                for name, value in ours.items():
                    other = theirs.get(name)
                    assert same(value, other), (capture, table, number, name, value, other)
                    values += value is not None
        print(f"{capture}: {count} datagrams, {len(expected)} tables, {values} values are equal")


if __name__ == "__main__":
    for capture in sys.argv[2:]:
        compare(sys.argv[1], capture)
