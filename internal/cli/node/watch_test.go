package node

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
)

// watched is the part of status's JSON that the test looks at.
type watched struct {
	Ports []struct {
		Port      string  `json:"port"`
		Receive   float64 `json:"receiveGbps"`
		NewErrors uint64  `json:"newErrors"`
		AtLeast   bool    `json:"atLeast"`
		Errors    []struct {
			Counter struct {
				Name      string `json:"name"`
				Saturated bool   `json:"saturated"`
			} `json:"counter"`
			Delta     *uint64 `json:"delta"`
			Reset     bool    `json:"reset"`
			AtLeast   bool    `json:"atLeast"`
			PerSecond float64 `json:"perSecond"`
		} `json:"errors"`
	} `json:"ports"`
}

// TestWatchFollowsCounters changes counters below --root while status --watch
// runs: each change must show in the next reading, a reset never as a negative
// rate, and a saturated counter as saturated.
func TestWatchFollowsCounters(t *testing.T) {
	tree, err := testtrees.Load("01_ib_8hca")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := tree.WriteDir(root); err != nil {
		t.Fatal(err)
	}
	set := func(counter, value string) {
		t.Helper()
		file := filepath.Join(root, filepath.FromSlash("sys/class/infiniband/mlx5_0/ports/1/counters"), counter)
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []string{"link_downed", "symbol_error", "port_rcv_data"} {
		set(c, "10")
	}
	steps := []struct {
		change func()
		check  func(watched) bool
		want   string
	}{
		{func() {}, func(w watched) bool { return w.Ports[0].NewErrors == 0 }, "no new errors at first"},
		{func() { set("symbol_error", "17"); set("port_rcv_data", "250000010") }, func(w watched) bool {
			return w.Ports[0].NewErrors == 7 && w.Ports[0].Receive > 0
		}, "7 new errors and received data"},
		{func() { set("symbol_error", "3"); set("port_rcv_data", "5") }, func(w watched) bool {
			e := w.Ports[0].Errors
			return w.Ports[0].NewErrors == 3 && w.Ports[0].AtLeast && w.Ports[0].Receive == 0 && len(e) == 2 &&
				e[1].Reset && e[1].AtLeast && *e[1].Delta == 3 && e[1].PerSecond > 0
		}, "a reset, at least 3 new, no rate of data"},
		{func() { set("symbol_error", "0") }, func(w watched) bool {
			e := w.Ports[0].Errors
			return w.Ports[0].NewErrors == 0 && !w.Ports[0].AtLeast && len(e) == 2 &&
				e[1].Reset && !e[1].AtLeast && e[1].Delta == nil
		}, "a reset to 0, after which new errors are not known"},
		{func() { set("link_downed", "255") }, func(w watched) bool {
			e := w.Ports[0].Errors
			return e[0].Counter.Name == "link_downed" && e[0].Counter.Saturated && e[0].AtLeast && *e[0].Delta == 245 &&
				w.Ports[0].NewErrors == 245
		}, "link_downed saturated, at least 245 new"},
		{func() { set("port_rcv_data", "4294967295") }, func(w watched) bool {
			e := w.Ports[0].Errors
			return e[0].Counter.Saturated && !e[0].AtLeast && e[0].Delta == nil && w.Ports[0].AtLeast &&
				w.Ports[0].NewErrors == 0 && w.Ports[0].Receive == 0 && len(e) == 2 &&
				e[1].Counter.Name == "port_rcv_data" && e[1].AtLeast
		}, "link_downed still saturated, so new errors are not known; a saturated data counter has no rate"},
	}
	reader, writer := io.Pipe()
	var stderr bytes.Buffer
	app := cli.NewApp(Commands())
	app.Stdout, app.Stderr, app.Environ = writer, &stderr, nil
	exit := make(chan int, 1)
	go func() {
		exit <- app.Run(t.Context(),
			[]string{"status", "--watch", "--interval", "700ms", "--count", "7", "-o", "json", "--root", root})
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 1<<20)
	for _, step := range steps {
		step.change()
		if !lines.Scan() {
			t.Fatalf("no reading for %q; stderr: %s", step.want, stderr.String())
		}
		var w watched
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil || len(w.Ports) != 8 {
			t.Fatalf("reading %s: %v", lines.Text(), err)
		}
		if !step.check(w) {
			t.Errorf("reading = %+v, want %s", w.Ports[0], step.want)
		}
		if strings.Contains(lines.Text(), `Gbps":-`) {
			t.Errorf("negative rate in %s", lines.Text())
		}
	}
	for lines.Scan() { // the rest, so that the writer ends
	}
	if code := <-exit; code != cli.ExitOK {
		t.Errorf("exit code = %d, want 0; stderr: %s", code, stderr.String())
	}
}
