package inventory

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// RoleSetting is the role that a site gives to ports, for exceptions that no rule can know.
type RoleSetting struct {
	// Pattern is a PCI address, the name of an RDMA device (with or without ":PORT") or of a
	// network device, or a board id; it may have the wildcards of [path.Match]
	// (0000:9d:00.*, mlx5_bond_*).
	Pattern string `json:"pattern"`
	Role    Role   `json:"role"` // compute, storage, management or unused
}

// ParseRoleSettings reads "PATTERN=ROLE,PATTERN=ROLE". The first pattern that matches a port
// decides, and none may be given twice. The error names the entry.
func ParseRoleSettings(s string) ([]RoleSetting, error) {
	var out []RoleSetting
	for entry := range strings.SplitSeq(s, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		pattern, role, ok := strings.Cut(entry, "=")
		pattern, role = strings.TrimSpace(pattern), strings.TrimSpace(role)
		known := []Role{RoleCompute, RoleStorage, RoleManagement, RoleUnused}
		if !ok || pattern == "" {
			return nil, fmt.Errorf("%q is not PATTERN=ROLE", entry)
		}
		if !slices.Contains(known, Role(role)) {
			return nil, fmt.Errorf("the role of %s is %q, want compute, storage, management or unused", pattern, role)
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pattern %s: %w", pattern, err)
		}
		if slices.ContainsFunc(out, func(r RoleSetting) bool { return r.Pattern == pattern }) {
			return nil, fmt.Errorf("the pattern %s is given twice", pattern)
		}
		out = append(out, RoleSetting{pattern, Role(role)})
	}
	return out, nil
}

// settingOf returns the first setting for a port, nil for none.
func settingOf(site []RoleSetting, s *Snapshot, d *Device, p *Port) *RoleSetting {
	if len(site) == 0 {
		return nil // most scans
	}
	names := []string{d.Name, fmt.Sprintf("%s:%d", d.Name, p.Number), p.Netdev, d.BoardID}
	if d.PCI != nil {
		names = append(names, d.PCI.Address, strings.TrimPrefix(d.PCI.Address, "0000:"))
	}
	if n := s.Netdev(p.Netdev); n != nil {
		names = append(names, n.Master)
	}
	for i := range site {
		for _, name := range names {
			if name != "" && site[i].matches(name) {
				return &site[i]
			}
		}
	}
	return nil
}

// matches compares a pattern with a name; the digits of PCI addresses may be in upper case.
func (r RoleSetting) matches(name string) bool {
	ok, err := path.Match(r.Pattern, name)
	if !ok && strings.Contains(name, ":") {
		ok, err = path.Match(strings.ToLower(r.Pattern), name)
	}
	return ok && err == nil
}

// UnmatchedRoles returns the patterns of settings that give no port of the snapshot its role:
// they match none, or another pattern before them matches the same ports.
func UnmatchedRoles(s *Snapshot, site []RoleSetting) []string {
	used := map[string]bool{}
	for d, p := range s.Ports() {
		if r := settingOf(site, s, d, p); r != nil && d.SMIOf == "" {
			used[r.Pattern] = true
		}
	}
	var out []string
	for _, r := range site {
		if !used[r.Pattern] {
			out = append(out, r.Pattern)
		}
	}
	return out
}
