package codes

import "strconv"

// Event is an asynchronous event of verbs (enum ibv_event_type).
type Event struct {
	Number  int
	Name    string // IBV_EVENT_PORT_ERR
	Text    string // of ibv_event_type_str
	Of      string // CQ, QP, WQ, SRQ, port or device
	Harm    Harm
	Meaning string
	Causes  []string
	NCCL    []VersionText // what NCCL prints, after "NET/IB : DEVICE:PORT "
}

// Harm is what an event does to running jobs.
type Harm string

// The degrees.
const (
	HarmNone    Harm = "harmless"
	HarmWarning Harm = "may interrupt jobs"
	HarmFatal   Harm = "ends the connections concerned"
)

// VersionText is a text of a program and the releases that print it; an empty bound is open.
type VersionText struct {
	From, To string
	Text     string
}

// EventByNumber returns the event with a number, 0 to 20.
func EventByNumber(number int) (Event, bool) {
	if number < 0 || number >= len(events) {
		return Event{}, false
	}
	return withNCCL(events[number]), true
}

// EventByText returns the event that a text names: by the constant, or by the text of libibverbs
// anywhere in it. The longest match decides. Case and punctuation don't matter.
func EventByText(text string) (Event, bool) {
	w := words(text)
	best, length := Event{}, 0
	for _, e := range events {
		for _, phrase := range [...]string{words(e.Name), words(e.Text)} {
			if len(phrase) > length && hasPhrase(w, phrase) {
				best, length = e, len(phrase)
			}
		}
	}
	for _, a := range eventWords {
		if len(a.text) > length && hasPhrase(w, a.text) {
			best, length = events[a.number], len(a.text)
		}
	}
	return withNCCL(best), length > 0
}

// withNCCL adds what NCCL prints for an event: read in src/transport/net_ib* of its release tags.
func withNCCL(e Event) Event {
	text := e.Text
	if e.Name == "IBV_EVENT_COMM_EST" || e.Name == "" {
		return e // never printed
	}
	old := VersionText{"", "2.22", "Got async event : " + text}
	switch e.Name {
	case "IBV_EVENT_DEVICE_FATAL":
		e.NCCL = []VersionText{old, {"2.23", "", "async fatal event: " + text}}
	case "IBV_EVENT_CQ_ERR":
		e.NCCL = []VersionText{old, {"2.23", "", "async fatal event on CQ (…): " + text}}
	case "IBV_EVENT_QP_FATAL", "IBV_EVENT_QP_REQ_ERR", "IBV_EVENT_QP_ACCESS_ERR":
		e.NCCL = []VersionText{old, {"2.23", "", "async fatal event on QP (…): " + text}}
	case "IBV_EVENT_SRQ_ERR":
		e.NCCL = []VersionText{old, {"2.23", "", "async fatal event on SRQ, unused for now (…): " + text}}
	case "IBV_EVENT_GID_CHANGE":
		e.NCCL = []VersionText{old, {"2.23", "2.27", "unknown event type (18)"}, {"2.28", "", "GID table changed"}}
	case "IBV_EVENT_WQ_FATAL":
		e.NCCL = []VersionText{old, {"2.23", "", "unknown event type (19)"}}
	case "IBV_EVENT_DEVICE_SPEED_CHANGE":
		e.NCCL = []VersionText{old, {"2.23", "2.30.4", "unknown event type (20)"}, {
			"2.30.7", "",
			"speed change detected: …",
		}}
	default:
		number := strconv.Itoa(e.Number)
		e.NCCL = []VersionText{
			old,
			{"2.23", "2.28.3", "Got async error event: " + text},
			{"2.28.7", "", "Got non-fatal async event: " + text + "(" + number + ")"},
		}
	}
	return e
}
