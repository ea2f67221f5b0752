package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// resolveTime is how long a resolver may take.
const resolveTime = 2 * time.Second

// resolver looks up the addresses of the host's own name by Go's resolver: in /etc/hosts and by
// DNS. Most programs call getaddrinfo(3), which asks the sources of nsswitch.conf(5); those that
// may give another answer are recorded.
func resolver(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindResolver, Source: "Go's resolver: /etc/hosts, DNS; not other sources of nsswitch.conf",
		Cost: "one lookup, at most 2 s",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Resolver = facts.Read(now, func() (facts.Resolver, error) {
				r, err := resolve(ctx, s.Host.Name)
				if err == nil {
					r.Unasked = unaskedSources(f.Files, r)
				}
				return r, err
			})
		},
	}
}

func resolve(ctx context.Context, host string) (facts.Resolver, error) {
	r := facts.Resolver{Name: host}
	if host == "" {
		return r, facts.Absent("the host has no name")
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return r, nil // without addresses
	}
	if err != nil {
		return r, fmt.Errorf("look up %s: %w", host, err)
	}
	for _, a := range addrs {
		r.Addresses = append(r.Addresses, a.Unmap())
	}
	return r, nil
}

// unaskedSources returns the sources of nsswitch.conf that getaddrinfo asks before it has the
// answer of Go's resolver, and that Go's resolver doesn't ask: sss, mdns4_minimal, myhostname, ….
func unaskedSources(files *facts.Files, r facts.Resolver) []string {
	conf, err := files.Text(sysfs.NSSwitch)
	if err != nil {
		return nil // glibc's default is "files dns"
	}
	until := "" // the source with the answer, "" for none
	if len(r.Addresses) > 0 {
		until = "dns"
		hosts, _ := files.Text(sysfs.Hosts) // without one it was DNS
		if inHosts(hosts, r.Name) {
			until = "files"
		}
	}
	var others []string
	for line := range strings.Lines(conf) {
		line, _, _ = strings.Cut(line, "#")
		list, ok := strings.CutPrefix(strings.TrimSpace(line), "hosts:")
		if !ok {
			continue
		}
		if strings.Contains(strings.ToUpper(list), "SUCCESS=") {
			until = "" // answers of several sources are merged, or the first is not used
		}
		for word := range strings.FieldsSeq(nssActions.ReplaceAllString(list, " ")) {
			if word == until {
				break
			}
			if word != "files" && word != "dns" {
				others = append(others, word)
			}
		}
	}
	return others
}

// nssActions matches what nsswitch.conf does after the answer of a source: [NOTFOUND=return].
var nssActions = regexp.MustCompile(`\[[^\]]*\]`)

// inHosts reports whether hosts(5) has a name, whose case doesn't matter.
func inHosts(hosts, name string) bool {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		for i, f := range fields {
			if i > 0 && strings.EqualFold(f, name) {
				return true
			}
		}
	}
	return false
}
