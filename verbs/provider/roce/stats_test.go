package roce

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCounters checks the names of the counters, which are part of the results of measurements, and
// that the map, the struct and the internal counters agree.
func TestCounters(t *testing.T) {
	e := &Engine{stats: Stats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}}
	count(&e.stats.BadICRC)
	want := map[string]uint64{
		"readErrors": 1, "writeErrors": 2, "malformed": 6, "unknownQP": 7, "foreign": 8, "badICRC": 10,
		"retransmits": 10, "timeouts": 11, "sequenceNAKs": 12, "rnrNAKs": 13, "duplicates": 14, "outOfOrder": 15,
		"tooLong": 3, "forbidden": 4, "unreachable": 5, "badQKey": 16, "dropped": 17, "cnps": 18, "ecnMarks": 19,
	}
	if diff := cmp.Diff(want, e.Counters()); diff != "" {
		t.Errorf("Counters differ (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(e.Stats())
	var got map[string]uint64
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Stats as JSON: %v, differ (-want +got):\n%s", err, diff)
	}
}
