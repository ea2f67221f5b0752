package ibdiags

import (
	"context"
	"encoding/binary"
	"strings"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// queryPKeys prints a port's partition keys, eight per line.
func (q *smpQuery) queryPKeys(ctx context.Context, port int32) (string, error) {
	node, err := q.nodeInfo(ctx, q.to)
	if err != nil {
		return "node info query failed", err
	}
	if port > int32(node.NumPorts) {
		return "invalid port number", nil
	}
	size := int(node.PartitionCap)
	if node.NodeType == mad.NodeTypeSwitch && port != 0 {
		info, err := q.switchInfo(ctx, q.to)
		if err != nil {
			return "switch info failed", err
		}
		size = int(info.PartitionEnforcementCap)
	}
	for begin := 0; begin < size; begin += mad.PKeyBlockLen {
		data, err := q.ask(ctx, q.to, mad.AttributePKeyTable, uint32(begin/mad.PKeyBlockLen)|uint32(port)<<16)
		if err != nil {
			return "pkey table query failed", err
		}
		var keys mad.PKeyTable
		keys.Decode(data) //nolint:errcheck // ask has the length
		for j := 0; j < mad.PKeyBlockLen && begin+j < size; j += 8 {
			q.printf("%4d:", begin+j)
			for _, key := range keys[j : j+8] {
				q.printf(" 0x%04x", uint16(key))
			}
			q.printf("\n")
		}
	}
	q.printf("%d pkeys capacity for this port\n", size)
	return "", nil
}

// queryGUIDs prints a port's GUIDs, two per line.
func (q *smpQuery) queryGUIDs(ctx context.Context, _ int32) (string, error) {
	info, err := q.portInfo(ctx, q.to, 0)
	if err != nil {
		return "port info failed", err
	}
	size := int(info.GUIDCap)
	for begin := 0; begin < size; begin += mad.GUIDBlockLen {
		data, err := q.ask(ctx, q.to, mad.AttributeGUIDInfo, uint32(begin/mad.GUIDBlockLen))
		if err != nil {
			return "guid info query failed", err
		}
		for j := 0; j < mad.GUIDBlockLen && begin+j < size; j += 2 {
			q.printf("%4d: 0x%016x 0x%016x\n", begin+j, binary.BigEndian.Uint64(data[8*j:]),
				binary.BigEndian.Uint64(data[8*j+8:]))
		}
	}
	q.printf("%d guids capacity for this port\n", size)
	return "", nil
}

// querySLToVL prints the virtual lane of each service level; for a switch from each port to the
// given one.
func (q *smpQuery) querySLToVL(ctx context.Context, port int32) (string, error) {
	node, err := q.nodeInfo(ctx, q.to)
	if err != nil {
		return "node info query failed", err
	}
	if port > int32(node.NumPorts) {
		return "invalid port number", nil
	}
	q.printf("# SL2VL table: %s\n#                 SL: |", q.to)
	for sl := range 16 {
		q.printf("%2d|", sl)
	}
	q.printf("\n")
	if node.NodeType != mad.NodeTypeSwitch {
		return q.slToVLRow(ctx, 0, 0)
	}
	for in := range int(node.NumPorts) + 1 {
		if wrong, err := q.slToVLRow(ctx, in, int(port)); wrong != "" {
			return wrong, err
		}
	}
	return "", nil
}

func (q *smpQuery) slToVLRow(ctx context.Context, in, out int) (string, error) {
	data, err := q.ask(ctx, q.to, mad.AttributeSLToVLMapping, uint32(in<<8|out)) //nolint:gosec // C cuts it too
	if err != nil {
		return "slvl query failed", err
	}
	q.printf("ports: in %2d, out %2d: |", in, out)
	for _, lanes := range data[:8] {
		q.printf("%2d|%2d|", lanes>>4, lanes&15)
	}
	q.printf("\n")
	return "", nil
}

// vlArbitrationBlock is the number of entries of a VL arbitration table in one attribute.
const vlArbitrationBlock = 32

// queryVLArbitration prints the weights of the virtual lanes.
func (q *smpQuery) queryVLArbitration(ctx context.Context, port int32) (string, error) {
	if port == 0 {
		node, err := q.nodeInfo(ctx, q.to)
		if err != nil {
			return "node info query failed", err
		}
		if node.NodeType == mad.NodeTypeSwitch {
			info, err := q.switchInfo(ctx, q.to)
			switch {
			case err != nil:
				return "switch info query failed", err
			case !info.EnhancedPort0:
				q.printf("# No VLArbitration tables (BSP0): %s port %d\n", q.to, 0)
				return "", nil
			}
		}
	}
	info, err := q.portInfo(ctx, q.to, uint32(port))
	if err != nil {
		return "port info query failed", err
	}
	low, high := int(info.VLArbitrationLowCap), int(info.VLArbitrationHighCap)
	q.printf("# VLArbitration tables: %s port %d LowCap %d HighCap %d\n", q.to, port, low, high)
	for _, table := range []struct {
		name       string
		first, cap int
	}{{"Low", 1, low}, {"High", 3, high}} {
		if table.cap == 0 {
			continue
		}
		q.printf("# %s priority VL Arbitration Table:", table.name)
		for block := 0; block < 2 && block*vlArbitrationBlock < table.cap; block++ {
			data, err := q.ask(ctx, q.to, mad.AttributeVLArbitration, uint32(table.first+block)<<16|uint32(port))
			if err != nil {
				return "vl arb query failed", err
			}
			q.printf("%s", vlWeights(data[:2*min(vlArbitrationBlock, table.cap-block*vlArbitrationBlock)]))
		}
	}
	return "", nil
}

// vlWeights formats pairs of lane and weight in two lines.
func vlWeights(data []byte) string {
	var lanes, weights strings.Builder
	for i := 0; i < len(data); i += 2 {
		lanes.WriteString(leftHex(data[i]&15) + "|")
		weights.WriteString(leftHex(data[i+1]) + "|")
	}
	return "\nVL    : |" + lanes.String() + "\nWEIGHT: |" + weights.String() + "\n"
}
