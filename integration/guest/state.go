package guest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// runRoot holds a folder for each guest of this machine. Namespaces are global to the machine, so
// the register of guests is too, whatever cache a guest was built in.
const runRoot = "/run/rdmakit-guest"

// netnsPrefix is the prefix of the names of guests' namespaces.
const netnsPrefix = "rdmakit-guest-"

// Names of files in a guest's folder.
const (
	stateName     = "state.json"
	consoleName   = "console.log"
	monitorName   = "monitor.sock"   // QEMU's monitor, see Guest.Monitor
	lifeName      = "life.lock"      // held as long as the guest has an owner
	registerName  = "register.lock"  // in runRoot: held while guests are registered or removed
	exclusiveName = "exclusive.lock" // see Guest.Exclusive
)

// state describes a guest to other processes.
type state struct {
	Dir string `json:"-"`
	// Netns is the name of the guest's network namespace. All processes in it belong to the guest.
	Netns    string    `json:"netns"`
	Detached bool      `json:"detached"` // without an owner, ended by Stop
	Ready    bool      `json:"ready"`    // has booted
	Started  time.Time `json:"started"`
	Ends     time.Time `json:"ends"` // the latest end of its life
}

func readState(dir string) (state, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		return state{}, fmt.Errorf("read the state of a guest: %w", err)
	}
	s := state{Dir: dir}
	if err := json.Unmarshal(text, &s); err != nil {
		return state{}, fmt.Errorf("read the state of a guest: %s: %w", dir, err)
	}
	if s.Netns == "" {
		return state{}, fmt.Errorf("read the state of a guest: %s: no namespace", dir)
	}
	return s, nil
}

// write replaces the state file atomically.
func (s state) write() error {
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return fmt.Errorf("write the state of a guest: %w", err)
	}
	path := filepath.Join(s.Dir, stateName)
	if err := os.WriteFile(path+".part", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the state of a guest: %w", err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		return fmt.Errorf("write the state of a guest: %w", err)
	}
	return nil
}
