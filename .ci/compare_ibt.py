"""Compares simtel's iRacing tables with what pyirsdk reads from the same file:
every variable of every tick, exactly, and the lists of the session string.

usage: compare_ibt.py SIMTEL FILE...

Needs pyarrow and pyirsdk. A copy of live memory is read by pyirsdk's live reader,
a file by its own class.
"""

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import irsdk
import pyarrow.parquet as parquet


def same(ours, theirs):
    return ours == theirs or (ours != ours and theirs != theirs)


def live_values(path):
    """The variables of the newest tick, and what the session string says."""
    reader = irsdk.IRSDK()
    assert reader.startup(test_file=str(path))
    # It takes the second newest, since memory may change under it; a copy does not.
    newest = max(reader._header.var_buf, key=lambda buffer: buffer.tick_count)
    reader._IRSDK__var_buffer_latest = newest
    values = {name: [reader[name]] for name in reader.var_headers_names}
    drivers = reader["DriverInfo"]["Drivers"]
    reader.shutdown()
    return values, drivers


def file_values(path):
    reader = irsdk.IBT()
    reader.open(str(path))
    values = {name: reader.get_all(name) for name in reader.var_headers_names}
    reader.close()
    return values, None


def compare(simtel, path):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([simtel, "convert", path, "-o", folder, "-q"], check=True)
        tables = {file.stem: parquet.read_table(file) for file in Path(folder).glob("iracing/*.parquet")}
        metadata = parquet.read_metadata(Path(folder, "iracing/ticks.parquet")).metadata
        session = Path(folder, "iracing/session.yaml").read_text(encoding="utf-8")
    (buffers,) = struct.unpack_from("<i", path.read_bytes(), 32)
    values, drivers = live_values(path) if buffers > 1 else file_values(path)
    columns = {}
    for name, table in tables.items():
        if "capture_time" in table.column_names:
            # Python's own times have no nanoseconds.
            for column in set(table.column_names) - {"capture_time"}:
                columns.setdefault(column, []).append((name, table.column(column).to_pylist()))
    ticks = tables["ticks"].num_rows
    compared = 0
    for name, theirs in values.items():
        assert len(theirs) == ticks, (name, len(theirs), ticks)
        if isinstance(theirs[0], list) and isinstance(theirs[0][0], bytes):
            flat = [b"".join(tick).split(b"\0")[0].decode("cp1252") for tick in theirs]
            found = [ours for table, ours in columns[name] if table == "ticks"]
        elif isinstance(theirs[0], list):
            flat = [value for tick in theirs for value in tick]
            count = len(theirs[0])
            found = [ours for table, ours in columns.get(name, []) if table != "ticks"]
            if not found:
                spread = [dict(columns[f"{name}_{entry}"])["ticks"] for entry in range(count)]
                found = [[spread[entry][tick] for tick in range(ticks) for entry in range(count)]]
        else:
            flat = theirs
            found = [ours for table, ours in columns[name] if table == "ticks"]
        (ours,) = found
        assert len(ours) == len(flat), (name, len(ours), len(flat))
        for position, pair in enumerate(zip(ours, flat)):
            assert same(*pair), f"{path.name} {name} value {position}: {pair}"
        compared += len(flat)
    if drivers is not None:
        ours = tables["drivers"].to_pylist()
        assert [str(driver["UserName"]) for driver in drivers] == [driver["UserName"] for driver in ours]
        assert [driver["CarIdx"] for driver in drivers] == [driver["CarIdx"] for driver in ours]
    assert metadata[b"simtel.session_string"].decode() == session
    assert session.startswith("---") and session.endswith("...\n"), session[-20:]
    times = tables["ticks"].column("SessionTime").to_pylist()
    names = [driver["UserName"] for driver in tables["drivers"].to_pylist()]
    print(
        f"{path.name}: {compared} values of {len(values)} variables and {ticks} ticks equal pyirsdk's; "
        f"SessionTime {times[0]} to {times[-1]}; drivers {names}"
    )


for path in sys.argv[2:]:
    compare(sys.argv[1], Path(path))
