package consensus

import (
	"encoding/json"
	"io/fs"

	"github.com/rdmakit/rdmakit/internal/sim/host"
	"github.com/rdmakit/rdmakit/inventory"
)

// liveOf reads what netlink would answer on a recorded node.
func liveOf(root fs.FS) (*inventory.Live, error) {
	data, err := fs.ReadFile(root, host.LiveFile)
	if err != nil {
		return nil, err
	}
	live := &inventory.Live{}
	return live, json.Unmarshal(data, live)
}
