package doctor

import (
	"regexp"
	"strings"
)

// Risks returns all risks, in ascending order.
func Risks() []Risk { return []Risk{RiskNone, RiskNode, RiskTraffic, RiskOthers} }

// risk returns the risk of an action: its own, or that of its kind and command. A command that
// isn't known changes the node.
func (a Action) risk() Risk {
	if a.Risk != "" {
		return a.Risk
	}
	switch a.Do {
	case DoNote:
		return RiskNone
	case DoMTU:
		return RiskTraffic
	case DoRun:
		return commandRisk(a.Text)
	}
	return RiskNode
}

// commandRisk returns the greatest risk of the commands of a line.
func commandRisk(line string) Risk {
	line, _, _ = strings.Cut(line, " #")
	greatest := 0
	for _, command := range separators.Split(line, -1) {
		command = strings.TrimSpace(command)
		for i, known := range [...]*regexp.Regexp{looking, nil, interrupting, harming} {
			if known != nil && known.MatchString(command) {
				greatest = max(greatest, i)
			}
		}
		if !looking.MatchString(command) || strings.Contains(command, ">") && !redirection.MatchString(command) {
			greatest = max(greatest, 1)
		}
	}
	return Risks()[greatest]
}

var (
	separators  = regexp.MustCompile(`&&|\|\||[|;]`)
	redirection = regexp.MustCompile(`\d?>&\d|>\s*/dev/null`) // writes no file

	// looking matches commands that change nothing but variables of the shell.
	looking = regexp.MustCompile(`^(` + strings.Join([]string{
		`cat|dmesg|getent|grep|journalctl|ls|lspci|sensors|tail|nvidia-smi topo|chronyc tracking|kubectl get|nft list`,
		`iblinkinfo|ibstat|ibv_devinfo|sminfo|perfquery( -[CP] \S+)*$`,
		`(dcb|devlink|rdma) .*\bshow|ip (-br |-s )*(address|link|route|rule)( show\b.*)?$`,
		`ethtool (-[a-z]|--show-\S+) \S+$|ethtool [^- ]\S*$`,
		`mlxlink( (-d|-p) \S+| --show_\S+)*$|mstconfig -d \S+ query|mstflint -d \S+ q(uery)?\b`,
		`rdmactl (detect|status|show|doctor|env)`,
		`export |unset |eval |vars=`,
	}, "|") + `)`)
	// interrupting matches commands that interrupt traffic or jobs of the node.
	interrupting = regexp.MustCompile(`^(ip link set .*\b(down|mtu)\b|systemctl (restart|stop)\b|` +
		`ethtool (--set-|-[GLs]\b)|devlink health recover\b|modprobe -r\b|rmmod\b)`)
	// harming matches commands that can harm other nodes, or the whole node.
	harming = regexp.MustCompile(strings.Join([]string{
		`\bopensm\b`,
		`^mlnx_qos\b.*(--pfc|--trust|--prio_tc|--buffer_size|\s-[fpsr]\b)`,
		`^dcb\b.*\b(set|add|replace|del|flush)\b`,
		`^ethtool (-A|--pause)\b`, `^lldptool\b.*\s-T\b`,
		`^(mlxfwreset|mstfwreset|reboot|shutdown|poweroff|halt|kexec)\b`, `^devlink dev (reload|flash)\b`,
		`^(flint|mstflint|mlxburn|mstfwmanager|mlxfwmanager)\b.*(\bb\b|\bburn\b|-u\b|--force)`,
		`^(mlxconfig|mstconfig)\b.*\b(set|reset|clear_semaphore)\b`,
		`^systemctl (--\S+ )*(reboot|poweroff|halt|isolate)\b`, `^ipmitool\b.*\b(power|reset)\b`,
		`/proc/sysrq-trigger`, `/(remove|reset)\b`,
	}, "|"))
)
