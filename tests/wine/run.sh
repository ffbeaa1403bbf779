#!/usr/bin/env bash
# Builds simtel for Windows on Debian and tries there what only Windows has: memory
# and events with names, messages to windows; and once what every system has.
# A fake simulator (examples/fake_simulator.rs) publishes, looks on and listens.
#
# usage: run.sh [PREFIX]
# Installs what it needs (apt, as root) and unpacks a Rust for Windows into PREFIX,
# /opt/rust-for-windows if not given: about 2 GB. Its standard library is built
# from source, for a target that the Wine of Debian has all functions of.
set -euo pipefail
prefix=${1:-/opt/rust-for-windows}
project=$(cd "$(dirname "$0")/../.." && pwd)
step() { printf '\n== %s\n' "$*"; }
fail() {
    echo "FAILED: $*"
    exit 1
}

step "Rust for Windows, and Wine"
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    wine wine64 gcc-mingw-w64-x86-64 xvfb xauth >/dev/null
if [ ! -x "$prefix/unpacked/usr/bin/cargo" ]; then
    mkdir -p "$prefix/packages" "$prefix/unpacked"
    (
        cd "$prefix/packages"
        # What they need beyond what any Debian has.
        needed=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
            --no-replaces --no-enhances rustc-web cargo-web libstd-rust-web-dev |
            grep -E '^(libstd-rust-web|libllvm|libgit2-|libhttp-parser|libmbed)' | sort -u)
        # Unpacked, not installed: the Rust that this machine has stays as it is.
        # shellcheck disable=SC2086
        apt-get download -q rustc-web cargo-web rust-web-src $needed
        for package in *.deb; do dpkg -x "$package" "$prefix/unpacked"; done
    )
fi
export LD_LIBRARY_PATH=$prefix/unpacked/usr/lib/x86_64-linux-gnu
export RUSTC=$prefix/unpacked/usr/bin/rustc RUSTC_BOOTSTRAP=1
export WINEPREFIX=$prefix/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
export CC_x86_64_win7_windows_gnu=x86_64-w64-mingw32-gcc AR_x86_64_win7_windows_gnu=x86_64-w64-mingw32-ar
"$RUSTC" -V
[ -d "$WINEPREFIX" ] || wineboot -i >/dev/null 2>&1

step "build"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$project/target}/wine
cd "$project"
# Quick to build rather than to run.
"$prefix/unpacked/usr/bin/cargo" build -q -Zbuild-std --target x86_64-win7-windows-gnu \
    --config 'profile.dev.opt-level=0' --config 'profile.dev.debug=false' \
    --config 'profile.dev.package."*".opt-level=0' --bin simtel --example fake_simulator
built=$CARGO_TARGET_DIR/x86_64-win7-windows-gnu/debug
unset LD_LIBRARY_PATH

scratch=$(mktemp -d)
trap 'wineserver -k || true; rm -rf "$scratch"' EXIT
cp samples/iracing.ibt samples/f1_2025.pcap "$scratch"
cd "$scratch"
simtel() { timeout 120 wine "$built/simtel.exe" "$@"; }
fake() { timeout 120 wine "$built/examples/fake_simulator.exe" "$@"; }
# A number of a report.
number() { grep -oE "\"$2\": ?[0-9]+" "$1" | tail -1 | grep -oE '[0-9]+$'; }
simtel --version

step "a simulator with names is recorded"
simtel record iracing --wait 60s -o live.ibt --json >report.json 2>events.json &
sleep 3
fake publish --rate 60 --seconds 20 --change-every 300 >published.txt
wait $! || fail "the recording: $(tail -2 events.json)"
published=$(grep -oE '[0-9]+' published.txt)
[ "$(number report.json ticks)" = "$published" ] || fail "$published published, $(cat report.json)"
[ "$(number report.json session_strings)" = 5 ] || fail "session strings: $(cat report.json)"
grep -q '"reason": "disconnected"' report.json || fail "$(cat report.json)"
simtel convert live.ibt -o out -q
echo "$published ticks, 5 session strings"

step "a recording becomes a simulator that programs and simtel itself see"
simtel record iracing --map -o again.ibt --wait 60s --json >report.json 2>events.json &
recording=$!
fake watch --seconds 60 --names 'Local\SimtelIRSDKMemMapFileName' 'Local\SimtelIRSDKDataValidEvent' >watched.txt &
watcher=$!
sleep 3
simtel replay iracing.ibt --map -q
wait $recording || fail "the recording: $(tail -2 events.json)"
wait $watcher || fail "nothing was seen"
cat watched.txt
[ "$(number report.json ticks)" = 120 ] || fail "$(cat report.json)"
seen=$(grep -oE 'seen [0-9]+' watched.txt | grep -oE '[0-9]+')
[ "$seen" -ge 110 ] || fail "another program has seen $seen of 120 ticks"
simtel convert iracing.ibt -o before -f csv --columns 'Speed,Lap,SessionTime' -q
simtel convert again.ibt -o after -f csv --columns 'Speed,Lap,SessionTime' -q
rows() { cut -d, -f2- "$1/iracing/ticks.csv"; }
[ "$(rows before)" = "$(rows after)" ] || fail "other values were recorded"

step "as the simulator itself, and never beside one"
fake watch --seconds 60 >watched.txt &
watcher=$!
simtel replay iracing.ibt --as-simulator --loop 3 -q &
replay=$!
sleep 2
if simtel replay iracing.ibt --as-simulator -q 2>refused.txt; then fail "two simulators"; fi
grep -q "belongs to a simulator" refused.txt || fail "$(cat refused.txt)"
wait $replay
wait $watcher || fail "nothing was seen"
cat watched.txt

step "messages reach the simulator's window"
Xvfb :99 -screen 0 640x480x8 >/dev/null 2>&1 &
display=$!
export DISPLAY=:99
sleep 1
fake window 25 >messages.txt &
window=$!
for attempt in $(seq 50); do
    grep -q ready messages.txt && break
    sleep 0.2
done
while read -r message; do
    # shellcheck disable=SC2086
    simtel iracing send $message
done <<'MESSAGES'
camera --focus incident --group 7 --camera 9
camera --car 007
replay-position end 74565
replay-time --session 2 90500ms
pit fuel 40
telemetry start
max-force -1
MESSAGES
wait $window
tr -d '\r' <messages.txt | grep message >got.txt || true
kill $display
unset DISPLAY
diff - got.txt <<'MESSAGES' || fail "other messages arrived"
message fffffffffffd0000 0000000000090007
message 000000000bbf0001 0000000000000000
message 0000000000020004 0000000000012345
message 000000000002000c 0000000000016184
message 0000000000020009 0000000000000028
message 000000000001000a 0000000000000000
message 000000000000000b ffffffffffff0000
MESSAGES
cat got.txt

step "datagrams are recorded, replayed and converted"
simtel record udp --listen 127.0.0.1:29777 -o again.pcap --idle-stop 3s --duration 60s -q &
recording=$!
sleep 3
simtel replay f1_2025.pcap --to 127.0.0.1:29777 --max-gap 500ms -q
wait $recording
simtel convert f1_2025.pcap -o before -f csv -q
simtel convert again.pcap -o after -f csv -q
for table in before/f1_2025/*.csv; do
    cut -d, -f2- "$table" | cmp -s - <(cut -d, -f2- "after/${table#before/}") || fail "$table differs"
done
echo "$(find before/f1_2025 -name '*.csv' | wc -l) tables equal"

step "done on Windows"
