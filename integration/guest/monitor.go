package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
)

// monitorMessage is a message of QEMU's monitor (QMP): the greeting, an event, or a reply.
type monitorMessage struct {
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Desc string `json:"desc"`
	} `json:"error"`
}

// Monitor runs a command of QEMU's human monitor, such as pcie_aer_inject_error, and returns its
// output, in which the monitor also reports errors of the command. Calls wait for each other.
func (g *Guest) Monitor(ctx context.Context, command string) (string, error) {
	var text string
	err := g.monitor(ctx, command, &text)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return "", fmt.Errorf("monitor of the guest: %s: %w", command, err)
	}
	return text, nil
}

func (g *Guest) monitor(ctx context.Context, command string, text *string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(g.state.Dir, monitorName))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	to, from := json.NewEncoder(conn), json.NewDecoder(conn)
	if err := from.Decode(&monitorMessage{}); err != nil { // the greeting
		return err
	}
	for _, request := range []map[string]any{
		{"execute": "qmp_capabilities"},
		{"execute": "human-monitor-command", "arguments": map[string]string{"command-line": command}},
	} {
		if err := to.Encode(request); err != nil {
			return err
		}
		var m monitorMessage
		for m.Return == nil { // events come in between
			m = monitorMessage{}
			if err := from.Decode(&m); err != nil {
				return err
			}
			if m.Error != nil {
				return errors.New(m.Error.Desc)
			}
		}
		if request["arguments"] != nil {
			return json.Unmarshal(m.Return, text)
		}
	}
	return nil
}
