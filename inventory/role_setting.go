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
// decides. The error names the entry.
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
		out = append(out, RoleSetting{pattern, Role(role)})
	}
	return out, nil
}

// settingOf returns the first setting for a port, nil for none.
func settingOf(site []RoleSetting, s *Snapshot, d *Device, p *Port) *RoleSetting {
	names := []string{d.Name, fmt.Sprintf("%s:%d", d.Name, p.Number), p.Netdev, d.BoardID}
	if d.PCI != nil {
		names = append(names, d.PCI.Address)
	}
	if n := s.Netdev(p.Netdev); n != nil {
		names = append(names, n.Master)
	}
	for i := range site {
		for _, name := range names {
			if ok, err := path.Match(site[i].Pattern, name); ok && err == nil && name != "" {
				return &site[i]
			}
		}
	}
	return nil
}
