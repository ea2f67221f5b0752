package kernel

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/devlink"
	"github.com/rdmakit/rdmakit/inventory"
)

// devlinkTime is how long the two lists of devlink may take: drivers are asked for parameters.
const devlinkTime = 5 * time.Second

// devlinkDevices asks for the health reporters and parameters of devices.
func devlinkDevices(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindDevlink, Source: "devlink: generic netlink", Cost: "two requests, and one for each BlueField",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Devlink = facts.Read(now, func() ([]facts.DevlinkDevice, error) {
				ctx, cancel := context.WithTimeout(ctx, devlinkTime)
				defer cancel()
				var kernel devlink.Client
				reporters, err := kernel.Reporters(ctx)
				if errors.Is(err, errors.ErrUnsupported) {
					return nil, facts.Absent("the kernel has no devlink")
				}
				if len(reporters) == 0 && err != nil && !errors.Is(err, fs.ErrPermission) {
					return nil, err
				}
				parameters, err2 := kernel.Parameters(ctx)
				list, err := devices(reporters, parameters, err, err2)
				if err == nil && netAdmin(f.Files) {
					addSwitches(s, list, func(address string) (string, error) {
						return kernel.SwitchMode(ctx, address)
					})
				}
				return list, err
			})
		},
	}
}

// oneLine returns the text of joined errors.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// devices joins the lists by device, in the order of names.
func devices(
	reporters []devlink.Reporter, parameters []devlink.Parameter, errReporters, errParameters error,
) ([]facts.DevlinkDevice, error) {
	if errors.Is(errReporters, fs.ErrPermission) && len(reporters) == 0 {
		return nil, facts.Denied("root would show the health reporters of the cards: %v", errReporters)
	}
	byName := map[string]*facts.DevlinkDevice{}
	device := func(bus, name string) *facts.DevlinkDevice {
		name = bus + "/" + name
		if byName[name] == nil {
			byName[name] = &facts.DevlinkDevice{Name: name}
		}
		return byName[name]
	}
	for _, r := range reporters {
		d := device(r.Bus, r.Device)
		h := facts.HealthReporter{Name: r.Name, Errored: r.Errored, Errors: r.Errors, Recoveries: r.Recoveries}
		if r.Port != nil {
			h.Port = strconv.FormatUint(uint64(*r.Port), 10)
		}
		if r.Err != nil {
			h.Error = oneLine(r.Err)
		}
		d.Reporters = append(d.Reporters, h)
	}
	for _, p := range parameters {
		d := device(p.Bus, p.Device)
		if d.Parameters == nil {
			d.Parameters = map[string]string{}
		}
		for _, mode := range []string{"permanent", "driverinit", "runtime"} { // the last one counts
			if v, ok := p.Values[mode]; ok {
				d.Parameters[p.Name] = v
			}
		}
		if p.Err != nil {
			d.ParameterErrors = append(d.ParameterErrors, p.Name+": "+oneLine(p.Err))
		}
	}
	if len(byName) == 0 {
		return nil, facts.Absent("devlink shows no device in this network namespace")
	}
	list := make([]facts.DevlinkDevice, 0, len(byName))
	for _, d := range byName {
		if errReporters != nil {
			d.Error = oneLine(errReporters)
		}
		if errParameters != nil {
			d.ParameterErrors = append(d.ParameterErrors, oneLine(errParameters))
		}
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b facts.DevlinkDevice) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// addSwitches adds the modes of the switches of BlueField cards, with a function that asks as a
// process with CAP_NET_ADMIN.
func addSwitches(s *inventory.Snapshot, list []facts.DevlinkDevice, ask func(address string) (string, error)) {
	for i := range s.Devices {
		p := s.Devices[i].PCI
		if p == nil || !p.BlueField() || s.Devices[i].VF != nil {
			continue
		}
		at := slices.IndexFunc(list, func(d facts.DevlinkDevice) bool { return d.Name == "pci/"+p.Address })
		if at < 0 {
			continue
		}
		mode, err := ask(p.Address)
		if errors.Is(err, fs.ErrPermission) {
			mode = facts.SwitchForeign
		}
		list[at].Switch = mode
	}
}

// netAdmin reports whether CAP_NET_ADMIN is effective.
func netAdmin(files *facts.Files) bool {
	const bit = 12
	status, err := files.Text("proc/self/status")
	_, rest, found := strings.Cut(status, "CapEff:")
	first, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	mask, err2 := strconv.ParseUint(strings.TrimSpace(first), 16, 64)
	return err == nil && found && err2 == nil && mask>>bit&1 == 1
}
