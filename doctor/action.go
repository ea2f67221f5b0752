package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Action is one step of a remedy. Its text is made from its fields, so that a program that applies
// it and a person who reads it do the same.
type Action struct {
	Do   Do   `json:"do"`
	Risk Risk `json:"risk"` // in a report every action has one: Run fills in what is ""
	// Object is what is changed: a network device, a module, a path, a key.
	Object string `json:"object,omitempty"`
	Value  string `json:"value,omitempty"` // the value to be set
	// Text is the command line of a run, or the sentence of a note.
	Text string `json:"text,omitempty"`
}

// Do is the kind of an action.
type Do string

// The kinds of actions.
const (
	DoNote   Do = "note"    // Text says what to do; no command can
	DoRun    Do = "run"     // run Text in a shell
	DoSysctl Do = "sysctl"  // set Object (net.ipv4.conf.eth0.rp_filter) to Value
	DoModule Do = "module"  // load the module Object
	DoMTU    Do = "mtu"     // set the MTU of Object to Value
	DoLinkUp Do = "link-up" // set Object up
	DoWrite  Do = "write"   // write Value to the file Object
)

// Risk says whom an action can harm.
type Risk string

// The risks, in ascending order.
const (
	// RiskNone changes nothing, or nothing but the user's shell and what a new job gets there.
	RiskNone Risk = "none"
	// RiskNode changes this node, and interrupts nothing that works.
	RiskNode Risk = "node"
	// RiskTraffic interrupts traffic or jobs of this node for a moment.
	RiskTraffic Risk = "traffic"
	// RiskOthers can harm other nodes: a second subnet manager, flow control on a shared switch.
	// Such an action is never a line that can be pasted.
	RiskOthers Risk = "others"
)

// Note returns an action that a person has to do; the text has no leading "#".
func Note(format string, args ...any) Action {
	return Action{Do: DoNote, Text: fmt.Sprintf(format, args...)}
}

// Shell returns an action that is a command line.
func Shell(format string, args ...any) Action {
	return Action{Do: DoRun, Text: fmt.Sprintf(format, args...)}
}

// Sysctl returns an action that sets a kernel parameter.
func Sysctl(key, value string) Action { return Action{Do: DoSysctl, Object: key, Value: value} }

// String returns the line for a shell: a command, or a comment for notes and for actions that can
// harm others.
func (a Action) String() string {
	line := a.Text
	switch a.Do {
	case DoSysctl:
		line = "sysctl -w " + Quote(a.Object) + "=" + Quote(a.Value)
	case DoModule:
		line = "modprobe " + Quote(a.Object)
	case DoMTU:
		line = "ip link set " + Quote(a.Object) + " mtu " + Quote(a.Value)
	case DoLinkUp:
		line = "ip link set " + Quote(a.Object) + " up"
	case DoWrite:
		line = "echo " + Quote(a.Value) + " > " + Quote(a.Object)
	}
	line = strings.NewReplacer("\n", " ", "\r", " ").Replace(line)
	if (a.Do == DoNote || a.Risk == RiskOthers) && !strings.HasPrefix(line, "#") {
		return "# " + line
	}
	return line
}

// completeRemedy makes the text from the actions, and actions from a text without them. Every
// action gets a risk, and the line of one that can harm others becomes a comment.
func (f *Finding) completeRemedy() {
	if len(f.Actions) == 0 {
		for i, line := range f.Remedy {
			a := Action{Do: DoRun, Text: line}
			if note, ok := strings.CutPrefix(line, "#"); ok {
				a = Action{Do: DoNote, Text: strings.TrimSpace(note)}
			}
			a.Risk = a.risk()
			if a.Do == DoRun {
				f.Remedy[i] = a.String()
			}
			f.Actions = append(f.Actions, a)
		}
		return
	}
	f.Actions = slices.Clone(f.Actions) // checks may share them
	for i, a := range f.Actions {
		f.Actions[i].Risk = a.risk()
	}
	f.Remedy = nil
	for _, a := range f.Actions {
		f.Remedy = append(f.Remedy, a.String())
	}
}
