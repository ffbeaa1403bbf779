"""Compares simtel's tables with what an independent decoder reads from the
same datagrams, field by field, for every table of one F1 format.

usage: compare_f1.py YEAR SIMTEL CAPTURE...

Needs pyarrow, and f1-packets of that year for 2022 and later, else
Telemetry-F1-2021, f1-2020-telemetry or f1-2019-telemetry; for 2018 node, run
where @racehub-io/f1-telemetry-client is installed.
"""

import ctypes
import json
import math
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as parquet

WHEELS = ["rl", "rr", "fl", "fr"]
TABLES = [
    "motion", "session", "lap_data", "events", "participants", "car_setups", "car_telemetry",
    "car_status", "final_classification", "lobby_info", "car_damage", "session_history",
    "tyre_sets", "motion_ex", "time_trial", "lap_positions", "car_telemetry2",
]  # fmt: skip
# Arrays that become tables of their own: field, count, index column.
CHILDREN = {
    "session_marshal_zones": ("marshal_zones", "num_marshal_zones", "marshal_zone_index"),
    "session_weather_forecast_samples": (
        "weather_forecast_samples", "num_weather_forecast_samples", "sample_index",
    ),
    "session_weekend_structure": ("weekend_structure", "num_sessions_in_weekend", "session_index"),
    "session_active_aero_zones_full": (
        "active_aero_zones_full", "num_active_aero_zones_full", "zone_index",
    ),
    "session_active_aero_zones_partial": (
        "active_aero_zones_partial", "num_active_aero_zones_partial", "zone_index",
    ),
    "session_drs_zones": ("drs_zones", "num_drs_zones", "zone_index"),
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
    "SCAR": "safety_car", "COLL": "collision", "PMEN": "partial_aero_mode_enabled",
}  # fmt: skip
# The decoder of 2019 has no union: which of its event fields hold for a code.
EVENTS_2019 = {
    "FTLP": ["vehicle_idx", "lap_time"], "RTMT": ["vehicle_idx"], "TMPT": ["vehicle_idx"],
    "RCWN": ["vehicle_idx"],
}  # fmt: skip
# Columns that simtel names otherwise, with the reason beside them.
RENAMED = {
    ("retirement", "reason"): "retirement_reason",  # several events have a `reason`
    ("drs_disabled", "reason"): "drs_disabled_reason",
    ("partial_aero_mode_enabled", "reason"): "partial_aero_mode_reason",
    ("penalty", "time"): "penalty_time",
}
# Fields that a decoder spells otherwise than the game's own header file.
SPELLINGS = {
    "2026_regulations": "regulations_2026",  # no column begins with a digit
    "ersassist": "ers_assist",
    "drsassist": "drs_assist",
    **{f"engine_{part}wear": f"engine_{part}_wear" for part in ["mguk", "mguh", "es", "ce", "ice", "tc"]},
}
SPELLINGS_2019 = {"tyre_visual_compound": "visual_tyre_compound"}
# Stands in a row of which the decoder knows only a part.
PARTIAL = "*"
TIME_TRIAL = {
    "player_session_best_data_set": "player_session_best",
    "personal_best_data_set": "personal_best",
    "rival_data_set": "rival",
}
HIDDEN = [
    "packet_format", "game_year", "game_major_version", "game_minor_version", "packet_version",
    "packet_id",
]  # fmt: skip


def decoder(year):
    """The function that turns datagrams into ctypes structs, or into dicts."""
    if year == 2018:
        return decode_with_node
    resolve = ctypes_decoder(year)
    return lambda payloads: [resolve(payload) for payload in payloads]


def decode_with_node(payloads):
    script = str(Path(__file__).with_name("decode_f1_2018.js"))
    lines = "\n".join(payload.hex() for payload in payloads)
    run = subprocess.run(["node", script], input=lines, check=True, capture_output=True, text=True)
    integer = lambda value: int(value["integer"]) if "integer" in value else value
    return [json.loads(line, object_hook=integer) for line in run.stdout.splitlines()]


def ctypes_decoder(year):
    if year >= 2022:
        from f1.packets import resolve

        return resolve
    if year == 2021:
        from telemetry_f1_2021 import packets

        def resolve(payload):
            header = packets.PacketHeader.from_buffer_copy(payload)
            key = (header.m_packet_format, header.m_packet_version, header.m_packet_id)
            return packets.HEADER_FIELD_TO_PACKET_TYPE[key].from_buffer_copy(payload)

        return resolve
    if year == 2020:
        from f1_2020_telemetry.packets import unpack_udp_packet
    else:
        from f1_2019_telemetry.packets import unpack_udp_packet
    return unpack_udp_packet


def snake(name):
    """The decoder's own spelling of a field in snake_case."""
    name = name.removeprefix("m_").lstrip("_")
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


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


def fields(record):
    if isinstance(record, dict):
        return {snake(name): value for name, value in record.items()}
    names = {name: snake(name) for name, *_ in record._fields_}
    return {SPELLINGS.get(ours, ours): getattr(record, name) for name, ours in names.items()}


def is_array(value):
    return isinstance(value, (ctypes.Array, list))


def is_struct(value):
    return isinstance(value, (ctypes.Structure, ctypes.Union, dict))


def is_structs(value):
    return is_array(value) and is_struct(value[0])


def flatten(record, prefix=""):
    """The plain fields of a struct; arrays of four are wheels."""
    row = {}
    for name, value in fields(record).items():
        if is_array(value):
            if len(value) == 4 and not is_structs(value):
                row.update({f"{prefix}{name}_{w}": v for w, v in zip(WHEELS, value)})
        elif name in TIME_TRIAL:
            row.update(flatten(value, TIME_TRIAL[name] + "_"))
        elif not is_struct(value):
            row[prefix + ("car_index" if name == "car_idx" and not prefix else name)] = plain(value)
    return row


def expected_rows(packet):
    """Every row that a packet gives, as (table, row)."""
    parts = fields(packet)
    header = flatten(parts["header"])
    table = TABLES[header["packet_id"]]
    header = {name: value for name, value in header.items() if name not in HIDDEN}
    own = {**header, **flatten(packet)}
    keys = {**header, **({"car_index": own["car_index"]} if "car_index" in own else {})}
    if table == "events":
        code = parts["event_string_code"]
        code = code if isinstance(code, str) else bytes(code).decode()
        row = {**header, "event_code": code}
        if "event_details" not in parts:
            row.update({name: own[name] for name in EVENTS_2019.get(code, [])})
        elif code in EVENTS:
            kind = EVENTS[code]
            details = fields(parts["event_details"]).get(kind)
            if details is None:
                row[PARTIAL] = kind
            else:
                for name, value in flatten(details).items():
                    row[RENAMED.get((kind, name), name)] = value
        yield table, row
        return
    if table == "lap_positions":
        cars = len(parts["position_for_vehicle_idx"]) // 50
        for lap in range(min(own["num_laps"], 50)):
            for car in range(cars):
                yield table, {
                    **own, "lap_index": own["lap_start"] + lap, "car_index": car,
                    "position_for_vehicle_idx": parts["position_for_vehicle_idx"][lap * cars + car],
                }  # fmt: skip
        return
    lists = [field for field, _, _ in CHILDREN.values()]
    rows = [
        value
        for name, value in parts.items()
        if is_structs(value) and len(value) in (20, 22, 24) and name not in lists
    ]
    if not rows:
        yield table, own
        yield from children(table, packet, keys)
        return
    (entries,) = rows
    if table == "motion" and len(own) > len(header):
        # Values of the player's car alone are a table of their own.
        yield "motion_ex", own
        own = header
    index = {"lobby_info": "player_index", "tyre_sets": "set_index"}.get(table, "car_index")
    count = own["num_players"] if table == "lobby_info" else len(entries)
    for number, entry in enumerate(entries[: min(count, len(entries))]):
        yield table, {**own, index: number, **flatten(entry)}
        yield from children(table, entry, {**keys, index: number})
        if table == "final_classification":
            parts = fields(entry)
            for stint in range(min(parts["num_tyre_stints"], 8)):
                row = {name: parts[name][stint] for name in STINTS if name in parts}
                yield table + "_tyre_stints", {**keys, index: number, "stint_index": stint, **row}


def children(table, record, keys):
    parts = fields(record)
    for child, (field, count, index) in CHILDREN.items():
        if child.startswith(table + "_") and field in parts:
            for number in range(min(parts[count], len(parts[field]))):
                entry = parts[field][number]
                row = flatten(entry) if is_struct(entry) else {field: entry}
                if "sector1_time_minutes" in row and "sector2_time_minutes" not in row:
                    # f1-packets of 2023 and 2024 gives the minutes of sector 2 the
                    # name of those of sector 1, which cannot be read any more.
                    row["sector2_time_minutes"] = row.pop("sector1_time_minutes")
                    row[PARTIAL] = True
                yield child, {**keys, index: number, **row}


def same(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def compare(decode, simtel, capture):
    with tempfile.TemporaryDirectory() as folder:
        command = [simtel, "convert", capture, "-o", folder, "--json", "-q"]
        run = subprocess.run(command, capture_output=True)
        assert run.returncode in (0, 3), run.stderr
        report = json.loads(run.stdout)
        # What simtel refuses for its length the other decoders do not check.
        lengths = {refusal["length"] for refusal in report["inputs"][0]["refusals"]}
        payloads = [payload for payload in datagrams(capture) if len(payload) not in lengths]
        count = len(payloads)
        expected = {}
        for packet in decode(payloads):
            for table, row in expected_rows(packet):
                expected.setdefault(table, []).append(row)
        assert report["inputs"][0]["decoded"] == count, (report, count)
        values = 0
        written = {table["table"]: table["path"] for table in report["tables"] if table["rows"]}
        assert written.keys() == expected.keys(), (written.keys(), expected.keys())
        for table, rows in expected.items():
            actual = parquet.read_table(written[table]).drop_columns("capture_time").to_pylist()
            assert len(actual) == len(rows), (table, len(actual), len(rows))
            for number, (ours, theirs) in enumerate(zip(actual, rows)):
                if theirs.pop(PARTIAL, None):
                    ours = {name: ours[name] for name in theirs}
                missing = theirs.keys() - ours.keys()
                assert not missing, (table, missing)
                for name, value in ours.items():
                    other = theirs.get(name)
                    assert same(value, other), (capture, table, number, name, value, other)
                    values += value is not None
        print(f"{capture}: {count} datagrams, {len(expected)} tables, {values} values are equal")


if __name__ == "__main__":
    if sys.argv[1] == "2019":
        SPELLINGS.update(SPELLINGS_2019)
    for capture in sys.argv[3:]:
        compare(decoder(int(sys.argv[1])), sys.argv[2], capture)
