package evidence

import (
	"fmt"
	"time"
)

// Place is where something was read: a line of a text, or a packet of a capture.
type Place struct {
	File string `json:"file"`
	// Line is the number of the line or packet, from 1; 0: the file as a whole.
	Line int `json:"line,omitempty"`
}

// String returns "job.log:17", as compilers print places.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// NoRank is the rank of a process that isn't known.
const NoRank = -1

// Process is who wrote a line, as far as it is known. Processes of containers often share host
// name and process ID, so a process belongs to a file too.
type Process struct {
	File string `json:"file,omitempty"`
	// Host is the name in the line itself, or the launcher's; "" if there is none.
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty"`
	// Rank is the global rank, or [NoRank].
	Rank int `json:"rank"`
}

// Line is one line of a log, without what launchers and terminals have put around it.
type Line struct {
	Place Place
	// Text is the line without launcher's prefix, colours and line end, but with the prefix of the
	// program itself, such as "node1:12:34 [0] NCCL INFO ".
	Text string
	// Process holds what the launcher's prefix said.
	Process Process
	// Time is from the launcher's prefix, zero if it has none. Times without a date have the year
	// 0, and those without a zone are taken for UTC.
	Time time.Time
}
