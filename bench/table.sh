#!/usr/bin/env bash
# Prints one table of the benchmarks here: the time of each, as a ratio to the
# copying of the file that is then synced or to the chain of 100,000 nodes, the
# peak of resident memory with mapped pages counted, and what the goal is.
# Each benchmark has a process of its own. Arguments go to go test, as -benchtime 5x.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d "${SGS_BENCH_DIR:-${TMPDIR:-/tmp}}/sgs-table-XXXXXX")
trap 'rm -rf "$work"' EXIT
export SGS_BENCH_DIR=$work
go test -c -o "$work/bench.test" ./bench

for name in CopySync OpenInspect EditSave KeepExternal Chain100k Chain1M Diamonds100k Sort100kDiamonds; do
	"$work/bench.test" -test.run '^$' -test.bench "^Benchmark$name\$" -test.benchtime "${BENCHTIME:-3x}" "$@" | grep '^Benchmark'
done | awk '
	function ratio(base) { return seconds[base] ? sprintf("%.2f x %s", s / seconds[base], base) : "" }
	BEGIN {
		goal["OpenInspect"] = "0.05 s, 48 MiB"; goal["EditSave"] = "1.3 x CopySync, 64 MiB"; goal["KeepExternal"] = "0.05 s"
		goal["Chain100k"] = "0.5 s"; goal["Chain1M"] = "12 x Chain100k"; goal["Sort100kDiamonds"] = "0.6 s for 3 nodes a level"
		printf "%-18s %9s  %-22s %9s  %s\n", "what", "seconds", "ratio", "peak MiB", "goal, at most"
	}
	{
		name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
		s = $3 / 1e9; seconds[name] = s; peak = ""
		for (i = 4; i < NF; i++) if ($(i + 1) == "peak-MiB") peak = $i
		r = ""
		if (name ~ /EditSave|KeepExternal|OpenInspect/) r = ratio("CopySync")
		if (name ~ /Chain1M|Diamonds/) r = ratio("Chain100k")
		printf "%-18s %9.3f  %-22s %9s  %s\n", name, s, r, peak, goal[name]
	}'
