// Record runs infiniband-diags against Debian's ibsim and opensm, and records the MADs
// that they exchange and the output of each tool. See ../README.md.
//
//	go run ./wire/mad/testdata/record wire/mad/testdata
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

const preload = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"

// most is the maximum number of MADs that are kept per command.
const most = 20

// commands are the recorded commands: a name for the files, and the command line. The
// LIDs are those that opensm assigns in this net when it runs at the first node.
var commands = [][2]string{
	{"nodeinfo-direct-own", "smpquery -D nodeinfo 0"},
	{"nodeinfo-direct-switch", "smpquery -D nodeinfo 0,1"},
	{"nodeinfo-direct-far", "smpquery -D nodeinfo 0,1,35,1"},
	{"nodeinfo-lid", "smpquery nodeinfo 6"},
	{"nodedesc", "smpquery -D nodedesc 0,1,2"},
	{"portinfo-own", "smpquery -D portinfo 0 1"},
	{"portinfo-switch0", "smpquery -D portinfo 0,1 0"},
	{"portinfo-hdr", "smpquery -D portinfo 0,1 1"},
	{"portinfo-ddr", "smpquery -D portinfo 0,1 2"},
	{"portinfo-down", "smpquery -D portinfo 0,1 9"},
	{"portinfo-lid", "smpquery portinfo 6 2"},
	{"switchinfo", "smpquery -D switchinfo 0,1"},
	{"pkeys", "smpquery -D pkeys 0,1 1"},
	{"guids", "smpquery -D guidinfo 0"},
	{"extendedportinfo", "smpquery -D mepi 0,1 1"},
	{"lft", "ibroute -D 0,1"},
	{"mft", "ibroute -M -D 0,1"},
	{"sminfo", "sminfo"},
	{"counters", "perfquery 2 1"},
	{"counters-extended", "perfquery -x 2 1"},
	{"classportinfo-sa", "saquery CPI"},
	{"noderecord", "saquery NR 4"},
	{"portinforecord", "saquery PIR 4/1"},
	{"linkrecord", "saquery LR"},
	{"pathrecord", "saquery --src-to-dst 1:6"},
	{"sminforecord", "saquery SMIR"},
	{"unroutable", "smpquery -D nodeinfo 0,1,9"},
}

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: record TESTDATA")
	}
	dir, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	tmp, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	return errors.Join(record(ctx, lab{dir: dir, tmp: tmp, socket: fmt.Sprintf("record%d", os.Getpid())}), os.RemoveAll(tmp))
}

// lab has the directories and names for a recording.
type lab struct {
	dir    string // testdata
	tmp    string // working directory of the programs, in which umad2sim creates a directory for each
	socket string // socket name of ibsim
}

// command returns a command that runs at one node of the net and uses ibsim's socket.
func (l *lab) command(ctx context.Context, socket, node, line string) *exec.Cmd {
	words := strings.Fields(line)
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir = l.tmp
	c.Env = append(
		os.Environ(),
		"IBSIM_SOCKNAME="+socket, "SIM_HOST="+node, "LD_PRELOAD="+preload, "OSM_CACHE_DIR="+l.tmp, "OSM_TMP_DIR="+l.tmp,
	)
	return c
}

func record(ctx context.Context, l lab) error {
	ibsim := exec.CommandContext(ctx, "ibsim", "-s", filepath.Join(l.dir, "net"))
	ibsim.Env = append(os.Environ(), "IBSIM_SOCKNAME="+l.socket)
	console, err := ibsim.StdinPipe() // ibsim ends with its console
	if err != nil {
		return err
	}
	defer console.Close()
	if err := ibsim.Start(); err != nil {
		return err
	}
	defer end(ibsim)
	time.Sleep(time.Second)
	opensm := l.command(ctx, l.socket, "alpha", "opensm -f log")
	if err := opensm.Start(); err != nil {
		return err
	}
	endSM := sync.OnceFunc(func() { end(opensm) })
	defer endSM()
	time.Sleep(3 * time.Second) // one sweep takes a tenth of a second here

	r, err := newRelay(l.socket, l.socket+"relay")
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- r.serve() }()
	text, err := l.recordTools(ctx, r)
	if err == nil {
		endSM()
		err = l.recordPing(ctx, r, text)
	}
	err = errors.Join(err, r.control.Close(), <-done)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, "mads.txt"), text.Bytes(), 0o666)
}

func end(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// multicast returns the packets that configure a multicast group, LID 0xc001 with ports
// 1, 3 and 35, in the switch next to gamma: opensm creates none without members.
func multicast() []mad.DirectedSMP {
	path, _ := mad.NewPath(1) // one hop is not too long
	packets := []mad.DirectedSMP{
		mad.NewDirectedSMP(mad.MethodSet, mad.AttributeMFT, mad.MFTModifier(0, 0), 1, &path),
		mad.NewDirectedSMP(mad.MethodSet, mad.AttributeMFT, mad.MFTModifier(0, 2), 2, &path),
	}
	(&mad.MFTBlock{1: 1<<1 | 1<<3}).Append(packets[0].Data[:0])
	(&mad.MFTBlock{1: 1 << (35 - 32)}).Append(packets[1].Data[:0])
	return packets
}

// recordTools records every command but ibping, and returns the text of mads.txt.
func (l *lab) recordTools(ctx context.Context, r *relay) (*bytes.Buffer, error) {
	text := &bytes.Buffer{}
	fmt.Fprintf(text, "# Made by testdata/record at %s: see README.md.\n", time.Now().UTC().Format("2006-01-02"))
	for _, c := range commands {
		if c[0] == "mft" {
			r.inject = multicast()
		}
		if err := l.recordOne(ctx, r, text, c[0], c[1]); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// recordPing records ibping, with its server at beta, the node with LID 4. The server
// doesn't use the relay.
func (l *lab) recordPing(ctx context.Context, r *relay, text *bytes.Buffer) error {
	server := l.command(ctx, l.socket, "beta", "ibping -S")
	server.Env = append(server.Env, "SIM_SET_ISSM=1") // otherwise ibsim doesn't forward it any requests
	if err := server.Start(); err != nil {
		return err
	}
	defer end(server)
	time.Sleep(time.Second)
	return l.recordOne(ctx, r, text, "ping", "ibping -c 1 4")
}

// recordOne runs one command at gamma, and writes the MADs to text and the output to its
// file. A failing command is recorded too.
func (l *lab) recordOne(ctx context.Context, r *relay, text *bytes.Buffer, name, line string) error {
	out, err := l.command(ctx, r.base, "gamma", line).Output()
	fmt.Fprintf(text, "\nvector %s\ncommand %s\n", name, line)
	if err != nil {
		fmt.Fprintf(text, "# %v\n", err)
	}
	log := r.take()
	for _, mad := range log[:min(len(log), most)] {
		fmt.Fprintln(text, mad)
	}
	if len(log) > most {
		fmt.Fprintf(text, "# %d more left out\n", len(log)-most)
	}
	return os.WriteFile(filepath.Join(l.dir, "output", name+".txt"), out, 0o666)
}
