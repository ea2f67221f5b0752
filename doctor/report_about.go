package doctor

import (
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/internal/text/english"
)

// Recording is what a report says of the recording that it was made from.
type Recording struct {
	Source string `json:"source"` // the file, or "standard input"
	// Taken is the time when the node was recorded; absent if the recording doesn't have it.
	Taken time.Time `json:"taken,omitzero"`
}

const timeForm = "2006-01-02 15:04:05 MST"

// Recorded returns when the node was recorded and how long before the run that was: "recorded
// 2027-01-28 12:00:00 UTC, 3 days ago"; "" if the report is not of a recording.
func (r Report) Recorded() string {
	switch {
	case r.Recording == nil:
		return ""
	case r.Recording.Taken.IsZero():
		return "recorded at an unknown time"
	}
	text := "recorded " + r.Recording.Taken.UTC().Format(timeForm)
	if age := ageText(r.Time.Sub(r.Recording.Taken)); age != "" && !r.Time.IsZero() {
		text += ", " + age
	}
	return text
}

// ageText returns "3 days ago" for the greatest unit of which there are two or more; "" for times
// in the future, which are those of another clock.
func ageText(age time.Duration) string {
	switch {
	case age < 0:
		return ""
	case age >= 48*time.Hour:
		return english.Count(int(age/(24*time.Hour)), "day") + " ago"
	case age >= 2*time.Hour:
		return english.Count(int(age/time.Hour), "hour") + " ago"
	case age >= time.Minute:
		return english.Count(int(age/time.Minute), "minute") + " ago"
	}
	return "less than a minute ago"
}

// about returns what a reader has to know before the findings, a line each: why the node has no
// RDMA device, how old the recording is, and which limits were changed.
func (r Report) about() []string {
	var lines []string
	if r.NoDevice != "" {
		lines = append(lines, r.NoDevice)
	}
	if text := r.Recorded(); text != "" {
		lines = append(lines, fmt.Sprintf("%s: %s", text, r.Recording.Source))
	}
	for _, l := range r.Limits {
		lines = append(lines, "changed limit: "+l.String())
	}
	return lines
}
