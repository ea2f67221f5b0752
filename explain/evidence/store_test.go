package evidence_test

import (
	"fmt"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

func event(kind evidence.Kind, line int, status string) *evidence.Event {
	return &evidence.Event{
		Kind: kind, Place: evidence.Place{File: "f", Line: line}, Fields: evidence.Fields{"status": status},
	}
}

func TestStoreCountsEqualEvents(t *testing.T) {
	s := evidence.NewStore(evidence.Limits{Equal: 2})
	for i := range 10 {
		s.Add(event("nccl.completion", i+1, "12"))
	}
	s.Add(event("nccl.completion", 11, "5"))
	var got []string
	for e := range s.Of("nccl.completion") {
		got = append(got, fmt.Sprintf("%s×%d at %s to %s", e.Fields["status"], e.Count, e.Place, e.Last))
	}
	want := "[12×1 at f:1 to f:1 12×9 at f:2 to f:10 5×1 at f:11 to f:11]"
	if fmt.Sprint(got) != want {
		t.Errorf("Of = %v, want %v", got, want)
	}
}

func TestStoreIsBounded(t *testing.T) {
	s := evidence.NewStore(evidence.Limits{Events: 3})
	for i := range 10 {
		s.Add(event("kernel.link", i+1, fmt.Sprint(i)))
	}
	n := 0
	for range s.Of("kernel.link") {
		n++
	}
	if n != 3 || s.Dropped("kernel.link") != 7 {
		t.Errorf("%d events, %d dropped", n, s.Dropped("kernel.link"))
	}
}

func TestStoreOfFamily(t *testing.T) {
	s := evidence.NewStore(evidence.Limits{})
	s.Add(event("kernel.link", 1, ""))
	s.Add(event("nccl.qp", 2, ""))
	s.Add(event("kernel.health", 3, ""))
	n := 0
	for range s.Of("kernel.") {
		n++
	}
	if n != 2 || !s.Has("nccl.qp") || s.Has("nccl.") != true || s.Has("kernel") {
		t.Errorf("%d events of kernel., nccl.qp %v, kernel %v", n, s.Has("nccl.qp"), s.Has("kernel"))
	}
}

// A symptom with many different lines doesn't crowd out another one, and long texts are cut.
func TestStoreBoundsEachSymptom(t *testing.T) {
	s := evidence.NewStore(evidence.Limits{Events: 2, Texts: 4})
	for i := range 5 {
		e := event(evidence.Symptom, i+1, fmt.Sprint(i))
		e.Fields["line"], e.Text = "a", "längere Zeile"
		s.Add(e)
	}
	e := event(evidence.Symptom, 6, "0123456789")
	e.Fields["line"] = "b"
	s.Add(e)
	var got []string
	for e := range s.Of(evidence.Symptom) {
		got = append(got, e.Fields["line"]+" "+e.Fields["status"]+" "+e.Text)
	}
	if want := "[a 0 län… a 1 län… b 0123 ]"; fmt.Sprint(got) != want {
		t.Errorf("Of = %v, want %v", got, want)
	}
}
