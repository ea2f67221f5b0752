package checks

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func pkey() doctor.Check {
	return doctor.Check{
		ID: "pkey", Title: "InfiniBand port that is no full member of the partition that jobs use",
		Severity: doctor.OutcomeFail, Group: doctor.GroupAddressing, Numbers: []int{73}, Needs: doctor.NeedDevices,
		Uses: []facts.Kind{facts.KindEnvironment}, Reads: []string{
			portFiles("pkeys"), portFiles("pkeys/*"),
			portFiles("state"),
		},
		Explanation: prose.Join(`
			Libraries use the partition key at index 0 of a port unless they are told another index
			(NCCL_IB_PKEY), and some can't be told. Two limited members of a partition can't
			exchange packets: connections are made, and then every operation times out. That is so
			too if the partition of the tenant is not the one at that index.`),
		Remedy: "Make the port a full member of the job's partition in the subnet manager (partitions.conf: " +
			"GUID=full), or " +
			"set NCCL_IB_PKEY to the index of the right key on all nodes.",
		Sources: []string{
			"InfiniBand Architecture Specification, volume 1, section 10.9.3 (partition key matching)",
			"reports: NVIDIA/nccl issue 1323, NVIDIA/nvshmem issue 82",
		},
		Run: runPKey,
	}
}

func runPKey(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	index, setting := pkeyIndex(in)
	var findings []doctor.Finding
	var good []doctor.Evidence
	infiniband := 0
	for p := range ownPorts(s) {
		if p.port.LinkLayer != inventory.LinkLayerInfiniBand || !p.active() || !p.carriesJobs(s) ||
			p.dev.Software != "" {
			continue
		}
		infiniband++
		if len(p.port.PKeys) == 0 {
			findings = append(findings, doctor.Because(p.object(), p.noPKeys(in)))
			continue
		}
		i := slices.IndexFunc(p.port.PKeys, func(k inventory.PKey) bool { return k.Index == index })
		if i >= 0 && p.port.PKeys[i].PKey.Full() {
			good = append(good, p.evidence("pkeys/"+strconv.Itoa(index), p.port.PKeys[i].PKey.String()))
			continue
		}
		findings = append(findings, wrongPKey(p, index, i, setting))
	}
	findings = mergeAbsent(findings)
	switch {
	case infiniband == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", noneOf(s, "no InfiniBand port for "+
			"jobs is active"))}
	case len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0:
		text := fmt.Sprintf("%s: full member at index %d", english.Count(len(good), "InfiniBand port"), index)
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, text, good...)}, findings...)
	}
	return findings
}

// noPKeys returns why the port has no partition keys.
func (p portRef) noPKeys(in *doctor.Input) error {
	_, err := in.Facts.Files.Text(p.evidence("pkeys/0", "").Path[1:])
	if err == nil {
		err = fmt.Errorf("all partition keys of %s are zero or could not be read", p.object())
	}
	return err
}

// pkeyIndex returns the index that NCCL uses, and the setting that says so, "" for the default.
func pkeyIndex(in *doctor.Input) (index int, setting string) {
	if in.Facts.Environment.Known() {
		if text, ok := in.Facts.Environment.Value["NCCL_IB_PKEY"]; ok {
			if n, err := strconv.Atoi(text); err == nil && n >= 0 {
				return n, "NCCL_IB_PKEY=" + text
			}
		}
	}
	return 0, ""
}

func wrongPKey(p portRef, index, i int, setting string) doctor.Finding {
	f := doctor.Finding{Outcome: doctor.OutcomeFail, Object: p.object()}
	at := "pkeys/" + strconv.Itoa(index)
	if i < 0 {
		f.Summary = fmt.Sprintf("no partition key at index %d", index)
		f.Evidence = []doctor.Evidence{p.evidence(at, "0x0000")}
	} else {
		f.Summary = fmt.Sprintf("limited member of the partition at index %d (%v): it can't reach other limited ones",
			index, p.port.PKeys[i].PKey)
		f.Evidence = []doctor.Evidence{p.evidence(at, p.port.PKeys[i].PKey.String())}
	}
	if setting != "" {
		f.Summary += ", which " + setting + " selects"
	}
	for _, k := range p.port.PKeys {
		if k.PKey.Full() {
			f.Evidence = append(f.Evidence, p.evidence("pkeys/"+strconv.Itoa(k.Index), k.PKey.String()))
			f.Summary += fmt.Sprintf("; index %d has %v with full membership", k.Index, k.PKey)
			f.Actions = append(f.Actions, doctor.Shell("export NCCL_IB_PKEY=%d UCX_IB_PKEY=%#x   # on all nodes, if "+
				"it is "+
				"the partition of the job", k.Index, uint16(k.PKey)&0x7fff))
			break
		}
	}
	f.Actions = append(f.Actions, doctor.Note("in the subnet manager: make the GUIDs of all nodes full members of the "+
		"partition; see partitions.conf, or UFM's partition keys"))
	return f
}
