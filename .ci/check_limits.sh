#!/usr/bin/env bash
# What a test inside the process cannot bring about: a full disk, an input that
# shrinks, an interrupt, the peak of memory. Needs root for the small disk.
#
# usage: check_limits.sh SIMTEL MAKE_SAMPLES
set -euo pipefail
simtel=$1 make_samples=$2
scratch=$(mktemp -d)
cleanup() {
    mountpoint -q "$scratch/disk" && umount "$scratch/disk"
    rm -rf "$scratch"
}
trap cleanup EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

"$make_samples" 200MB "$scratch/race.pcap"
"$make_samples" 200MB "$scratch/stint.ibt"

mkdir "$scratch/disk"
mount -t tmpfs -o size=4m tmpfs "$scratch/disk"
code=0
"$simtel" convert "$scratch/race.pcap" -o "$scratch/disk/out" 2>"$scratch/stderr" || code=$?
[ "$code" = 1 ] || fail "a full disk gave exit code $code"
grep -q "No space left" "$scratch/stderr" || fail "a full disk said: $(cat "$scratch/stderr")"
[ -z "$(find "$scratch/disk" -type f)" ] || fail "a full disk left files: $(find "$scratch/disk" -type f)"
echo "full disk: $(cat "$scratch/stderr")"

cp "$scratch/race.pcap" "$scratch/shrinks.pcap"
code=0
"$simtel" convert "$scratch/shrinks.pcap" -o "$scratch/shrunk" --threads 1 2>"$scratch/stderr" &
pid=$!
sleep 0.3
truncate -s 1000 "$scratch/shrinks.pcap"
wait "$pid" || code=$?
[ "$code" = 1 ] || fail "an input that shrinks gave exit code $code"
grep -q "became shorter" "$scratch/stderr" || fail "an input that shrinks said: $(cat "$scratch/stderr")"
echo "input that shrinks: $(cat "$scratch/stderr")"

code=0
"$simtel" convert "$scratch/race.pcap" -o "$scratch/interrupted" --threads 1 2>"$scratch/stderr" &
pid=$!
sleep 0.4
kill -TERM "$pid"
wait "$pid" || code=$?
[ "$code" = 1 ] || fail "an interrupt gave exit code $code"
[ -z "$(find "$scratch/interrupted" -type f)" ] || fail "an interrupt left files"
echo "interrupt: $(cat "$scratch/stderr")"

for run in "race.pcap parquet" "race.pcap ndjson" "stint.ibt parquet" "stint.ibt ndjson"; do
    read -r input format <<<"$run"
    "$simtel" convert "$scratch/$input" -o "$scratch/${input%.*}-$format" -f "$format" -q &
    pid=$!
    peak=0
    while memory=$(awk '/RssAnon/ {print $2}' "/proc/$pid/status" 2>/dev/null) && [ -n "$memory" ]; do
        [ "$memory" -gt "$peak" ] && peak=$memory
        sleep 0.02
    done
    wait "$pid"
    [ "$peak" -gt 0 ] || fail "the memory of simtel was not seen"
    [ "$peak" -lt 524288 ] || fail "$run took $((peak / 1024)) MiB of memory"
    echo "memory: $run took at most $((peak / 1024)) MiB"
done
