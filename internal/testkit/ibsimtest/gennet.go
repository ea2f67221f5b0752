package ibsimtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Radix is the number of ports of the generated nets' switches.
const Radix = 64

// LargeArguments returns arguments that make ibsim's tables large enough for a generated net of up
// to 16,384 nodes.
func LargeArguments() []string { return []string{"-N", "16384", "-P", "1000000", "-S", "2048"} }

// Net is a generated subnet, which can be written as a net file of ibsim.
type Net struct {
	nodes  []netNode
	byName map[string]int
}

type netNode struct {
	name, kind, description string
	cables                  []netEnd // by port, from 1
}

// netEnd is the other end of a cable; port 0: there is none.
type netEnd struct {
	node int
	port int
}

// FatTree2 returns a two-tier net of leaf switches with hosts "host0"…, and spine switches with one
// cable to each leaf. It has leaves*(1+hosts)+spines nodes.
func FatTree2(leaves, hosts, spines int) *Net {
	n := &Net{byName: map[string]int{}}
	for l := range leaves {
		n.add(fmt.Sprintf("leaf%d", l), "Switch", Radix, fmt.Sprintf("MF0;leaf%d:MQM9700/U1", l))
	}
	for s := range spines {
		n.add(fmt.Sprintf("spine%d", s), "Switch", Radix, fmt.Sprintf("MF0;spine%d:MQM9700/U1", s))
	}
	for l := range leaves {
		leaf := n.byName[fmt.Sprintf("leaf%d", l)]
		n.hosts(leaf, l*hosts, hosts)
		for s := range spines {
			n.connect(leaf, n.byName[fmt.Sprintf("spine%d", s)])
		}
	}
	return n
}

// FatTree3 returns a three-tier net: pods of leaf switches with hosts and of spine switches, each
// spine with cables to cores/spines core switches. The number of cores must be a multiple of that
// of the spines: otherwise the pods would not be connected, and a sweep would find only a part of
// the net. The net has pods*(leaves*(1+hosts)+spines)+cores nodes.
func FatTree3(pods, leaves, hosts, spines, cores int) (*Net, error) {
	if spines < 1 || cores < spines || cores%spines != 0 {
		return nil, fmt.Errorf("generate net: %d cores are not a multiple of %d spines per pod", cores, spines)
	}
	n := &Net{byName: map[string]int{}}
	for c := range cores {
		n.add(fmt.Sprintf("core%d", c), "Switch", Radix, fmt.Sprintf("core%d", c))
	}
	for p := range pods {
		for s := range spines {
			spine := n.add(fmt.Sprintf("pod%dspine%d", p, s), "Switch", Radix, fmt.Sprintf("pod%dspine%d", p, s))
			for c := range cores / spines {
				n.connect(spine, s*(cores/spines)+c)
			}
		}
		for l := range leaves {
			leaf := n.add(fmt.Sprintf("pod%dleaf%d", p, l), "Switch", Radix, fmt.Sprintf("pod%dleaf%d", p, l))
			n.hosts(leaf, (p*leaves+l)*hosts, hosts)
			for s := range spines {
				n.connect(leaf, n.byName[fmt.Sprintf("pod%dspine%d", p, s)])
			}
		}
	}
	return n, nil
}

// hosts connects hosts to the next free ports of a switch.
func (n *Net) hosts(leaf, first, count int) {
	for h := first; h < first+count; h++ {
		host := n.add(fmt.Sprintf("host%d", h), "Hca", 1, fmt.Sprintf("host%d mlx5_0", h))
		n.connect(leaf, host)
	}
}

func (n *Net) add(name, kind string, ports int, description string) int {
	n.byName[name] = len(n.nodes)
	n.nodes = append(n.nodes,
		netNode{name: name, kind: kind, description: description, cables: make([]netEnd, ports+1)})
	return len(n.nodes) - 1
}

// connect connects the lowest free ports of two nodes with a cable.
func (n *Net) connect(a, b int) {
	pa, pb := n.free(a), n.free(b)
	n.nodes[a].cables[pa], n.nodes[b].cables[pb] = netEnd{b, pb}, netEnd{a, pa}
}

func (n *Net) free(node int) int {
	for port := 1; port < len(n.nodes[node].cables); port++ {
		if n.nodes[node].cables[port].port == 0 {
			return port
		}
	}
	panic(fmt.Sprintf("generate net: %s has no free port", n.nodes[node].name))
}

// Counts returns the numbers of switches, hosts and cables of the net.
func (n *Net) Counts() (switches, hosts, cables int) {
	ends := 0
	for i := range n.nodes {
		if n.nodes[i].kind == "Switch" {
			switches++
		} else {
			hosts++
		}
		for _, c := range n.nodes[i].cables {
			if c.port != 0 {
				ends++
			}
		}
	}
	return switches, hosts, ends / 2
}

// WriteTo writes the net file, with ports of 4X HDR; it implements [io.WriterTo].
func (n *Net) WriteTo(w io.Writer) (int64, error) {
	counted := &countingWriter{w: w}
	b := bufio.NewWriter(counted)
	fmt.Fprint(b, "width=3\nspeed=7\nextspeed=7\n\n")
	for i := range n.nodes {
		node := &n.nodes[i]
		fmt.Fprintf(b, "%s\t%d \"%s\"\t\t# \"%s\"\n", node.kind, len(node.cables)-1, node.name, node.description)
		for port, c := range node.cables {
			if c.port != 0 {
				fmt.Fprintf(b, "[%d]\t\"%s\"[%d]\n", port, n.nodes[c.node].name, c.port)
			}
		}
		fmt.Fprintln(b)
	}
	err := b.Flush()
	return counted.n, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// WriteFile writes the net to a temporary directory of the test, and returns the file's name.
func (n *Net) WriteFile(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "net")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}
