package sarif

import (
	"encoding/json"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/ciforms"
)

func TestEncode(t *testing.T) {
	schema := ciforms.SARIFSchema(t)
	run := NewRun("tool", "v1", "https://example.org")
	for _, id := range []string{"a", "b"} {
		run.AddRule(Rule{
			ID: id, Short: Text{"short"}, Full: Text{"full"}, Help: Text{"help"}, HelpURI: "https://example.org/" + id,
			Default: RuleLevel{LevelError}, Properties: Tags("group"),
		})
	}
	run.Results = []Result{
		{RuleID: "b", Level: LevelError, Message: Text{"<x>"}, Locations: []Location{{
			Physical: &Physical{Artifact: Artifact{URI: "f.yaml"}, Region: &Region{StartLine: 1}},
			Logical:  []Logical{{Name: "node/mlx5_0", Kind: "port"}},
		}}},
		{RuleID: "a", Kind: KindPass, Level: LevelNone, Message: Text{"good"}, Locations: []Location{}},
	}
	data, err := run.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := ciforms.SARIF(schema, data); err != nil {
		t.Errorf("%v in\n%s", err, data)
	}
	run.Results[1].Suppressions = []Suppression{{Kind: "external", Justification: "known"}}
	if data, err = run.Encode(); err != nil {
		t.Fatal(err)
	}
	if err := ciforms.SARIF(schema, data); err != nil {
		t.Errorf("with suppressions: %v in\n%s", err, data)
	}
	var got struct {
		Runs []struct{ Results []struct{ RuleIndex int } }
	}
	if err := json.Unmarshal(data, &got); err != nil || got.Runs[0].Results[0].RuleIndex != 1 {
		t.Errorf("index of rule b: %v in\n%s", err, data)
	}
	run.Results[0].RuleID = "c"
	if _, err := run.Encode(); err == nil {
		t.Error("a result of no rule is encoded")
	}
}
