package nccl

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// Tests returns the forms of the output of nccl-tests and rccl-tests: the devices at the beginning,
// and results.
func Tests() forms.Table {
	type parser = func(m, before string, f evidence.Fields) bool
	row := func(name, anchor string, kind evidence.Kind, parse parser) forms.Row {
		return forms.Row{
			Name: name, Kind: kind, Anchor: anchor, Source: "NVIDIA/nccl-tests, src/common.cu",
			Parse: parse, Info: true,
		}
	}
	head := func(m, before string, _ evidence.Fields) bool {
		return strings.Trim(before, "# ") == "" && strings.Contains(m, " nGpus ") && strings.Contains(m, " minBytes ")
	}
	average := func(_, before string, _ evidence.Fields) bool { return strings.TrimSpace(before) == "#" }
	return forms.Table{
		Program: "nccl-tests", Strict: true,
		Markers: []string{" Pid ", "nThread ", "Avg bus bandwidth", "   sum ", "  none "},
		Forms: forms.Rows("nccl-tests", []forms.Row{
			row("rank", " Pid ", evidence.NCCLTestsRank, parseTestsRank),
			row("head", "nThread ", evidence.NCCLTestsHead, head),
			row("average", "Avg bus bandwidth", evidence.NCCLTestsResult, average),
			row("sum", " sum ", evidence.NCCLTestsResult, parseTestsRow),
			row("none", " none ", evidence.NCCLTestsResult, parseTestsRow),
		}, nil),
	}
}

// parseTestsRank reads "#  Rank  0 Group  0 Pid   4766 on   node1 device  0 [0x21] NVIDIA H100".
func parseTestsRank(m, before string, f evidence.Fields) bool {
	words, rest := strings.Fields(before), strings.Fields(m)
	i := slices.Index(words, "Rank")
	if i != 0 && (i != 1 || words[0] != "#") || i+1 >= len(words) || len(rest) < 6 || rest[2] != "on" ||
		rest[4] != "device" {
		return false
	}
	f["rank"], f["host"], f["pid"] = words[i+1], rest[3], rest[1]
	f["group"] = "0" // until 2.13 there were no groups
	if j := slices.Index(words, "Group"); j > 0 && j+1 < len(words) {
		f["group"] = words[j+1]
	}
	_, gpu, _ := strings.Cut(m, "] ")
	f["gpu"] = strings.TrimSpace(gpu)
	return digits(f["rank"])
}

// parseTestsRow reads a row of results: size, count, type, operation, root, time, …
func parseTestsRow(m, before string, _ evidence.Fields) bool {
	words := strings.Fields(before)
	return len(words) == 3 && digits(words[0]) && digits(words[1]) && len(strings.Fields(m)) >= 5
}
