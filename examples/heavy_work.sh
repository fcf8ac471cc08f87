#!/usr/bin/env bash
# Ten minutes of honest work to look at: write, sort, compress, compile, rest in between.
#
#     sonde run --name heavy -- bash examples/heavy_work.sh [SCALE]
#
# SCALE 1.0 takes about ten minutes on two cores; 0.01 a few seconds. Works in a folder of its own
# below the current one and removes it.
set -euo pipefail
scale=${1:-1.0}
work=$(mktemp -d ./heavy-work.XXXXXX)
trap 'rm -rf "$work"' EXIT
started=$SECONDS

say() { printf '%4d s  %s\n' $((SECONDS - started)) "$1"; }
scaled() { awk -v n="$1" -v s="$scale" 'BEGIN { printf "%d", n * s + 1 }'; }

say "write: random lines to disk, one core"
awk -v n="$(scaled 60000000)" 'BEGIN { srand(7); for (i = 0; i < n; i++) print rand() " " i }' \
    > "$work/lines"

say "sort: memory first, then temporary files"
sort --parallel=2 --buffer-size=1G --temporary-directory="$work" "$work/lines" -o "$work/sorted"
sync

say "rest: nothing at all"
sleep "$(scaled 40)"

say "compress: all cores"
head -c "$(scaled 250000000)" "$work/sorted" | xz --threads=0 -3 > "$work/sorted.xz"

say "compile: many short-lived processes"
mkdir "$work/source"
for number in $(seq "$(scaled 60)"); do
    cat > "$work/source/unit$number.cpp" <<UNIT
#include <map>
#include <numeric>
#include <regex>
#include <string>
#include <vector>
int work$number(const std::string &text) {
    std::map<std::string, std::vector<int>> seen;
    std::regex words("[a-z]+$number");
    for (auto i = std::sregex_iterator(text.begin(), text.end(), words); i != std::sregex_iterator(); ++i)
        seen[i->str()].push_back(i->position());
    return std::accumulate(seen.begin(), seen.end(), 0, [](int n, auto &p) { return n + p.second.size(); });
}
UNIT
done
find "$work/source" -name '*.cpp' -print0 | xargs -0 -P "$(nproc)" -I{} c++ -O1 -std=c++17 -c {} -o {}.o

say "done"
