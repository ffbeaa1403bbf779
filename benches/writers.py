"""Whole conversions by simtel beside what polars, pyarrow and duckdb need merely to
write the same tables, which they hold decoded in memory, in row groups of the same size.
Rounds of all in turn, medians, what each wrote, and the ratio to the fastest of the
others. Needs Linux and pip; builds simtel, makes its own inputs.

usage: benches/writers.py [SIZE] [ROUNDS]      (1GB, 5)
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


def prepare(size, scratch):
    """Builds simtel, makes the inputs, and goes on in an environment with the others."""
    build = ["cargo", "build", "--release", "--quiet"]
    subprocess.run(build, cwd=PROJECT, check=True)
    subprocess.run([*build, "--example", "make_samples"], cwd=PROJECT, check=True)
    make = PROJECT / "target/release/examples/make_samples"
    for name in ("race.pcap", "stint.ibt"):
        subprocess.run([make, size, scratch / name], check=True)
    venv.create(scratch / "venv", with_pip=True)
    python = scratch / "venv/bin/python"
    pip = [python, "-m", "pip", "install", "-q", "polars", "pyarrow", "duckdb"]
    subprocess.run(pip, check=True)
    return python


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def simtel(scratch, source, *arguments):
    out = scratch / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [PROJECT / "target/release/simtel", "convert", scratch / source, "-o", out, "-q"]
    seconds = timed(lambda: subprocess.run([*command, *arguments], check=True))
    return seconds, size_of(out)


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


class Writers:
    """The same tables in the memory of each of the others."""

    def __init__(self, scratch, source, tables):
        import duckdb
        import polars
        import pyarrow.parquet

        shutil.rmtree(scratch / "tables", ignore_errors=True)
        command = [PROJECT / "target/release/simtel", "convert", scratch / source, "-q"]
        command += ["-o", scratch / "tables", *tables]
        subprocess.run(command, check=True)
        files = sorted((scratch / "tables").rglob("*.parquet"))
        self.tables = [pyarrow.parquet.read_table(file) for file in files]
        groups = [pyarrow.parquet.read_metadata(file).row_group(0) for file in files]
        self.row_groups = [group.num_rows for group in groups]
        self.frames = [polars.from_arrow(table, rechunk=True) for table in self.tables]
        self.duck = duckdb.connect()
        for number, table in enumerate(self.tables):
            self.duck.register(f"arrow_{number}", table)
            self.duck.execute(f"create table t{number} as select * from arrow_{number}")
        self.target = scratch / "written"

    def write(self, library, kind):
        self.target.mkdir(exist_ok=True)
        seconds = timed(lambda: getattr(self, f"{library}_{kind}")())
        size = size_of(self.target)
        shutil.rmtree(self.target)
        return seconds, size

    def paths(self):
        return [str(self.target / str(number)) for number in range(len(self.tables))]

    def polars_parquet(self):
        for frame, path, rows in zip(self.frames, self.paths(), self.row_groups):
            frame.write_parquet(
                path, compression="zstd", compression_level=1, row_group_size=rows
            )

    def pyarrow_parquet(self):
        import pyarrow.parquet

        for table, path, rows in zip(self.tables, self.paths(), self.row_groups):
            pyarrow.parquet.write_table(
                table, path, compression="zstd", compression_level=1, row_group_size=rows
            )

    def duckdb_parquet(self):
        options = "format parquet, codec zstd, compression_level 1, row_group_size"
        for number, path in enumerate(self.paths()):
            rows = self.row_groups[number]
            self.duck.execute(f"copy t{number} to '{path}' ({options} {rows})")

    def polars_csv(self):
        for frame, path in zip(self.frames, self.paths()):
            frame.write_csv(path)

    def duckdb_csv(self):
        for number, path in enumerate(self.paths()):
            self.duck.execute(f"copy t{number} to '{path}' (format csv)")

    def polars_ndjson(self):
        for frame, path in zip(self.frames, self.paths()):
            frame.write_ndjson(path)

    def duckdb_ndjson(self):
        for number, path in enumerate(self.paths()):
            self.duck.execute(f"copy t{number} to '{path}' (format json)")


CAR_TELEMETRY = ["--tables", "car_telemetry"]
WORKS = [
    # What, from what, with which options for simtel, by whom.
    ("Parquet, all F1 tables", "race.pcap", [], "parquet", ["polars", "pyarrow", "duckdb"]),
    ("CSV of car_telemetry", "race.pcap", CAR_TELEMETRY, "csv", ["polars", "duckdb"]),
    ("NDJSON of car_telemetry", "race.pcap", CAR_TELEMETRY, "ndjson", ["polars", "duckdb"]),
    ("Parquet, .ibt", "stint.ibt", [], "parquet", ["polars", "pyarrow", "duckdb"]),
]


def compare(scratch, rounds):
    for name, source, tables, kind, libraries in WORKS:
        writers = Writers(scratch, source, tables)
        options = ["--compression", "zstd:1"] if kind == "parquet" else ["-f", kind]
        times = {library: [] for library in ["simtel", *libraries]}
        sizes = {}
        for _ in range(rounds):
            seconds, sizes["simtel"] = simtel(scratch, source, *tables, *options)
            times["simtel"].append(seconds)
            for library in libraries:
                seconds, sizes[library] = writers.write(library, kind)
                times[library].append(seconds)
        medians = {library: statistics.median(of) for library, of in times.items()}
        fastest = min(libraries, key=medians.get)
        figures = ", ".join(
            f"{library} {seconds:.2f} s {sizes[library] / 1e6:.0f} MB"
            for library, seconds in medians.items()
        )
        ratio = medians["simtel"] / medians[fastest]
        print(f"{name}: {figures}: {ratio:.2f} x {fastest}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in"]:
        compare(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        size = sys.argv[1] if len(sys.argv) > 1 else "1GB"
        rounds = sys.argv[2] if len(sys.argv) > 2 else "5"
        # Memory, so that no disk is measured.
        memory = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            python = prepare(size, Path(folder))
            subprocess.run([python, __file__, "--in", folder, rounds], check=True)
