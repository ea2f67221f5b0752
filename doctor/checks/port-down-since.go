package checks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
)

// downSince returns since when a port has no link, as far as the kernel's log and its counts of
// carrier changes show; "" if neither says anything. The kernel keeps no time of a change.
func downSince(in *doctor.Input, n *inventory.Netdev) (string, []doctor.Evidence) {
	if n == nil {
		return "", nil
	}
	var texts []string
	var ev []doctor.Evidence
	if m, ok := lastLinkDown(in, n); ok {
		texts = append(texts, sinceText(in, m.Since))
		ev = append(ev, doctor.Evidence{Path: fmt.Sprintf("dmesg:%.6f", m.Since.Seconds()), Value: printable(m.Text)})
	}
	if in.Facts.Links.Known() {
		for _, l := range in.Facts.Links.Value {
			if l.Name != n.Name {
				continue
			}
			ev = append(ev, doctor.Evidence{
				Path:  "rtnetlink:" + l.Name + ":carrier",
				Value: fmt.Sprintf("up %d, down %d", l.CarrierUp, l.CarrierDown),
			})
			if l.CarrierUp == 0 {
				texts = append(texts, "it has had no link since the driver was loaded")
			} else {
				texts = append(texts, fmt.Sprintf("it has lost its link %s since the driver was loaded",
					english.Count(int(l.CarrierDown), "time")))
			}
		}
	}
	if len(texts) == 0 {
		return "", nil
	}
	return "; " + strings.Join(texts, "; "), ev
}

// sinceText says how long ago something was, or how long after boot if the time since boot is not
// known.
func sinceText(in *doctor.Input, since time.Duration) string {
	text, err := in.Facts.Files.Text(sysfs.ProcUptime)
	seconds, _, _ := strings.Cut(text, " ")
	uptime, err2 := strconv.ParseFloat(seconds, 64)
	ago := time.Duration(uptime*float64(time.Second)) - since
	if err != nil || err2 != nil || ago < 0 {
		return fmt.Sprintf("it went down %v after boot", since.Round(time.Second))
	}
	return fmt.Sprintf("it went down %v ago", ago.Round(time.Second))
}

// lastLinkDown returns the kernel's last message about the link of a network device, or of a member
// of the bond, if it says that the link went down: "ens1np0: Link down" of mlx5, "eth0: NIC Link is
// Down" of others.
func lastLinkDown(in *doctor.Input, n *inventory.Netdev) (facts.KernelMessage, bool) {
	if !in.Facts.KernelLog.Known() {
		return facts.KernelMessage{}, false
	}
	var names []string
	for _, name := range append(n.Connectors(), n.Name) {
		names = append(names, regexp.QuoteMeta(name))
	}
	link := regexp.MustCompile(`(?i)(?:^|\s)(?:` + strings.Join(names, "|") + `): (?:NIC )?link (?:is )?(down|up)\b`)
	var last facts.KernelMessage
	down := false
	for _, m := range in.Facts.KernelLog.Value {
		if match := link.FindStringSubmatch(m.Text); match != nil {
			last, down = m, strings.EqualFold(match[1], "down")
		}
	}
	return last, down
}
