#!/bin/sh
# Runs rdmactl k8s lint over folders, each the work tree of a repository, and prints how many
# findings each rule has. No part of the folders enters this repository.
#
#   integration/lint/run.sh -o findings.csv FOLDER...
#
# A folder may have a file COMMIT with the commit that it was taken from. The CSV has a line for
# each finding: repository@commit:path:line, rule, severity, summary. Needs jq and GNU time.
set -eu

out=findings.csv
limit=300
while getopts o:t: option; do
	case $option in
	o) out=$OPTARG ;;
	t) limit=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { echo "usage: $0 [-o FILE.csv] [-t SECONDS] FOLDER..." >&2; exit 2; }
rdmactl=${RDMACTL:-rdmactl}
command -v "$rdmactl" >/dev/null || { echo "$0: no $rdmactl: set RDMACTL" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$out"
printf '%-48s %7s %7s %6s %6s %6s %8s %8s\n' REPOSITORY FILES OBJECTS ERROR WARN NOTE SECONDS MEBIBYTE
for folder; do
	name=$(basename "$folder" | tr + /)
	commit=unknown
	[ -f "$folder/COMMIT" ] && commit=$(cut -c1-12 "$folder/COMMIT")
	code=0
	(cd "$folder" && exec /usr/bin/time -q -o "$work/time" -f '%e %M' \
		timeout "$limit" "$rdmactl" -q k8s lint --settings none -o json .) \
		>"$work/report.json" 2>"$work/errors" || code=$?
	if ! [ -s "$work/report.json" ]; then
		printf '%-48s exit code %d: %s\n' "$name" "$code" "$(head -n 1 "$work/errors")"
		continue
	fi
	read -r seconds kib <"$work/time"
	jq -r '[(.files | length), (.objects | length), .counts.error, .counts.warn, .counts.note] | @tsv' \
		"$work/report.json" | {
		read -r files objects errors warnings notes
		printf '%-48s %7d %7d %6d %6d %6d %8s %8d\n' "$name" "$files" "$objects" "$errors" "$warnings" "$notes" \
			"$seconds" $((kib / 1024))
	}
	jq -r --arg at "$name@$commit" \
		'.findings[] | ["\($at):\(.file):\(.line // 0)", .rule, .severity, .summary] | @csv' \
		"$work/report.json" >>"$out"
done
echo
jq -R -r 'capture("^\"[^\"]*\",\"(?<rule>[^\"]*)\",\"(?<severity>[^\"]*)\"") | "\(.severity) \(.rule)"' "$out" |
	sort | uniq -c | sort -k2,2 -k1,1nr
