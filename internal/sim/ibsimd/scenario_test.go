package ibsimd_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
)

func TestFaultErrors(t *testing.T) {
	const symbol = "counter: SymbolErrorCounter"
	for text, want := range map[string]string{
		"nods: {}": `unknown field "nods"`,

		"nodes: {host99: {dead: true}}":           `unknown node "host99"`,
		"nodes: {zebra: {dead: true}}":            `unknown node "zebra"`,
		"nodes: {'[': {dead: true}}":              `pattern "["`,
		"nodes: {host1: {delay: fast}}":           `"fast" is not a time from 0s to 1h`,
		"nodes: {host1: {delay: 2h}}":             `"2h" is not a time from 0s to 1h`,
		"nodes: {host1: {delay: 3}}":              "is not a time such as 300ms",
		"nodes: {host1: {lie: white}}":            `lie "white" is not one of wrong-attribute, `,
		"nodes: {host1: {guid: host99}}":          `guid: no node "host99"`,
		"nodes: {host1: {protect: 2}}":            "protect is from 0 to 3, and needs mkey",
		"nodes: {host1: {mkey: '1', protect: 4}}": "protect is from 0 to 3",
		"nodes: {host1: {mkey: secret}}":          `mkey "secret" is not a number`,
		"nodes: {host1: {mkey: '0'}}":             `mkey "0" is not a number above 0`,
		"nodes: {host1: {sl: 16}}":                "sl 16: at most 32 and 15",
		"nodes: {host1: {pkeys: [many]}}":         "read faults",

		"nodes: {host1: {attributes: [{id: X}]}}":                             `attribute "X" is not a number or`,
		"nodes: {host1: {attributes: [{id: 18}]}}":                            `attribute 0x0012: offset 0`,
		"nodes: {host1: {attributes: [{id: 18, offset: 63, bytes: '0000'}]}}": "offset 63",
		"nodes: {host1: {attributes: [{id: 18, bytes: xy}]}}":                 `bytes "xy"`,

		"counters: [{port: host1, COUNTER, perSecond: 1}]":              `port "host1" is not a node`,
		"counters: [{port: 'host99[1]', COUNTER, perSecond: 1}]":        `port "host99[1]" is not a node`,
		"counters: [{port: 'host1[2]', COUNTER, perSecond: 1}]":         "the node has 1 ports",
		"counters: [{port: 'host1[0]', COUNTER, perSecond: 1}]":         "the node has 1 ports",
		"counters: [{port: 'host1[1]', counter: Sorrow, perSecond: 1}]": `no counter "Sorrow"`,
		"counters: [{port: 'host1[1]', COUNTER, perSecond: -1}]":        "perSecond -1 is not",
		"counters: [{port: 'host1[1]', COUNTER, perSecond: .nan}]":      "read faults",

		"managers: [{node: host99}]":               `manager at "host99": no such node`,
		"managers: [{node: host1, state: king}]":   `state "king" is not one of`,
		"managers: [{node: host1, priority: 16}]":  "priority 16 is above 15",
		"managers: [{node: host1, priority: 300}]": "read faults",
		"nodes: {host1: {ded: true}}":              `read faults: unknown field "ded"`,
		"nodes:\n\thost1: {}":                      "read faults: line 2: found character",

		"lostAfter: -1s": "is not a time from 0s to 1h",

		"nodes: {host1: {dead: true, dead: false}}\n": "read faults",
	} {
		n, err := ibsimd.Generate("fat-tree")
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "COUNTER", symbol)
		f, err := ibsimd.ParseFaults([]byte(text))
		if err == nil {
			_, err = f.Apply(n)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
