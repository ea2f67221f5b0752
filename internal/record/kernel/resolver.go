package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// resolveTime is how long a resolver may take.
const resolveTime = 2 * time.Second

// resolver looks up the addresses of the host's own name, as programs do that meet by host name.
func resolver(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindResolver, Source: "getaddrinfo(3): /etc/hosts, DNS", Cost: "one lookup, at most 2 s",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Resolver = facts.Read(now, func() (facts.Resolver, error) { return resolve(ctx, s.Host.Name) })
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
