package kernel

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/kmsg"
	"github.com/rdmakit/rdmakit/inventory"
)

// kernelLog reads the messages of the kernel about cards. It keeps no others: they have nothing to
// do with RDMA, and a bundle with them would tell strangers about the machine.
func kernelLog(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindKernelLog, Source: "/dev/kmsg", Cost: "the kernel's log buffer, at most some megabytes",
		Privilege: "CAP_SYSLOG where kernel.dmesg_restrict is 1",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.KernelLog = facts.Read(now, func() ([]facts.KernelMessage, error) {
				records, err := kmsg.Read(ctx)
				return messages(s, records, err)
			})
		},
	}
}

// drivers matches the drivers of RDMA cards and of their network devices, and the parts of the
// kernel that report on them.
var drivers = regexp.MustCompile(`\b(mlx[45]\w*|infiniband|ib_\w+|rdma\w*|iw_\w+|bnxt_\w+|ice|irdma|i40e|i40iw|` +
	`qedr?|qede|efa|ena|hns\w*|erdma|mana\w*|cxgb4|ionic\w*|hfi1|qib|usnic\w*|ocrdma|vmw_pvrdma|siw|rxe|` +
	`habanalabs\w*|nvidia_peermem|nv_peer_mem|NETDEV WATCHDOG)\b`)

// messages returns the messages about cards.
func messages(s *inventory.Snapshot, records []kmsg.Record, err error) ([]facts.KernelMessage, error) {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, facts.Absent("%v", err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, facts.Absent("there is no /dev/kmsg here, as in most containers")
	case errors.Is(err, fs.ErrPermission):
		return nil, facts.Denied("root (CAP_SYSLOG) would show the faults that the drivers of the cards reported")
	case err != nil && len(records) == 0:
		return nil, err
	case len(records) == 0:
		return nil, facts.Absent("the kernel's log is empty")
	}
	var addresses []string
	for _, c := range s.Cards {
		addresses = append(addresses, c.PCI.Address)
	}
	for i := range s.Devices {
		if pci := s.Devices[i].PCI; pci != nil {
			addresses = append(addresses, pci.Address)
		}
	}
	list := []facts.KernelMessage{}
	for _, r := range records {
		about := drivers.MatchString(r.Text)
		for _, a := range addresses {
			about = about || strings.Contains(r.Text, a)
		}
		if about {
			list = append(list, facts.KernelMessage{Since: r.Since, Level: r.Level, Text: r.Text})
		}
	}
	return list, nil
}
