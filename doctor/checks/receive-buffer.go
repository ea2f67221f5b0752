package checks

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func receiveBuffer() doctor.Check {
	return doctor.Check{
		ID: "receive-buffer", Title: "small socket buffers for RDMA in software", Severity: doctor.OutcomeInfo,
		Group: doctor.GroupHost, Needs: doctor.NeedDevices,
		Reads: []string{portFiles("state"), "/" + sysfs.ProcReceiveBuffer, "/" + sysfs.ProcTCPReceive},
		Thresholds: []doctor.Threshold{
			{
				Name: "udp-buffer-least", Value: 8 << 20, Unit: "bytes", What: "smaller net.core.rmem_max",
				Source: "what rdmactl's engine requests; Linux's default is 212992",
			},
			{
				Name: "tcp-buffer-least", Value: 4 << 20, Unit: "bytes", What: "smaller maximum of net.ipv4.tcp_rmem",
				Source: "to be calibrated; 4 MiB hold what 100 Gb/s send in 0.3 ms",
			},
		},
		Explanation: prose.Join(`
			Where no card does RDMA, rdmactl's engine does it over a UDP socket. The kernel limits the
			buffer of that socket to net.core.rmem_max unless the process has CAP_NET_ADMIN, and the
			engine then has fewer packets in flight, so that none is lost. Soft-iWARP (siw) carries RDMA
			over TCP, of which net.ipv4.tcp_rmem limits the window. Cards and rxe need neither.`),
		Remedy: "Raise the limit, also in /etc/sysctl.d for the next boot.",
		Sources: []string{
			"socket(7), SO_RCVBUF and SO_RCVBUFFORCE", "tcp(7), tcp_rmem", "Linux drivers/infiniband/sw/siw",
		},
		Run: runReceiveBuffer,
	}
}

// bufferLimit is a limit of the kernel for what a socket may hold.
type bufferLimit struct {
	sysctl, file string
	field        int // of the file, from 0
	least        float64
	user         string // what has fewer packets in flight with less
}

func runReceiveBuffer(_ context.Context, in *doctor.Input) []doctor.Finding {
	cards, siw := 0, false
	for p := range ports(in.Snapshot) {
		if !p.carriesJobs(in.Snapshot) {
			continue
		}
		if p.dev.Software == "" {
			cards++
		}
		siw = siw || p.dev.Software == "siw"
	}
	if cards > 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "cards do RDMA, and need no sockets")}
	}
	limits := []bufferLimit{{
		"net.core.rmem_max", sysfs.ProcReceiveBuffer, 0, in.Threshold("udp-buffer-least"), "rdmactl's engine",
	}}
	if siw {
		limits = append(limits, bufferLimit{
			"net.ipv4.tcp_rmem", sysfs.ProcTCPReceive, 2, in.Threshold("tcp-buffer-least"), "soft-iWARP",
		})
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	judged := true
	for _, l := range limits {
		f := l.finding(in)
		if f.Outcome == doctor.OutcomePass {
			good = append(good, f.Evidence...)
			continue
		}
		judged = judged && f.Outcome == doctor.OutcomeInfo
		findings = append(findings, f)
	}
	if judged && len(good) > 0 {
		findings = append(findings, doctor.Passed(doctor.ObjectNode, "sockets may have large receive buffers", good...))
	}
	return findings
}

func (l bufferLimit) finding(in *doctor.Input) doctor.Finding {
	text, err := in.Facts.Files.Text(l.file)
	if err != nil {
		return doctor.Because(doctor.ObjectNode, err)
	}
	fields := strings.Fields(text)
	if len(fields) <= l.field {
		return doctor.Unknown(doctor.ObjectNode, "/%s: %q has no field %d", l.file, printable(text), l.field+1)
	}
	size, err := strconv.ParseUint(fields[l.field], 10, 63)
	if err != nil {
		return doctor.Unknown(doctor.ObjectNode, "/%s: %q is not a number", l.file, printable(fields[l.field]))
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomePass, Object: doctor.ObjectNode, Evidence: []doctor.Evidence{fileEvidence(l.file, text)},
	}
	if float64(size) < l.least {
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf("%s allows receive buffers of %s, so %s has fewer packets in flight", l.sysctl,
			inventory.Limit{Bytes: size}, l.user)
		fields[l.field] = strconv.FormatUint(uint64(l.least), 10)
		f.Actions = []doctor.Action{doctor.Sysctl(l.sysctl, strings.Join(fields, " "))}
	}
	return f
}
