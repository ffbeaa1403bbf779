#!/usr/bin/env bash
# Times whole conversions of a large synthetic F1 25 capture and of a large
# synthetic iRacing recording: megabytes of input a second, and the peak of memory
# without the pages of the mapped file. Then captures from 10 MB to 4 GB.
# Needs Linux.
#
# usage: benches/convert.sh [SIZE] [RUNS]      (1GB, 5)
set -euo pipefail
cd "$(dirname "$0")/.."
size=${1:-1GB} runs=${2:-5}
cargo build --release --quiet
cargo build --release --quiet --example make_samples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
target/release/examples/make_samples "$size" "$scratch/race.pcap"
target/release/examples/make_samples "$size" "$scratch/stint.ibt"
input=$scratch/race.pcap
bytes_of() { stat -c %s "$1"; }

convert() {
    rm -rf "$scratch/out"
    target/release/simtel convert "$input" -o "$scratch/out" -q "$@"
}

measure() {
    local name=$1
    shift
    # One run for the memory, since looking at it costs time.
    local peak=0 memory
    convert "$@" &
    while memory=$(cat "/proc/$!/task/$!/children" 2>/dev/null) && kill -0 $! 2>/dev/null; do
        for process in $memory; do
            memory=$(awk '/RssAnon/ {print $2}' "/proc/$process/status" 2>/dev/null || true)
            [ "${memory:-0}" -gt "$peak" ] && peak=$memory
        done
        sleep 0.05
    done
    wait $!
    local times=() start end
    for _ in $(seq "$runs"); do
        start=$(date +%s%N)
        convert "$@"
        end=$(date +%s%N)
        times+=($(((end - start) / 1000000)))
    done
    local median bytes
    bytes=$(bytes_of "$input")
    median=$(printf '%s\n' "${times[@]}" | sort -n | sed -n "$(((runs + 1) / 2))p")
    printf '%-34s %6d ms (median of %d)  %5d MB/s  %5d MiB peak  %8d kB written\n' \
        "$name" "$median" "$runs" $((bytes / median / 1000)) $((peak / 1024)) \
        "$(du -sk "$scratch/out" | cut -f1)"
}

echo "$(bytes_of "$input") bytes of capture, $(nproc) cores"
measure "all tables to parquet"
measure "all tables to parquet, 1 thread" --threads 1
measure "car_telemetry to parquet" --tables car_telemetry
measure "4 columns of car_telemetry" --tables car_telemetry --columns speed,throttle,brake,gear
measure "car_telemetry to csv" --tables car_telemetry -f csv
measure "car_telemetry to ndjson" --tables car_telemetry -f ndjson
input=$scratch/stint.ibt
echo "$(bytes_of "$input") bytes of recording"
measure "all of a recording to parquet"
measure "10 variables to parquet" --tables ticks \
    --columns Speed,RPM,Gear,Throttle,Brake,Lap,LapDist,LapDistPct,Lat,Lon

rm "$scratch/stint.ibt"
input=$scratch/part.pcap
for part in 10MB 100MB 1GB 4GB; do
    target/release/examples/make_samples "$part" "$input"
    measure "$part to parquet"
done
