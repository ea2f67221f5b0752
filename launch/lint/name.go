package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// The rules about names.
func nameRules() []Rule {
	return []Rule{
		{
			ID: "name-misspelt", Title: "unknown name that is similar to a known one", Severity: SeverityWarn,
			Variables: []string{"NCCL_*", "UCX_*", "NVSHMEM_*", "GLOO_*", "MC_*"}, On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_GID_IDX=3"}, Right: []string{"NCCL_IB_TIMEOUT=22"},
			Explanation: prose.Join(`
				An unknown name has no effect, and only UCX prints a warning. The rule reports
				unknown names only if they are similar to a known one; the known names are those of
				NCCL 2.30.7, NVSHMEM 3.4.5, UCX and Mooncake of 2026, and of older versions.`),
			Remedy:  "write the intended name, or remove the variable",
			Sources: []string{srcNCCLEnv, srcNVSHMEM, srcUCX, srcMooncake}, check: checkMisspelt,
		},
		{
			ID: "name-retired", Title: "variable that current versions no longer read", Severity: SeverityNote,
			Variables: []string{"NCCL_IB_CUDA_SUPPORT", "FI_EFA_USE_DEVICE_RDMA"}, On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_CUDA_SUPPORT=1"}, Right: []string{"NCCL_NET_GDR_LEVEL=PHB"},
			Explanation: prose.Join(`
				NCCL 2.4 removed NCCL_IB_CUDA_SUPPORT: since then NCCL_NET_GDR_LEVEL sets the
				largest distance between GPU and card for GPUDirect. Only old versions of libfabric
				read FI_EFA_USE_DEVICE_RDMA.`),
			Remedy: "remove the variable", Sources: []string{"NCCL 2.3.5 and 2.4", srcOFI}, check: checkRetired,
		},
		{
			ID: "duplicate", Title: "variable is set twice", Severity: SeverityWarn, Variables: []string{"*"},
			On: "02_rocev2_8hca", Wrong: []string{"NCCL_IB_HCA==mlx5_0", "NCCL_IB_HCA==mlx5_1"},
			Right:       []string{"NCCL_IB_HCA==mlx5_1"},
			Explanation: "If a name is set twice, the last value applies, in files and in the env list of a container.",
			Remedy:      "keep one of them", Sources: []string{srcLaunch}, check: checkDuplicate,
		},
	}
}

// aliases returns names that users often write by mistake, with the intended names.
func aliases() map[string]string {
	return map[string]string{
		"NCCL_IB_TRAFFIC_CLASS": "NCCL_IB_TC", "NCCL_IB_SERVICE_LEVEL": "NCCL_IB_SL",
		"NCCL_IB_HCA_LIST": "NCCL_IB_HCA",
		"NCCL_HCA":         "NCCL_IB_HCA", "NCCL_IFNAME": "NCCL_SOCKET_IFNAME", "NCCL_GID_INDEX": "NCCL_IB_GID_INDEX",
		"NCCL_NET_DEVICES": "NCCL_IB_HCA", "NCCL_IB_RETRY_COUNT": "NCCL_IB_RETRY_CNT",
		"NVSHMEM_GID_INDEX": "NVSHMEM_IB_GID_INDEX", "NVSHMEM_IB_TC": "NVSHMEM_IB_TRAFFIC_CLASS",
		"NVSHMEM_IB_HCA": "NVSHMEM_HCA_LIST", "NVSHMEM_HCA": "NVSHMEM_HCA_LIST", "UCX_GID_INDEX": "UCX_IB_GID_INDEX",
		"UCX_IB_TC": "UCX_IB_TRAFFIC_CLASS", "UCX_IB_NET_DEVICES": "UCX_NET_DEVICES", "UCX_IB_HCA": "UCX_NET_DEVICES",
		"GLOO_IFNAME": "GLOO_SOCKET_IFNAME", "MC_IB_GID_INDEX": "MC_GID_INDEX",
	}
}

// ours reports whether a name has a prefix of a library that the rules know, or looks like one.
func ours(name string) bool {
	upper := strings.ToUpper(name)
	if _, ok := findKnown(upper); ok || strings.HasPrefix(name, "OMPI_MCA_") {
		return true
	}
	return slices.ContainsFunc([]string{
		"NCCL_", "RCCL_", "NVSHMEM_", "ROCSHMEM_", "UCX_", "GLOO_SOCKET_", "FI_", "OFI_NCCL_", "VLLM_NIXL_", "NIXL_",
	}, func(p string) bool {
		return strings.HasPrefix(upper, p)
	}) || strings.HasPrefix(upper, "MC_") && meant(upper) != ""
}

// meant returns the known name that is most similar to an unknown one, "" for none.
func meant(name string) string {
	if _, ok := findKnown(name); ok {
		return ""
	}
	if alias := aliases()[name]; alias != "" {
		return alias
	}
	prefix, _, _ := strings.Cut(name, "_")
	best, distance := "", 3
	for _, k := range knownByName() {
		limit := min(len(k.name)/7, 2)
		if own, _, _ := strings.Cut(k.name, "_"); k.other ||
			!strings.EqualFold(own, prefix) && spelling.Distance(own, prefix) > 1 {
			continue
		}
		if d := spelling.Distance(strings.ToUpper(name), strings.ToUpper(k.name)); d <= limit &&
			(d < distance || d == distance && k.name < best) {
			best, distance = k.name, d
		}
	}
	return best
}

func checkMisspelt(l *linter) {
	for _, name := range l.names() {
		if _, known := findKnown(name); known || !ours(name) {
			continue
		}
		want := meant(name)
		if upper := strings.ToUpper(name); want == "" && upper != name {
			if _, ok := findKnown(upper); ok {
				want = upper
			}
		}
		if want == "" {
			continue
		}
		s := l.last[name]
		f := l.report(s, SeverityWarn, "no library reads %s; did you mean %s?", name, want).unset(name)
		if !s.Unknown && s.Value != "" && !l.mentions(want) {
			f.set(want, s.Value)
		}
	}
}

func checkRetired(l *linter) {
	if s := l.get("NCCL_IB_CUDA_SUPPORT"); s != nil {
		l.report(s, SeverityNote, "only NCCL up to 2.3 reads it").unset(s.Name)
	}
	if s := l.get("FI_EFA_USE_DEVICE_RDMA"); s != nil {
		l.report(s, SeverityNote, "only old versions of libfabric read it").unset(s.Name)
	}
}

func checkDuplicate(l *linter) {
	seen := map[string]*Setting{}
	for i := range l.env.Settings {
		s := &l.env.Settings[i]
		was := seen[s.Name]
		seen[s.Name] = s
		if was == nil || s != l.last[s.Name] || !ours(s.Name) {
			continue
		}
		severity, what := SeverityWarn, "another value"
		switch {
		case was.Unknown || s.Unknown:
			severity, what = SeverityNote, "an unknown value"
		case was.Value == s.Value:
			severity, what = SeverityNote, "the same value"
		case l.env.Form == FormShell:
			severity = SeverityNote // probably in different branches of the script
		}
		where := "an earlier entry"
		if was.Line > 0 {
			where = "line " + lineOf(was, s)
		}
		l.report(s, severity, "%s sets %s too; the last value applies", where, what)
	}
}
