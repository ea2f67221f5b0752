package fabric

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// CommandsProgram is the name of the table of output of commands: it says what a node is like and
// nothing about a job.
const CommandsProgram = "output of commands"

// Commands returns the forms of output of commands.
func Commands() forms.Table {
	return forms.Table{
		Program: CommandsProgram,
		Markers: []string{
			"ACSCtl:", "ax locked memory", "open files   ", "ulimit -l", " uname -r",
			"CmaTotal:", "aarch64 GNU/Linux", "/aarch64-linux-gnu/", "NVIDIA GB", "NVIDIA GH", "machine aarch64",
			"-nvidia aarch64", "-generic aarch64",
			"-64k aarch64", "BOOT_IMAGE=", "node_guid:",
			"hca_id:", "Infiniband device '", " physical_state ", "netns shared", "netns exclusive", "n_gids_found=",
			"PORT\tINDEX\tGID", "PORT    INDEX   GID", "CA type: ", "CA 'mlx", "CA 'ib", "CA 'roc", "CA 'bnxt",
			"CA 'irdma", "CA 'rdma", "CA 'rxe", "CA 'siw", "CA 'hfi", "CA 'hns", "CA 'efa",
			`"Devices": [],`, `"Privileged": false,`,
		},
		Follow: func() forms.Follower { return &deviceFollower{} },
		Forms:  forms.Rows("command", commandRows(), nil),
	}
}

func commandRows() []forms.Row {
	return []forms.Row{
		{
			Name: "acs", Kind: evidence.Setting, Anchor: "ACSCtl:", Info: true, Source: "lspci -vvv",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["name"], f["value"] = "ACSCtl", strings.TrimSpace(strings.TrimPrefix(m, "ACSCtl:"))
				return strings.Contains(m, "ReqRedir+")
			},
		},
		{
			Name: "memlock", Kind: evidence.Setting, Anchor: "max locked memory", Info: true, Source: "ulimit -a",
			Parse: func(m, _ string, f evidence.Fields) bool {
				words := strings.Fields(m)
				f["name"], f["value"] = "memlock", words[len(words)-1]
				return strings.Contains(m, "-l)") && limit(f["value"])
			},
		},
		{
			Name: "nofile", Kind: evidence.Setting, Anchor: "open files ", Info: true, Source: "ulimit -a",
			Parse: func(m, before string, f evidence.Fields) bool {
				words := strings.Fields(m)
				f["name"], f["value"] = "nofile", words[len(words)-1]
				return before == "" && strings.Contains(m, "-n)") && limit(f["value"])
			},
		},
		{
			Name: "memlock-text", Kind: evidence.Setting, Anchor: "ulimit -l", Info: true, Source: "users' reports",
			Parse: func(m, _ string, f evidence.Fields) bool { // "ulimit -l in the job: 65536"
				_, value, _ := strings.Cut(m, ": ")
				f["name"], f["value"] = "memlock", strings.TrimSpace(value)
				return limit(f["value"])
			},
		},
		{
			Name: "memlock-proc", Kind: evidence.Setting, Anchor: "Max locked memory", Info: true,
			Source: "/proc/PID/limits", Parse: parseLimits,
		},
		{
			Name: "cma", Kind: evidence.Setting, Anchor: "CmaTotal:", Info: true, Source: "/proc/meminfo",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["name"], f["value"] = "CmaTotal", forms.Word(m, "CmaTotal:")
				return f["value"] != ""
			},
		},
		{
			Name: "machine-library", Kind: evidence.Setting, Anchor: "/aarch64-linux-gnu/", Info: true,
			Source: "paths of Debian's libraries", Parse: forms.Fixed("name", "machine", "value", "aarch64"),
		},
		{
			Name: "machine-gpu", Kind: evidence.Setting, Anchor: "NVIDIA G", Info: true, Source: "nvidia-smi",
			Parse: func(m, _ string, f evidence.Fields) bool { // GPUs that are sold with an Arm CPU only
				f["name"], f["value"] = "machine", "aarch64"
				return slices.ContainsFunc([]string{"NVIDIA GB200", "NVIDIA GB300", "NVIDIA GB10", "NVIDIA GH200"},
					func(name string) bool { return strings.HasPrefix(m, name) })
			},
		},
		{
			Name: "machine", Kind: evidence.Setting, Anchor: " aarch64", Info: true, Source: "uname -a",
			Parse: func(_, before string, f evidence.Fields) bool {
				f["name"], f["value"] = "machine", "aarch64"
				return strings.Contains(before, "Linux ") || strings.HasSuffix(before, "machine")
			},
		},
		{
			Name: "kernel-parameters", Kind: evidence.Setting, Anchor: "BOOT_IMAGE=", Info: true,
			Source: "/proc/cmdline", Parse: parseParameters,
		},
		{
			Name: "netns", Kind: evidence.Setting, Anchor: "netns ", Info: true, Source: "rdma system",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["name"], f["value"] = "netns", forms.Word(m, "netns ")
				return strings.TrimSpace(before) == "" && (f["value"] == "shared" || f["value"] == "exclusive")
			},
		},
		{
			Name: "link", Kind: evidence.DevicePort, Anchor: " physical_state ", Info: true, Source: "rdma link",
			Parse: parseLink,
		},
		{
			Name: "container-devices", Kind: evidence.Setting, Anchor: `"Devices": [],`, Info: true,
			Source: "docker inspect", Parse: forms.Fixed("name", "container devices", "value", "none"),
		},
		{
			Name: "container-privileged", Kind: evidence.Setting, Anchor: `"Privileged": false,`, Info: true,
			Source: "docker inspect", Parse: forms.Fixed("name", "container privileged", "value", "false"),
		},
		{
			Name: "vf-zero-guid", Kind: evidence.K8sVF, Anchor: "node_guid:", Source: "ibv_devinfo",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["what"] = "guid"
				return strings.HasSuffix(strings.TrimSpace(m), "0000:0000:0000:0000")
			},
		},
	}
}

// limit reports whether s is a limit as ulimit prints it.
func limit(s string) bool {
	return s == "unlimited" || s != "" && strings.Trim(s, "0123456789") == ""
}

// parseLimits reads "Max locked memory   65536   65536   bytes", whose first value is the soft
// limit.
func parseLimits(m, before string, f evidence.Fields) bool {
	words := strings.Fields(m)
	if len(words) != 6 || words[5] != "bytes" || before != "" || !limit(words[3]) {
		return false
	}
	f["name"], f["value"] = "memlock", words[3]
	if n, err := strconv.ParseUint(words[3], 10, 64); err == nil {
		f["value"] = strconv.FormatUint(n>>10, 10)
	}
	return true
}

// parseParameters takes the parameters about the IOMMU and ACS from the kernel's command line; none
// of them is "" and no event.
func parseParameters(m, _ string, f evidence.Fields) bool {
	var list []string
	for word := range strings.FieldsSeq(m) {
		if strings.Contains(word, "iommu") || strings.HasPrefix(word, "pci=") || strings.Contains(word, "acs") {
			list = append(list, word)
		}
	}
	f["name"], f["value"] = "iommu", strings.Join(list, " ")
	return list != nil
}

// parseLink reads "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0", on InfiniBand
// "link mlx5_0/1 subnet_prefix … lid 12 … state …", and of older releases "1/1: mlx5_0/1: state …".
func parseLink(m, before string, f evidence.Fields) bool {
	for word := range strings.FieldsSeq(before) {
		device, port, ok := strings.Cut(strings.TrimRight(word, ":"), "/")
		if ok && limit(port) && !limit(device) {
			f["device"], f["port"] = device, port
			break
		}
	}
	f["state"], f["physical"] = forms.Word(before, " state "), forms.Word(m, " physical_state ")
	f["lid"], f["netdev"] = forms.Word(before, " lid "), forms.Word(m, " netdev ")
	return f["device"] != "" && f["state"] != ""
}
