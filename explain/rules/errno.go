package rules

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
)

// errnoKinds are failures of no known form.
var errnoKinds = []evidence.Kind{
	evidence.OtherFailure, evidence.NCCLWarn, evidence.UCXError, evidence.MooncakeError, evidence.VerbsError,
	evidence.LibfabricError,
}

// errnoRule is about lines of no known form with an error number: see [leftovers].
func errnoRule() Rule {
	return Rule{
		ID: "RDX-175", Name: "error-number", Title: "something failed, and only its error number is known",
		Explanation: "The line is of no form that is known here, but the operating system's error in it limits the " +
			"causes.",
		Sources: []string{"errno(3)"},
		Find:    func(*facts.Facts) []Finding { return nil },
	}
}

// leftovers returns a finding for the first failure that no other finding has, if its error number
// says something.
func leftovers(f *facts.Facts, findings []Finding) []Finding {
	explained := map[*evidence.Event]bool{}
	for _, x := range findings {
		for _, e := range x.Events {
			explained[e] = true
		}
	}
	for _, x := range of(f, errnoKinds...) {
		if explained[x.Event] {
			continue
		}
		c := &candidates{}
		for _, cause := range errnoCauses(posix.Errno(x.Event.Text), x.Event.Text) {
			c.add(cause.Slug, cause.Title, cause.Weight).
				supports(hint, x.Event.Text, x.Event.Place).todo(cause.Decide, cause.Remedy)
		}
		if len(c.list) > 0 {
			return []Finding{{
				What: where(x) + ": " + x.Event.Text, Failure: x, Events: []*evidence.Event{x.Event},
				Causes: c.causes(),
			}}
		}
	}
	return nil
}

// errnoCauses returns the usual causes of an error number; none for those that say too little.
func errnoCauses(errno, text string) []Cause {
	one := func(slug, title string, weight int, decide, remedy string) Cause {
		return Cause{Slug: slug, Title: title, Weight: weight, Decide: decide, Remedy: remedy}
	}
	peer := one("dead-peer", "nobody listens there: the peer's process has ended, or hasn't begun", usual,
		"the peer's log; ss -ltnp on its node", "start it, or what ended it")
	iface := one("interface-choice", "the address is one that the other node can't reach", rare,
		"ip -br address on both nodes, against the address in the line", "the program's setting of the interface")
	firewall := one("firewall", "a firewall or security group drops the connection", usual,
		"nc -vz ADDRESS PORT from that node", "open the ports between the nodes")
	if slices.ContainsFunc(strings.FieldsFunc(text, addressEnd), oddTarget) {
		iface.Weight = common + usual
	}
	switch errno {
	case "1", "13":
		return []Cause{
			one("not-privileged", "the process may not do that: a permission or capability is missing", usual,
				"the owner and mode of what the line names; the container's capabilities and seccomp profile; run it "+
					"privileged once to test",
				"the permission or capability that is missing"),
		}
	case "12":
		return []Cause{
			one("memlock", "the limit of locked memory is too low", usual, "rdmactl doctor --only memlock,memlock-jobs",
				"memlock unlimited for the service that starts the job"),
			one("host-memory", "the node, or the container's limit, ran out of memory", rare, "free -g; dmesg",
				"more memory"),
			one("resource-limit", "the card has no more of that resource", rare, "rdma resource show", "fewer of them"),
		}
	case "19", "6":
		return []Cause{one("no-device-node", "the device isn't there in this container or namespace", usual,
			"rdmactl detect in the container", "pass the devices, or load the driver")}
	case "23", "24":
		return []Cause{one("file-limit", "the limit of open files is too small", common, "ulimit -n; ls /proc/PID/fd",
			"ulimit -n 1048576")}
	case "28":
		return []Cause{
			one("shm-too-small", "the file system is full: /dev/shm or a disk", usual, "df -h /dev/shm and the path",
				"space; --shm-size for containers"),
		}
	case "38", "93", "95":
		return []Cause{
			one("driver-refuses", "kernel or driver don't have this operation: older than the library", usual,
				"versions of kernel, driver and rdma-core", "a later driver, or an older library"),
		}
	case "98":
		return []Cause{
			one("port-in-use", "another process has the address", common, "ss -ltnp", "end it, or another port"),
		}
	case "97", "99":
		return []Cause{iface}
	case "101", "113":
		return []Cause{iface, firewall}
	case "104", "32", "107":
		return []Cause{peer}
	case "110":
		return []Cause{firewall, iface}
	case "111":
		return []Cause{peer, iface}
	}
	return nil
}

// addressEnd reports what can stand around an address in a text.
func addressEnd(r rune) bool { return strings.ContainsRune(" ,;=()<>[]\"'/", r) }

// oddTarget reports whether a word is an address, with or without port, that other nodes can't
// reach.
func oddTarget(word string) bool {
	if p, err := netip.ParseAddrPort(word); err == nil {
		word = p.Addr().String()
	}
	return oddAddress(word) != ""
}
