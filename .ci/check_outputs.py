"""Opens simtel's outputs as its users do: Parquet in pyarrow, polars and
duckdb, Arrow in pyarrow and polars, CSV and NDJSON in polars, and compares
their values.

usage: check_outputs.py SIMTEL CAPTURE
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

simtel, capture = sys.argv[1:]


def convert(folder, *arguments):
    command = [simtel, "convert", capture, "-o", str(folder), "--json", "-q", *arguments]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {table["table"]: table for table in report["tables"]}


with tempfile.TemporaryDirectory() as scratch:
    scratch = Path(scratch)
    tables = convert(scratch / "parquet")
    for name, table in tables.items():
        path, rows = table["path"], table["rows"]
        file = pyarrow.parquet.ParquetFile(path)
        ours = polars.read_parquet(path)
        assert file.metadata.num_rows == rows, name
        assert ours.height == rows, name
        assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(rows,)], name
        assert polars.from_arrow(file.read()).equals(ours, null_equal=True), name
        # Duckdb's own types, column by column.
        theirs = duckdb.sql(f"select * from '{path}'").pl()
        for column in ours.columns:
            if column != "capture_time":
                assert theirs[column].cast(ours[column].dtype).equals(ours[column], null_equal=True), (
                    name, column,
                )  # fmt: skip
    print(f"parquet: {len(tables)} tables read alike in pyarrow, polars and duckdb")

    # Units can be seen by every reader.
    units = 0
    for table in tables.values():
        path = table["path"]
        metadata = polars.read_parquet_metadata(path)
        assert metadata["simtel.format"] == table["format"], path
        columns = json.loads(metadata["simtel.columns"])
        for field in pyarrow.parquet.read_schema(path):
            unit = (field.metadata or {}).get(b"unit", b"").decode()
            assert columns.get(field.name, {}).get("unit", "") == unit, (path, field.name)
            units += unit != ""
    assert units > 5, units
    query = f"select decode(value) from parquet_kv_metadata('{path}') where decode(key) = 'simtel.version'"
    version = subprocess.run([simtel, "--version"], check=True, capture_output=True, text=True)
    assert version.stdout.split() == ["simtel", *duckdb.sql(query).fetchall()[0]]

    for arguments in (["--encoding", "portable"], ["--compression", "snappy"], ["--compression", "gzip"],
                      ["--compression", "lz4"], ["--compression", "none"]):  # fmt: skip
        others = convert(scratch / "-".join(arguments).strip("-"), *arguments)
        for name, table in others.items():
            expected = polars.read_parquet(tables[name]["path"])
            assert polars.read_parquet(table["path"]).equals(expected, null_equal=True), (arguments, name)
            duckdb.sql(f"select * from '{table['path']}'").fetchall()
    print("parquet: every encoding and compression holds the same values")

    arrow = convert(scratch / "arrow", "-f", "arrow", "--labels", "--compression", "zstd")
    stream = convert(scratch / "stream", "-f", "arrow-stream", "--labels")
    for name, table in arrow.items():
        with pyarrow.ipc.open_file(table["path"]) as file:
            from_file = file.read_all()
        with pyarrow.ipc.open_stream(stream[name]["path"]) as file:
            assert file.read_all().schema.equals(from_file.schema, check_metadata=True), name
        from_stream = pyarrow.ipc.open_stream(stream[name]["path"]).read_all()
        # Unlike pyarrow, polars takes NaN to equal itself.
        from_file, from_stream = polars.from_arrow(from_file), polars.from_arrow(from_stream)
        assert from_stream.equals(from_file, null_equal=True), name
        expected = polars.read_parquet(tables[name]["path"])
        assert from_file.select(expected.columns).equals(expected, null_equal=True), name
    print(f"arrow: {len(arrow)} tables as file and as stream equal the parquet tables")

    csv = convert(scratch / "csv", "-f", "csv")
    ndjson = convert(scratch / "ndjson", "-f", "ndjson")
    values = 0
    for name in csv:
        expected = polars.read_parquet(tables[name]["path"])
        if "capture_time" in expected.columns:
            expected = expected.with_columns(polars.col("capture_time").dt.replace_time_zone(None))
        schema = dict(expected.schema)
        text = {column: polars.String for column in ("session_uid", "capture_time") if column in schema}
        from_csv = polars.read_csv(csv[name]["path"], schema_overrides=schema | text)
        objects = [json.loads(line) for line in open(ndjson[name]["path"], encoding="utf-8")]
        from_json = polars.DataFrame(objects, schema=schema | text)
        for source, frame in (("csv", from_csv), ("ndjson", from_json)):
            if "session_uid" in schema:
                frame = frame.with_columns(polars.col("session_uid").cast(polars.UInt64))
            if "capture_time" in schema:
                as_time = polars.col("capture_time").str.to_datetime("%Y-%m-%dT%H:%M:%S%.9fZ", time_unit="ns")
                frame = frame.with_columns(as_time)
            for column in expected.columns:
                # An empty text and a missing one look alike in CSV.
                ours, theirs = expected[column], frame[column]
                if source == "ndjson" and ours.dtype.is_float():
                    ours = ours.fill_nan(None)
                if ours.dtype == polars.String:
                    ours, theirs = ours.fill_null(""), theirs.fill_null("")
                assert ours.equals(theirs, null_equal=True), (name, column)
            values += frame.height * frame.width
    print(f"csv, ndjson: {len(csv)} tables, {values} values equal the parquet tables")
