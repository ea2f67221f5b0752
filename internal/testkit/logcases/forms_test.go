package logcases

import (
	"regexp"
	"strings"
	"testing"
)

// form is what a message looks like between two releases, written down from the source of
// NVIDIA/nccl at the tags and not from the generator.
type form struct {
	from, until version // until is the last release with the form
	re          *regexp.Regexp
}

const peer = `from peer \S+<\d+> `

var completionForms = []form{
	{version{2, 3, 0}, version{2, 9, 9}, regexp.MustCompile(
		`^NET/IB : Got completion with error \d+, opcode \d+, len \d+, vendor err \d+$`)},
	{version{2, 10, 3}, version{2, 17, 1}, regexp.MustCompile(
		`^NET/IB : Got completion ` + peer + `with error \d+, opcode \d+, len \d+, vendor err \d+$`)},
	{version{2, 18, 1}, version{2, 19, 4}, regexp.MustCompile(`^NET/IB : Got completion ` + peer +
		`with error \d+, opcode \d+, len \d+, vendor err \d+ \((Send|Recv)\)( localGid [\w:.]+ remoteGid [\w:.]+)?$`)},
	{version{2, 20, 3}, version{2, 21, 5}, regexp.MustCompile(`^NET/IB : Got completion ` + peer +
		`with status=\d+ opcode=\d+ len=\d+ vendor err \d+ \((Send|Recv)\)( localGid [\w:.]+ remoteGids[\w:.]+)?$`)},
	{version{2, 22, 3}, version{2, 28, 3}, regexp.MustCompile(`^NET/IB: Got completion ` + peer + `with status=\d+ ` +
		`opcode=\d+ len=\d+ vendor err \d+ \((Send|Recv)\)( localGid [\w:.]+ remoteGids[\w:.]+)? hca \w+$`)},
	{version{2, 28, 7}, version{2, 28, 9}, regexp.MustCompile(`^NET/IB: Got completion ` + peer +
		`with status=IBV_WC_\w+\(\d+\) opcode=IBV_WC_\w+\(\d+\) reqSize=\d+ vendor_err=\d+ req_type=(Send|Recv)` +
		`( localGid [\w:.]+ remoteGids[\w:.]+)? hca \w+$`)},
	{version{2, 29, 2}, version{2, 99, 0}, regexp.MustCompile(`^NET/IB: Got completion ` + peer +
		`with status=IBV_WC_\w+\(\d+\) opcode=IBV_WC_\w+\(\d+\) vendor_err=\d+ ( localGid [\w:.]+ remoteGids[\w:.]+)?` +
		` hca \w+$`)},
}

var modifyForms = []form{
	{version{2, 3, 0}, version{2, 18, 6}, regexp.MustCompile(`^Call to ibv_modify_qp failed with error [A-Z][a-z ]+$`)},
	{version{2, 19, 1}, version{2, 23, 4}, regexp.MustCompile(
		`^Call to ibv_modify_qp failed with error [A-Z][a-z ]+ errno \d+$`)},
	{version{2, 24, 3}, version{2, 99, 0}, regexp.MustCompile(`^Call to ibv_modify_qp failed with \d+ [A-Z][a-z ]+, ` +
		`on dev \w+:1, curr state INIT, next state RTR, local GID index \d+, local GID \S+, remote GID \S+$`)},
}

var bootstrapForms = []form{
	{version{2, 3, 0}, version{2, 7, 8}, regexp.MustCompile(`^Bootstrap : Using \[0\]\w+:\S+<0>$`)},
	{version{2, 8, 3}, version{2, 23, 4}, regexp.MustCompile(`^Bootstrap : Using [\w-]+:\S+<0>$`)},
	{version{2, 24, 3}, version{2, 99, 0}, regexp.MustCompile(`^Bootstrap: Using [\w-]+:\S+<0>$`)},
}

var asyncForms = []form{
	{version{2, 3, 0}, version{2, 19, 4}, regexp.MustCompile(`^NET/IB : Got async event : [a-z ]+$`)},
	{version{2, 20, 3}, version{2, 22, 3}, regexp.MustCompile(`^NET/IB : \w+:1 Got async event : [a-z ]+$`)},
	{version{2, 23, 4}, version{2, 28, 3}, regexp.MustCompile(`^NET/IB : \w+:1 (Got async error event: [a-z ]+` +
		`|async fatal event on QP \(0x[0-9a-f]+\): [a-z ]+|unknown event type \(\d+\))$`)},
	{version{2, 28, 7}, version{2, 99, 0}, regexp.MustCompile(`^NET/IB : \w+:1 (` +
		`Got non-fatal async event: [a-z ]+\(\d+\)` +
		`|async fatal event on QP \(0x[0-9a-f]+\)[\w =]*: [a-z ]+|GID table changed|unknown event type \(\d+\))$`)},
}

var ringsForms = []form{
	{version{2, 3, 0}, version{2, 23, 4}, regexp.MustCompile(`^Connected all rings$`)},
	{version{2, 24, 3}, version{2, 99, 0}, regexp.MustCompile(`^Connected all rings, use ring PXN [01] GDR [01]$`)},
}

var commForms = []form{
	{version{2, 3, 0}, version{2, 17, 1}, regexp.MustCompile(
		`^comm 0x\w+ rank \d+ nranks \d+ cudaDev \d busId \w+ - Init COMPLETE$`)},
	{version{2, 18, 1}, version{2, 20, 5}, regexp.MustCompile(
		`^comm 0x\w+ rank \d+ nranks \d+ cudaDev \d nvmlDev \d busId \w+ commId 0x\w+ - Init (START|COMPLETE)$`)},
	{version{2, 21, 5}, version{2, 28, 9}, regexp.MustCompile(`^ncclCommInitRank comm 0x\w+ rank \d+ nranks \d+ ` +
		`cudaDev \d nvmlDev \d busId \w+ commId 0x\w+ - Init (START|COMPLETE)$`)},
	{version{2, 29, 2}, version{2, 99, 0}, regexp.MustCompile(`^(\[Rank \d+\] ncclCommInitRank comm 0x\w+ ` +
		`rank \d+ nranks \d+ cudaDev \d nvmlDev \d busId \w+ commId 0x\w+ - Init START|ncclCommInitRank comm 0x\w+ ` +
		`rank \d+ nranks \d+ cudaDev \d nvmlDev \d busId \w+ commId 0x\w+ - Init COMPLETE)$`)},
}

var channelForms = []form{
	{version{2, 3, 0}, version{2, 11, 4}, regexp.MustCompile(
		`^Channel \d\d : \d+\[[0-9a-f]+000\] -> \d+\[[0-9a-f]+000\] `)},
	{version{2, 12, 7}, version{2, 18, 1}, regexp.MustCompile(
		`^Channel \d\d/\d : \d+\[[0-9a-f]+000\] -> \d+\[[0-9a-f]+000\] `)},
	{version{2, 18, 3}, version{2, 99, 0}, regexp.MustCompile(`^Channel \d\d/\d : \d+\[\d\] -> \d+\[\d\] `)},
}

var qpForms = []form{
	{version{2, 3, 0}, version{2, 19, 4}, regexp.MustCompile(
		`^NET/IB: Dev \d Port 1 qpn \d+ mtu [1-5] (LID \d+|GID \d+ \([0-9A-F]+/[0-9A-F]+\))$`)},
	{version{2, 20, 3}, version{2, 26, 6}, regexp.MustCompile(`^NET/IB: NCCL Dev \d IbDev \d Port 1 qpn \d+ ` +
		`mtu [1-5] (LID \d+( subnet-prefix \d+  FLID \d+)?|query_ece=\{supported=\d, vendor_id=0x\w+, ` +
		`options=0x\w+, comp_mask=0x\w+\} GID \d+ \([0-9A-F]+/[0-9A-F]+\)) fifoRkey=0x\w+ fifoLkey=0x\w+$`)},
	{version{2, 27, 3}, version{2, 28, 9}, regexp.MustCompile(`^NET/IB: NCCL Dev \d IbDev \d Port 1 qpn \d+ ` +
		`mtu [1-5] (LID \d+ subnet-prefix \d+  FLID \d+|GID \d+ \([0-9A-F]+/[0-9A-F]+\)) ` +
		`fifoRkey=0x\w+ fifoLkey=0x\w+$`)},
	{version{2, 29, 2}, version{2, 29, 3}, regexp.MustCompile(`^NET/IB: NCCL Dev \d IbDev \d Port 1 qpn \d+ ` +
		`mtu [1-5] (LID \d+ subnet-prefix \d+  FLID \d+|GID \d+ \([0-9A-F]+/[0-9A-F]+\)) ` +
		`ctsFifoRkey=0x\w+ ctsFifoLkey=0x\w+$`)},
	{version{2, 29, 7}, version{2, 99, 0}, regexp.MustCompile(`^NET/IB: \w+: NCCL Dev \d IbDev \d Port 1 ` +
		`qp_num \d+ mtu [1-5] (LID \d+ subnet-prefix \d+  FLID \d+|GID \d+ \([0-9A-F]+/[0-9A-F]+\)) ` +
		`ctsFifoRkey=0x\w+ ctsFifoLkey=0x\w+$`)},
}

var backtraceForms = []form{
	{version{2, 3, 0}, version{2, 30, 4}, regexp.MustCompile(
		`^[\w/.]+\.cc:\d+ -> \d+( \[(Progress Thread|Async thread)\])?$`)},
	{version{2, 30, 7}, version{2, 99, 0}, regexp.MustCompile(
		`^[\w/.]+\.cc:\d+ \(\w+\) -> \d+( \[(Progress Thread|Async thread)\])?$`)},
}

var channelCountForms = []form{
	{version{2, 3, 0}, version{2, 16, 5}, regexp.MustCompile(
		`^\d+ coll channels, \d+ p2p channels, \d+ p2p channels per peer$`)},
	{version{2, 17, 1}, version{2, 19, 4}, regexp.MustCompile(
		`^\d+ coll channels, \d+ nvls channels, \d+ p2p channels, \d+ p2p channels per peer$`)},
	{version{2, 20, 3}, version{2, 99, 0}, regexp.MustCompile(
		`^\d+ coll channels, \d+ collnet channels, \d+ nvls channels, \d+ p2p channels, \d+ p2p channels per peer$`)},
}

// messages are the kinds of messages that have forms, by a part that all forms share.
var messages = []struct {
	part   *regexp.Regexp
	forms  []form
	except *regexp.Regexp // messages of the same words that NCCL doesn't print itself
}{
	{regexp.MustCompile(`^NET/IB ?: Got completion`), completionForms, regexp.MustCompile(`ib_plugin\.c`)},
	{
		regexp.MustCompile(`^Call to ibv_modify_qp failed`), modifyForms,
		regexp.MustCompile(`ibvwrap\.c:|retrying|\.\.\.$`),
	},
	{regexp.MustCompile(`^Bootstrap ?: Using`), bootstrapForms, nil},
	{regexp.MustCompile(`^NET/IB : .*(async|unknown event|GID table changed)`), asyncForms, nil},
	{regexp.MustCompile(`^Connected all rings`), ringsForms, nil},
	{regexp.MustCompile(` - Init (START|COMPLETE)$`), commForms, nil},
	{regexp.MustCompile(`^Channel \d\d(/\d)? : .* -> `), channelForms, nil},
	{regexp.MustCompile(`^NET/IB: .*Port 1 qp`), qpForms, nil},
	{regexp.MustCompile(`\.cc:\d+ .*-> \d`), backtraceForms, nil},
	{regexp.MustCompile(`coll channels`), channelCountForms, nil},
}

// warnPrefix is what stands in front of a WARN message.
var warnPrefixes = []form{
	{version{2, 3, 0}, version{2, 25, 1}, regexp.MustCompile(`^[\w.-]+:\d+:\d+ \[\d+\] [\w./]+:\d+ $`)},
	{version{2, 26, 2}, version{2, 30, 4}, regexp.MustCompile(
		`^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] [\w.-]+:\d+:\d+ \[\d+\] [\w./]+:\d+ $`)},
	{version{2, 30, 7}, version{2, 99, 0}, regexp.MustCompile(
		`^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] [\w.-]+:\d+:\d+ \[\d+\] [\w./]+:\d+ \(\w+\) $`)},
}

func (v version) less(w version) bool {
	if v.minor != w.minor {
		return v.minor < w.minor
	}
	return v.patch < w.patch
}

// fits reports whether a text has the form of the release.
func fits(forms []form, v version, text string) bool {
	for _, f := range forms {
		if !v.less(f.from) && !f.until.less(v) {
			return f.re.MatchString(text)
		}
	}
	return false
}

// TestForms checks each line of NCCL in the cases against the form of the release that the case
// states.
func TestForms(t *testing.T) {
	checked := map[string]int{}
	for _, c := range load(t) {
		if c.session == nil {
			continue
		}
		versions := map[string]version{}
		for _, n := range c.session.nodes {
			versions[n.name] = n.version
		}
		for _, f := range c.Files {
			for line := range strings.Lines(string(f.Data)) {
				line = strings.TrimSuffix(line, "\n")
				checkLine(t, c.ID+" "+f.Name, line, versions, checked)
			}
		}
	}
	for _, m := range messages {
		if checked[m.part.String()] < 4 {
			t.Errorf("only %d lines match %s", checked[m.part.String()], m.part)
		}
	}
}

func checkLine(t *testing.T, where, line string, versions map[string]version, checked map[string]int) {
	t.Helper()
	m := rankIn.FindStringSubmatch(line)
	if m == nil {
		return
	}
	v, ok := versions[m[1]]
	if !ok {
		t.Errorf("%s: %s: the host isn't one of the case", where, line)
		return
	}
	prefix, text, warn := strings.Cut(line, "NCCL WARN ")
	if warn {
		if !fits(warnPrefixes, v, prefix) {
			t.Errorf("%s: %s: not the prefix of a WARN line of %v", where, line, v)
		}
	} else {
		_, text, _ = strings.Cut(line, "NCCL INFO ")
	}
	for _, m := range messages {
		if !m.part.MatchString(text) || m.except != nil && m.except.MatchString(line) {
			continue
		}
		checked[m.part.String()]++
		if !fits(m.forms, v, text) {
			t.Errorf("%s: %s: not a form of %v", where, text, v)
		}
	}
}

// TestEveryRelease checks the forms of each release that they tell apart, on both link layers.
func TestEveryRelease(t *testing.T) {
	const head, log = "title: x\nnodes: a@10.0.0.1 b@10.0.0.2\ngpus: 2\nsubsys: INIT,NET,ENV\n", "-- l --\n@init\n" +
		"!C0 status=12 vendor=129 peer=1\n!M1 errno=110 peer=1\n!A2 dev=mlx5_0 | port error\n" +
		"!W3 init.cc:1 Mismatched\n!B0 6 transport/net.cc:1 proxy.cc:2*\n"
	for _, release := range []string{
		"2.7.8", "2.8.3", "2.9.9", "2.10.3", "2.11.4", "2.12.12", "2.14.3", "2.16.5", "2.17.1", "2.18.1", "2.18.3",
		"2.19.4", "2.20.3", "2.21.5", "2.22.3", "2.23.4", "2.24.3", "2.25.1", "2.26.2", "2.27.3", "2.28.3", "2.28.7",
		"2.28.9", "2.29.2", "2.29.7", "2.30.4", "2.30.7",
	} {
		for _, link := range []string{"IB", "RoCE"} {
			c := parse(t, head+"nccl: "+release+"\nlink: "+link+"\n"+log)
			v := c.session.nodes[0].version
			nodes, checked := map[string]version{"a": v, "b": v}, map[string]int{}
			for line := range strings.Lines(text(c)) {
				checkLine(t, release+" "+link, strings.TrimSuffix(line, "\n"), nodes, checked)
			}
			for _, m := range messages {
				if checked[m.part.String()] == 0 {
					t.Errorf("%s %s: no line matches %s", release, link, m.part)
				}
			}
		}
	}
}
