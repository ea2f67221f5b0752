package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// kind says what a name stands for; it is the first part of the replacement.
type kind string

const (
	kindNode      kind = "node"
	kindPod       kind = "pod"
	kindNamespace kind = "namespace"
	kindSwitch    kind = "switch"
	kindInstance  kind = "instance"
	kindSystem    kind = "fs"
	kindSubsystem kind = "subsystem"
)

// named is a form of text that contains a name, in its last group.
type named struct {
	form *regexp.Regexp
	kind kind
	// clear is for forms that also match plain words: only names with a digit, dash or dot count.
	clear bool
}

// host matches a name of a node in the patterns below.
const host = `([A-Za-z][-0-9A-Za-z_.]*[0-9A-Za-z]|[A-Za-z])`

// pod matches a name of a pod or namespace.
const pod = `([a-z0-9][-a-z0-9.]*[a-z0-9])`

// forms are where lines of logs have names of nodes, pods and other things of one site. Names in
// the prefix of a line are also those of the facts, if a rule was told of them.
var namedForms = []named{
	// Prefixes that launchers and programs put before a line.
	{form: regexp.MustCompile(`^` + host + `: \[rank[0-9]+\]`), kind: kindNode},
	{form: regexp.MustCompile(`^` + host + `:[0-9]+:[0-9]+ `), kind: kindNode},
	{form: regexp.MustCompile(`\[` + host + `:[0-9]+ *:[0-9]+[\]:]`), kind: kindNode},
	{form: regexp.MustCompile(`^\[` + host + `:[0-9]{2,7}\] `), kind: kindNode},
	{form: regexp.MustCompile(`\[(?:mpiexec|proxy:[0-9]+:[0-9]+)@` + host + `\]`), kind: kindNode},
	// NCCL, c10d, Gloo, perftest and ssh name peers with their ports.
	{form: regexp.MustCompile(`(?:^|\s)` + host + `<[0-9]{1,5}>`), kind: kindNode},
	{form: regexp.MustCompile(`\b(?:to|of|from|at|on) \(` + host + `, [0-9]{1,5}\)`), kind: kindNode},
	{form: regexp.MustCompile(`\[` + host + `\]:[0-9]{1,5}\b`), kind: kindNode},
	{
		form: regexp.MustCompile(`(?i)\bconnect(?:ion)? to (?:host |node |server )?["']?` + host + `:[0-9]{2,5}\b`),
		kind: kindNode,
	},
	{form: regexp.MustCompile(`\bconnect to host ` + host + ` port`), kind: kindNode},
	// Slurm, and mpirun's last words.
	{form: regexp.MustCompile(`\b(?:JOB|STEP) [0-9.+]+ ON ` + host), kind: kindNode},
	{form: regexp.MustCompile(`\bsrun: [a-z]+: ` + host + `: tasks? `), kind: kindNode},
	{form: regexp.MustCompile(`\bsrun: [a-z]+: ([A-Za-z][-0-9A-Za-z_.]*\[[-0-9,]+\]): tasks? `), kind: kindNode},
	{form: regexp.MustCompile(`\bon node ` + host), kind: kindNode, clear: true},
	{
		form: regexp.MustCompile(`(?i)\b(?:host|hostname|nodename|nodelist|node)["']? *[:=] *["']?` + host),
		kind: kindNode, clear: true,
	},
	{
		form: regexp.MustCompile(
			`\b(?:MASTER_ADDR|NCCL_COMM_ID|HEAD_NODE)["']?(?: set by environment to|[=:])? *["']?` + host),
		kind: kindNode,
	},
	{
		form: regexp.MustCompile(`(?i)\b(?:resolve|lookup|getaddrinfo)(?: host| hostname)?[ (:]+["']?` + host),
		kind: kindNode, clear: true,
	},
	{
		form: regexp.MustCompile(`(?i)\b([a-z0-9][-a-z0-9.]*\.(?:svc|internal|local|lan|corp|intra|compute\.amazonaws\.com))\b`),
		kind: kindNode,
	},
	// Descriptions of nodes in OpenSM and the tools of the fabric.
	{form: regexp.MustCompile(`\bMF0;([^:;)"]+)`), kind: kindSwitch},
	{
		form: regexp.MustCompile(`[("']` + host + ` (?:HCA-[0-9]+|(?:mlx|bnxt|hfi|mthca|rocep|ibp)[0-9a-z_]*)[)"']`),
		kind: kindNode,
	},
	{form: regexp.MustCompile(`\b` + host + ` HCA-[0-9]+\b`), kind: kindNode, clear: true},
	// Kubernetes.
	{form: regexp.MustCompile(`\[` + pod + `/[a-z0-9][-a-z0-9.]*(?:/[-0-9a-f]{36})?:[a-z]`), kind: kindNamespace},
	{form: regexp.MustCompile(`\[[a-z0-9][-a-z0-9]*/` + pod + `(?:/[-0-9a-f]{36})?:[a-z]`), kind: kindPod},
	{form: regexp.MustCompile(`\bpods?/` + pod), kind: kindPod, clear: true},
	{form: regexp.MustCompile(`(?i)\bpods?(?:name)?[:= ]+"(?:[-a-z0-9]+/)?` + pod + `"`), kind: kindPod},
	{form: regexp.MustCompile(`(?i)\bpods?(?:name)?[:= ]+"?` + pod + `/[a-z0-9]`), kind: kindNamespace},
	{form: regexp.MustCompile(`(?i)\bpods?(?:name)?[:= ]+[-a-z0-9]+/` + pod), kind: kindPod, clear: true},
	{form: regexp.MustCompile(`\bassigned ` + pod + `/`), kind: kindNamespace},
	{form: regexp.MustCompile(`\bassigned [-a-z0-9]+/` + pod + ` to `), kind: kindPod},
	{form: regexp.MustCompile(`\bassigned [-a-z0-9]+/[-a-z0-9.]+ to ` + host), kind: kindNode},
	// Clouds and storage.
	{form: regexp.MustCompile(`\b((?:i|eni|vpc|subnet|sg|vol)-[a-f]*[0-9][0-9a-f]{2,16})\b`), kind: kindInstance},
	{form: regexp.MustCompile(`\b([0-9A-Za-z_]{1,8})-(?:OST|MDT)[0-9a-f]{4}`), kind: kindSystem},
	{form: regexp.MustCompile(`\b(nqn\.[^\s",']+)`), kind: kindSubsystem},
}

// nobody matches words that stand where names do, and name nothing of a site: devices, files of
// source code, and roles.
var nobody = regexp.MustCompile(`(?i)^(localhost|default|none|null|unknown|host|hostname|node|peer|server|client|` +
	`rank|remote|local|self|kube-[a-z-]+|nccl|ucx|cuda|mpi|` +
	`.*\.(py|pyx|c|cc|cpp|cu|cuh|h|hpp|inl|go|rs|so|so\.[0-9.]+)|` +
	`(rank|cpu|numa|eth|ib|lo|bond|ens|eno|enp|mlx|bnxt_re|hfi|irdma|rxe|siw|efa|psm|rocep|ibp|ibs|nvme)[0-9]*` +
	`[a-z0-9_]*|(torch|ray|vllm|sglang|deepspeed|subprocess)\..*)$`)

// unclear matches words that could be ones of any text.
var unclear = regexp.MustCompile(`^[A-Za-z]+$`)

// aliases are the replacements of names.
type aliases struct {
	by      map[string]string
	hosts   map[string]bool // names whose domain is to be hidden, too
	lengths []int           // of names, the longest first
	count   map[kind]int
}

func newAliases() *aliases {
	return &aliases{by: map[string]string{}, hosts: map[string]bool{}, count: map[kind]int{}}
}

// set gives a name a replacement, unless it has one.
func (a *aliases) set(name, by string) {
	if name == "" || a.by[name] != "" {
		return
	}
	a.by[name] = by
	if at, found := slices.BinarySearchFunc(a.lengths, len(name), func(x, y int) int { return y - x }); !found {
		a.lengths = slices.Insert(a.lengths, at, len(name))
	}
}

// add numbers a name. A host with a domain and the one without are the same.
func (a *aliases) add(name string, k kind) {
	if name == "" || a.by[name] != "" || nobody.MatchString(name) {
		return
	}
	short, _, domain := strings.Cut(name, ".")
	if k != kindNode || !domain || nobody.MatchString(short) || !strings.ContainsAny(short, letters) {
		short = name
	}
	if a.by[short] == "" {
		a.count[k]++
		a.set(short, fmt.Sprintf("%s-%d", k, a.count[k]))
	}
	a.set(name, a.by[short])
	a.hosts[short], a.hosts[name] = k == kindNode, k == kindNode
}

// learn finds names in a text.
func (a *aliases) learn(s string) {
	for _, f := range namedForms {
		for _, m := range f.form.FindAllStringSubmatch(s, -1) {
			if name := m[len(m)-1]; !f.clear || !unclear.MatchString(name) {
				a.add(name, f.kind)
			}
		}
	}
}

// trailing matches the number at the end of a name.
var trailing = regexp.MustCompile(`[0-9]+$`)

// letters are those that a host's name and a stem need: addresses have none.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// minStem is the length of the part before the number from which on other numbers are names, too.
const minStem = 3

// siblings returns a pattern of names that differ from known ones in the number at their end, nil
// if there are none. Numbers that are padded with zeros have the same number of digits.
func (a *aliases) siblings() *regexp.Regexp {
	stems := map[string]bool{}
	for name, node := range a.hosts {
		number := trailing.FindString(name)
		stem := strings.TrimSuffix(name, number)
		padded := len(number) > 1 && number[0] == '0'
		switch {
		case number == "" || !strings.ContainsAny(stem, letters) || nobody.MatchString(stem+"0"):
		case padded:
			stems[fmt.Sprintf("%s[0-9]{%d}", regexp.QuoteMeta(stem), len(number))] = node
		case len(stem) >= minStem && !slices.Contains([]string{"node", "gpu", "port", "task"}, stem):
			stems[regexp.QuoteMeta(stem)+"[0-9]+"] = node
		}
	}
	var all []string
	for s := range stems {
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return regexp.MustCompile(`\b(?:` + strings.Join(all, "|") + `)\b`)
}

// domain matches the further labels of a host's name.
var domain = regexp.MustCompile(`^(\.[A-Za-z][-0-9A-Za-z]*)+`)

// replace replaces the names in a text where they aren't parts of longer words, in one pass: a
// replacement may be the name of another node.
func (a *aliases) replace(s string) string {
	var b strings.Builder
	last := 0
	for i := 0; i < len(s); {
		name := ""
		if i == 0 || !inWord(s[i-1]) {
			name = a.at(s[i:])
		}
		if name == "" {
			i++
			continue
		}
		b.WriteString(s[last:i] + a.by[name])
		i += len(name)
		if a.hosts[name] {
			i += len(domain.FindString(s[i:]))
		}
		last = i
	}
	return b.String() + s[last:]
}

// target matches what the name of a target of Lustre has behind that of the file system.
var target = regexp.MustCompile(`^-(?:OST|MDT)[0-9a-f]{4}`)

// at returns the longest name that a text begins with, "" if there is none.
func (a *aliases) at(s string) string {
	for _, n := range a.lengths {
		if n > len(s) || n < len(s) && inWord(s[n]) && inWord(s[n-1]) && !target.MatchString(s[n:]) {
			continue
		}
		if a.by[s[:n]] != "" {
			return s[:n]
		}
	}
	return ""
}

func inWord(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
