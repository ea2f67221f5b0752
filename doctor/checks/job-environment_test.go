package checks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// variables records an environment: names and values in turn.
func variables(pairs ...string) change {
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return recorded(facts.Facts{Environment: known(vars)})
}

// TestJobEnvironment has what the catalogue names: RDMA turned off, names of devices that are not
// there, numbers of queue pairs and splitting, and what other checks report.
func TestJobEnvironment(t *testing.T) {
	const roce = "02_rocev2_8hca"
	all8 := "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"
	for _, s := range []hostSituation{
		{"nothing", "job-environment", roce, variables("HOME", "/root"), []string{"not-applicable node"}, ""},
		{
			"RDMA turned off", "job-environment", roce, variables("NCCL_IB_HCA", all8, "NCCL_IB_DISABLE", "1"),
			[]string{"warn NCCL_IB_DISABLE"},
			"rdmactl env lint = rule ib-disabled\nunset NCCL_IB_DISABLE",
		},
		{
			"a device that is not there", "job-environment", roce, variables("UCX_NET_DEVICES", "mlx5_9:1"),
			[]string{"fail UCX_NET_DEVICES"},
			"rule hca-unknown",
		},
		{
			"too many queue pairs", "job-environment", roce,
			variables("NCCL_IB_HCA", all8, "NCCL_IB_QPS_PER_CONNECTION", "129"),
			[]string{"warn NCCL_IB_QPS_PER_CONNECTION"},
			"rule value-range",
		},
		{
			"no number", "job-environment", roce,
			variables("NCCL_IB_HCA", all8, "NCCL_IB_SPLIT_DATA_ON_QPS", "yes"),
			[]string{"fail NCCL_IB_SPLIT_DATA_ON_QPS"},
			"rule value-type",
		},
		{
			"misspelt", "job-environment", roce, variables("NCCL_IB_HCA", all8, "NCCL_IB_GID_INDX", "3"),
			[]string{"warn NCCL_IB_GID_INDX"},
			"rule name-misspelt",
		},
		{
			"of the check gid-index", "job-environment", roce,
			variables("NCCL_IB_HCA", all8, "NCCL_IB_GID_INDEX", "1"),
			[]string{"pass node"},
			"2 variables of collective libraries fit",
		},
		{
			"of the check socket-interface", "job-environment", roce,
			variables("NCCL_IB_HCA", all8, "NCCL_SOCKET_IFNAME", "=nosuch"),
			[]string{"pass node"},
			"",
		},
		{
			"of the check role", "job-environment", roce, variables("NCCL_IB_QPS_PER_CONNECTION", "2"),
			[]string{"pass node"},
			"environment:NCCL_IB_QPS_PER_CONNECTION = 2",
		},
		{"without RDMA", "job-environment", "06_none", variables("NCCL_IB_DISABLE", "1"), []string{
			"not-applicable node",
		}, "no RDMA device"},
	} {
		t.Run(s.name, func(t *testing.T) {
			r := diagnose(t, load(t, s.tree, s.change), s.check)
			wantBrief(t, r, s.want)
			if !strings.Contains(allText(r.Findings), s.says) {
				t.Errorf("no finding says %q:\n%s", s.says, allText(r.Findings))
			}
		})
	}
}

// TestRulesOfLint runs the wrong and the right example of each rule of env lint on its tree: doctor
// reports what env lint reports, but for what other checks report.
func TestRulesOfLint(t *testing.T) {
	silent := map[string]string{
		"gid-index-unusable": "of gid-index", "gid-index-v1": "of gid-index", "gid-index-pinned": "of gid-index",
		"socket-pattern": "of socket-interface", "socket-unknown": "of socket-interface",
		"socket-local": "of socket-interface", "socket-down": "of socket-interface",
		"socket-no-address": "of socket-interface", "hca-unset": "of role", "tc-host": "of traffic-class",
		"duplicate": "an environment has a name once", "ipoib-trap": "needs another node than its tree",
		"cross-nic": "needs another node than its tree",
	}
	for _, rule := range lint.Rules() {
		reported := func(settings []string) bool {
			var pairs []string
			for _, s := range settings {
				name, value, _ := strings.Cut(s, "=")
				pairs = append(pairs, name, value)
			}
			r := diagnose(t, load(t, rule.On, variables(pairs...)), "job-environment")
			evidence := doctor.Evidence{Path: "rdmactl env lint", Value: "rule " + rule.ID}
			return slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
				return slices.Contains(f.Evidence, evidence)
			})
		}
		if reported(rule.Right) {
			t.Errorf("rule %s: reported of %q", rule.ID, rule.Right)
		}
		if reported(rule.Wrong) == (silent[rule.ID] != "") {
			t.Errorf("rule %s: reported of %q is %t: %s", rule.ID, rule.Wrong, silent[rule.ID] != "", silent[rule.ID])
		}
	}
}

// TestLargeEnvironment has thousands of variables, which a check must judge in its time.
func TestLargeEnvironment(t *testing.T) {
	vars := map[string]string{}
	for i := range 5000 {
		vars["NCCL_X"+strings.Repeat("A", i%50)+string(rune('A'+i%26))] = strings.Repeat("mlx5_0,", 50)
	}
	start := time.Now()
	diagnose(t, load(t, "02_rocev2_8hca", recorded(facts.Facts{Environment: known(vars)})), "job-environment")
	if took := time.Since(start); took > doctor.DefaultTimeout {
		t.Errorf("took %v", took)
	}
}
