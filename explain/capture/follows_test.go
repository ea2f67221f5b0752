package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// What follows from another finding of a connection says so; a loss beside an MTU does only if the
// packet without an answer is all that is lost.
func TestFollows(t *testing.T) {
	for file, want := range map[string][]Name{ // the findings that stand by themselves
		"loss-requests-near":  {NameLoss},
		"loss-answers-near":   {NameRetransmission},
		"loss-answers-far":    {NameAnswersLost},
		"loss-responses-near": {NameLoss},
		"mtu-near":            {NameMTU},
		"mtu-last-fits-near":  {NameMTU},
		"mtu-last-fits-far":   {NameLoss, NameNoAnswer},
		"not-ready-near":      {NameRNR},
		"one-way-near":        {NameOneWay},
		"peer-gone-near":      {NameNoAnswer},
		"reordering-far":      {NameReordering},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", "rxe", file+".pcap"))
		check(t, err)
		checkFollows(t, file, b, want)
	}
	for _, missing := range []bool{false, true} {
		var s script // a packet is lost and repaired, and then a large one has no answer, but a NAK
		s.request(first, 1, 256)
		if !missing { // it is lost behind the capture
			s.request(middle, 2, 256)
		}
		s.request(last, 3, 256)
		s.response(ack, 2, ib.SyndromeNAKSequence, 0)
		s.request(middle, 2, 256)
		s.request(last, 3, 256)
		s.response(ack, 3, ib.SyndromeACK, 0)
		s.request(first, 4, 1024)
		s.request(last, 5, 1)
		s.response(ack, 4, ib.SyndromeNAKSequence, 0)
		for range 4 {
			s.request(first, 4, 1024)
			s.request(last, 5, 1)
			s.at = s.at.Add(100 * time.Millisecond)
		}
		checkFollows(t, "loss before a large packet", s.out.Bytes(), []Name{NameLoss, NameMTU})
	}
}

func checkFollows(t *testing.T, name string, b []byte, want []Name) {
	t.Helper()
	r, err := Read(bytes.NewReader(b), Options{})
	check(t, err)
	var alone []Name
	for _, f := range r.Findings {
		switch {
		case f.Follows < 0:
			alone = append(alone, f.Name)
		case r.Findings[f.Follows].Name == f.Name:
			t.Errorf("%s: %s follows from itself", name, f.Name)
		}
	}
	slices.Sort(alone)
	if !slices.Equal(slices.Compact(alone), want) {
		t.Errorf("%s: by themselves %v, want %v\n%s", name, alone, want, dump(r))
	}
}
