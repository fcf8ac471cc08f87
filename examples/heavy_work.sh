#!/usr/bin/env bash
# Ten minutes of heavy work: write, sort, sleep, compress, compile.
#
#     sonde run --name heavy -- bash examples/heavy_work.sh [SCALE]
#
# SCALE 1.0 takes about ten minutes on two cores, 0.01 a few seconds. Works in a temporary folder in
# the current folder and removes it.
set -euo pipefail
scale=${1:-1.0}
work=$(mktemp -d ./heavy-work.XXXXXX)
trap 'rm -rf "$work"' EXIT
started=$SECONDS

log() { printf '%4d s  %s\n' $((SECONDS - started)) "$1"; }
scaled() { awk -v n="$1" -v s="$scale" 'BEGIN { printf "%d", n * s + 1 }'; }

log "write: random lines to disk, one core"
awk -v n="$(scaled 60000000)" 'BEGIN { srand(7); for (i = 0; i < n; i++) print rand() " " i }' \
    > "$work/lines"

log "sort: memory first, then temporary files"
sort --parallel=2 --buffer-size=1G --temporary-directory="$work" "$work/lines" -o "$work/sorted"
sync

log "sleep: no work"
sleep "$(scaled 40)"

log "compress: all cores"
head -c "$(scaled 250000000)" "$work/sorted" | xz --threads=0 -3 > "$work/sorted.xz"

log "compile: many short-lived processes"
mkdir "$work/source"
for number in $(seq "$(scaled 60)"); do
    cat > "$work/source/unit$number.cpp" <<UNIT
#include <map>
#include <numeric>
#include <regex>
#include <string>
#include <vector>
int work$number(const std::string &text) {
    std::map<std::string, std::vector<int>> positions;
    std::regex words("[a-z]+$number");
    for (auto i = std::sregex_iterator(text.begin(), text.end(), words); i != std::sregex_iterator(); ++i)
        positions[i->str()].push_back(i->position());
    return std::accumulate(positions.begin(), positions.end(), 0, [](int n, auto &p) { return n + p.second.size(); });
}
UNIT
done
find "$work/source" -name '*.cpp' -print0 | xargs -0 -P "$(nproc)" -I{} c++ -O1 -std=c++17 -c {} -o {}.o

log "done"
