package codes

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fields are the values that a text names, by key.
type fields map[string]string

// number is a decimal or hexadecimal number in a pattern.
const number = `(0x[0-9a-f]+|[0-9]+)`

// patterns find values in what programs print, in lower case. Several patterns of a key are tried
// in order.
var patterns = []struct {
	key     string
	pattern *regexp.Regexp
}{
	// perftest since late 2025: "Failed status-TEXT (12): wr_id 0 syndrom 0x81"
	{"status", regexp.MustCompile(`\bstatus-[a-z ]+\(` + number + `\)`)},
	// status=12, status 12, status: 0xc, status=IBV_WC_RETRY_EXC_ERR(12), status: (4)
	{"status", regexp.MustCompile(`\bstatus\s*[=:]?\s*(?:ibv_wc_[a-z_]*\s*)?\(?` + number + `\b`)},
	{"status", regexp.MustCompile(`\bwc->status=\([^)]*\)` + number)},
	{"status", regexp.MustCompile(`\bcompletion with error ` + number)}, // NCCL until 2.19
	{"status", regexp.MustCompile(`\bwc error: ` + number)},             // Linux, mlx5_handle_error_cqe
	{"status", regexp.MustCompile(`\bib[v]?_wc_[a-z_]+\s*\(` + number + `\)`)},
	{"vendor", regexp.MustCompile(`\bvend(?:or)?(?:[ _](?:errors?|err|syndrome|synd|code))*\s*[=:]?\s*` +
		`(0x[0-9a-f]+|[0-9][0-9a-f]*)\b`)},
	{"vendor", regexp.MustCompile(`\bsyndrom\s+` + number)}, // perftest
	{"kernelqp", regexp.MustCompile(`\bqp \d+ error: ([^(]+\(0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+\))`)},
	{"syndrome", regexp.MustCompile(`(?:^|[^_a-z ]\s*|\b(?:cqe|error|\w+:)\s+)synd(?:rome)?\s*[=:]?\s*` + number)},
	{"driver", regexp.MustCompile(`\b(mlx5|mlx4|bnxt_re|irdma|efa|erdma|ionic|hns|rxe|siw|qedr)_?(?:bond_?)?\d+\b`)},
	{"errno", regexp.MustCompile(`\berrno\s*[=:]?\s*(-?\d+)`)},
	{"sockets", regexp.MustCompile(`\bwrong (?:socket )?type \(?(?:peer )?(\d != (?:expected )?\d)`)},
	{"link", regexp.MustCompile(`:\d+/(roce|ib)\b`)},
}

// keys are what KEY=VALUE accepts, and ignored keys of log lines.
var (
	keys = []string{
		"status", "vendor", "driver", "program", "syndrome", "errno", "verb", "link", "event", "aeth",
	}
	ignoredKeys = []string{
		"opcode", "len", "byte_len", "reqsize", "req_type", "wr_id", "qp_num", "qpn", "wc_flags", "hw_synd", "wrid",
		"vendor_err", "vend", "synd", "hca", "pid", "device", "dev",
	}
)

// pair is KEY=VALUE; values with blanks are quoted.
var pair = regexp.MustCompile(`(?:^|\s)([a-z_]+)=("[^"]*"|'[^']*'|[^\s"']+)`)

// readFields finds the values in a text. If the text is nothing but KEY=VALUE, an unknown key is an
// error.
func readFields(text string) (fields, error) {
	f := fields{}
	low := strings.ToLower(text)
	only := strings.TrimSpace(pair.ReplaceAllString(low, "")) == ""
	for _, m := range pair.FindAllStringSubmatch(low, -1) {
		key, value := m[1], strings.Trim(m[2], `"'`)
		_, enum := EnumerationByKey(key)
		switch {
		case enum || slices.Contains(keys, key):
			if old, ok := f[key]; ok && old != value {
				return nil, fmt.Errorf("%s is given twice: %s and %s", key, clip(old), clip(value))
			}
			f[key] = value
		case only && !slices.Contains(ignoredKeys, key):
			return nil, fmt.Errorf("unknown key %q: %s", clip(key), accepted)
		}
	}
	for _, p := range patterns {
		m := p.pattern.FindStringSubmatch(low)
		if m != nil && (f[p.key] == "" || p.key == "status" && strings.HasPrefix(f["status"], "ib")) {
			f[p.key] = m[1]
		}
	}
	moveVendor(f)
	if f["driver"] != "" {
		if d, ok := DriverOf(f["driver"]); ok {
			f["driver"] = d
		}
	}
	f.guessProgram(low)
	return f, nil
}

// moveVendor takes a "syndrome" for the vendor's code if it can't be a syndrome of a completion:
// UCX before 1.6 printed it so.
func moveVendor(f fields) {
	n, err := strconv.ParseUint(f["syndrome"], 0, 8)
	if err != nil || f["vendor"] != "" {
		return
	}
	if _, known := StatusBySyndrome(uint8(n)); !known && n >= 0x30 {
		f["vendor"] = f["syndrome"]
		delete(f, "syndrome")
	}
}

// guessProgram recognizes the lines of NCCL, whose vendor codes are decimal.
func (f fields) guessProgram(low string) {
	if f["program"] != "" {
		return
	}
	if strings.Contains(low, "nccl") || strings.Contains(low, "net/ib") ||
		strings.Contains(low, "opcode") && (strings.Contains(low, "vendor err ") || strings.Contains(low,
			"vendor_err=")) {
		f["program"] = "nccl"
	}
}

// nextState is the state that NCCL names in the line of a failed ibv_modify_qp.
var nextState = regexp.MustCompile(`next state ([a-z]+)`)

// findOperation looks for the operation in the text around an error number.
func (f fields) findOperation(text string) {
	op, ok := OperationByText(text)
	if m := nextState.FindStringSubmatch(strings.ToLower(text)); len(m) == 2 && m[1] != "rtr" {
		return
	}
	if ok && f["verb"] == "" {
		f["verb"] = string(op)
	}
}
