package fabric_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
)

func TestThresholdsSet(t *testing.T) {
	limits := fabric.Thresholds{"VL15Dropped": 0}
	for name, value := range map[string]string{"SymbolErrorCounter": "10", "VL15Dropped": "NEVER"} {
		if err := limits.Set(name, value); err != nil {
			t.Errorf("Set(%s, %s) = %v", name, value, err)
		}
	}
	if err := limits.Set("SymbolErrorCounter", "-1"); err == nil {
		t.Error("Set takes a number below 0")
	}
	unknown, ok := errors.AsType[*fabric.UnknownCounterError](limits.Set("symbolerrorcounter", "1"))
	if !ok || unknown.Name != "symbolerrorcounter" {
		t.Errorf("Set of a counter that there isn't = %v", unknown)
	}
	if diff := cmp.Diff(fabric.Thresholds{"SymbolErrorCounter": 10}, limits); diff != "" {
		t.Errorf("thresholds (-want +got):\n%s", diff)
	}
}
