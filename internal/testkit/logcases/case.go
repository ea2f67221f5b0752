package logcases

import (
	"embed"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/txtar"
)

// Family groups cases by the kind of program that wrote the log and by what is known of the cause.
type Family string

// The families, in the order of reports.
const (
	FamilyNCCL       Family = "A"
	FamilyFrameworks Family = "B"
	FamilyUCX        Family = "C"
	FamilyVerbs      Family = "D"
	FamilyKubernetes Family = "E"
	FamilyUnproven   Family = "F"
	FamilyHealthy    Family = "H"
)

// families returns each family with its title.
func families() []struct {
	Family Family
	Title  string
} {
	return []struct {
		Family Family
		Title  string
	}{
		{FamilyNCCL, "NCCL and RCCL"},
		{FamilyFrameworks, "PyTorch, vLLM, SGLang, DeepEP, NVSHMEM, Gloo"},
		{FamilyUCX, "UCX, NIXL, Mooncake, Dynamo"},
		{FamilyVerbs, "perftest, verbs, kernel, fabric, storage"},
		{FamilyKubernetes, "Kubernetes and SR-IOV"},
		{FamilyUnproven, "cause not confirmed"},
		{FamilyHealthy, "healthy"},
	}
}

// How a cause was confirmed in the thread (field By of a case).
const (
	ByReporter   = "R"      // the reporter changed it and the job worked
	BySecond     = "2"      // a second user confirmed
	ByFix        = "F"      // a fix with a test
	ByExperiment = "X"      // a control experiment or a bisection
	ByMaintainer = "M"      // only a maintainer's statement
	ByVector     = "vector" // the log is a value to decode, there is no cause
)

// File is one named log of a job.
type File struct {
	// Name has no directory: "job.log", "dmesg-node-a.txt".
	Name string
	Data []byte
}

// Facts are what a reader must find in the logs. An empty field is not asked for.
type Facts struct {
	// Versions are names with versions: "NCCL 2.21.5", "UCX 1.16.0".
	Versions []string
	// Networks is the network that each host uses: "IB", "Socket", "AWS Libfabric", "IBext_v8".
	Networks map[string]string
	// NICs are the RDMA devices that each host's job uses.
	NICs map[string][]string
	// GIDs are decoded addresses, as Go's netip prints them: "::ffff:10.1.2.3", "fe80::1".
	GIDs []string
	// GDR is "on" or "off", or empty if the log doesn't show whether GPU Direct is used.
	GDR string
	// Hosts are the hosts that wrote the log.
	Hosts []string
	// Ranks is the number of ranks of the job.
	Ranks int
	// Decoded are values of dumps: "status=4 vendor=0x52 opcode=send qpn=0x19a1 side=requester".
	Decoded []string
}

// Case is the logs of one job with what is right to say about them.
type Case struct {
	ID     string
	Title  string
	Source string // URL of the public thread; empty for healthy cases of the project's own design
	Family Family
	By     []string
	// Causes are the accepted slugs, the best one first. Empty in families F and H.
	Causes []string
	// Traps are the slugs that must not rank above a cause, or that must not be claimed as proven.
	Traps []string
	// Candidates are, in family F, slugs of which one should be among the first three.
	Candidates []string
	// Allowed are remarks that a healthy job may get: "sockets-used" where sockets are intended.
	Allowed []string
	// Herring says what in the log misleads; empty if nothing does.
	Herring string
	// Note says what the logs have that the thread doesn't show; empty if they show nothing else.
	Note string
	// Hidden are the facts that these logs can't show: "gid", "gdr", "qp".
	Hidden []string
	Facts  Facts
	Files  []File

	session *session
}

//go:embed testdata/*.txtar
var testdata embed.FS

// parsed reads all cases once.
var parsed = sync.OnceValues(loadAll)

// Load returns all cases, sorted by ID.
func Load() ([]Case, error) { return parsed() }

func loadAll() ([]Case, error) {
	entries, err := testdata.ReadDir("testdata")
	if err != nil {
		return nil, fmt.Errorf("list cases: %w", err)
	}
	var cases []Case
	for _, e := range entries {
		data, err := testdata.ReadFile(path.Join("testdata", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read case: %w", err)
		}
		c, err := parseCase(strings.TrimSuffix(e.Name(), ".txtar"), data)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", e.Name(), err)
		}
		cases = append(cases, *c)
	}
	slices.SortFunc(cases, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	return cases, nil
}

// parseCase reads one archive: the header in front of the first file, then the logs.
func parseCase(id string, data []byte) (*Case, error) {
	archive := txtar.Parse(data)
	head, err := parseHeader(string(archive.Comment))
	if err != nil {
		return nil, err
	}
	c, err := newCase(id, head)
	if err != nil {
		return nil, err
	}
	if len(archive.Files) == 0 {
		return nil, fmt.Errorf("no log")
	}
	for _, f := range archive.Files {
		x := &expander{session: c.session}
		log, err := x.expand(string(f.Data))
		if err != nil {
			return nil, fmt.Errorf("log %s: %w", f.Name, err)
		}
		c.Files = append(c.Files, File{Name: f.Name, Data: []byte(log)})
		if _, given := head["gids"]; !given && !slices.Contains(head.list("facts"), "-gids") {
			c.Facts.addGIDs(x.gids)
		}
	}
	return c, nil
}

// addGIDs adds addresses that are not zero and not there yet.
func (f *Facts) addGIDs(gids []netip.Addr) {
	for _, gid := range gids {
		if text := gid.String(); !gid.IsUnspecified() && !slices.Contains(f.GIDs, text) {
			f.GIDs = append(f.GIDs, text)
		}
	}
}

// clone returns a copy whose logs can be replaced.
func (c *Case) clone() *Case {
	d := *c
	d.Files = make([]File, len(c.Files))
	for i, f := range c.Files {
		d.Files[i] = File{Name: f.Name, Data: slices.Clone(f.Data)}
	}
	return &d
}
