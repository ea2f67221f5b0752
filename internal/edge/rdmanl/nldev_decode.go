package rdmanl

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The decoders decode the body of one message, after its 16-byte header. They return
// what they could decode, and the joined errors.

func decodeDevice(b []byte) (Device, error) {
	var d Device
	var index *uint32
	err := fields{
		RDMA_NLDEV_ATTR_DEV_INDEX:      number(&index),
		RDMA_NLDEV_ATTR_DEV_NAME:       nl.Text(&d.Name),
		RDMA_NLDEV_ATTR_PORT_INDEX:     number(&d.Ports),
		RDMA_NLDEV_ATTR_CAP_FLAGS:      number(&d.CapFlags),
		RDMA_NLDEV_ATTR_FW_VERSION:     nl.Text(&d.Firmware),
		RDMA_NLDEV_ATTR_NODE_GUID:      guid(&d.NodeGUID),
		RDMA_NLDEV_ATTR_SYS_IMAGE_GUID: guid(&d.SysImageGUID),
		RDMA_NLDEV_ATTR_DEV_NODE_TYPE:  number(&d.NodeType),
		RDMA_NLDEV_ATTR_DEV_PROTOCOL:   nl.Text(&d.Protocol),
		RDMA_NLDEV_ATTR_DEV_TYPE:       number(&d.Type),
		RDMA_NLDEV_ATTR_PARENT_NAME:    nl.Text(&d.Parent),
	}.decode(b)
	if index == nil || d.Name == "" {
		return Device{}, missing(err, "device index or name")
	}
	d.Index = *index
	return d, err
}

func decodePort(b []byte) (Port, error) {
	var p Port
	var device, port *uint32
	var prefix *uint64
	err := fields{
		RDMA_NLDEV_ATTR_DEV_INDEX:       number(&device),
		RDMA_NLDEV_ATTR_DEV_NAME:        nl.Text(&p.DeviceName),
		RDMA_NLDEV_ATTR_PORT_INDEX:      number(&port),
		RDMA_NLDEV_ATTR_PORT_STATE:      number(&p.State),
		RDMA_NLDEV_ATTR_PORT_PHYS_STATE: number(&p.PhysState),
		RDMA_NLDEV_ATTR_CAP_FLAGS:       number(&p.CapFlags),
		RDMA_NLDEV_ATTR_SUBNET_PREFIX:   number(&prefix),
		RDMA_NLDEV_ATTR_LID:             number(&p.LID),
		RDMA_NLDEV_ATTR_SM_LID:          number(&p.SMLID),
		RDMA_NLDEV_ATTR_LMC:             number(&p.LMC),
		RDMA_NLDEV_ATTR_NDEV_INDEX:      ifindex(&p.NetdevIndex),
		RDMA_NLDEV_ATTR_NDEV_NAME:       nl.Text(&p.NetdevName),
	}.decode(b)
	if device == nil || port == nil {
		return Port{}, missing(err, "device or port index")
	}
	p.DeviceIndex, p.Number, p.SubnetPrefix = *device, *port, (*ib.SubnetPrefix)(prefix)
	return p, err
}

func decodeSystem(b []byte) (System, error) {
	var s System
	err := fields{
		RDMA_NLDEV_SYS_ATTR_NETNS_MODE:           truth(&s.SharedNetns),
		RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK:         truth(&s.CopyOnFork),
		RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE: truth(&s.PrivilegedQKey),
	}.decode(b)
	return s, err
}

// decodeCharDevice doesn't set Kind and Port: the kernel doesn't repeat them.
func decodeCharDevice(b []byte) (CharDevice, error) {
	var c CharDevice
	var dev *uint64
	err := fields{
		RDMA_NLDEV_ATTR_CHARDEV_NAME:     nl.Text(&c.Name),
		RDMA_NLDEV_ATTR_CHARDEV_ABI:      number(&c.ABI),
		RDMA_NLDEV_ATTR_CHARDEV:          number(&dev),
		RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID: number(&c.DriverID),
	}.decode(b)
	if dev == nil || c.Name == "" {
		return CharDevice{}, missing(err, "device number or name")
	}
	// huge_encode_dev in include/linux/kdev_t.h.
	c.Major = uint32(*dev >> 8 & 0xfff)
	c.Minor = uint32(*dev&0xff | *dev>>12&0xfff00)
	return c, err
}

// guid stores a GUID, which is a number in netlink, in its wire form.
func guid(field **ib.GUID) func([]byte) error {
	return func(v []byte) error {
		n, err := nl.Uint(v)
		if err != nil {
			return err
		}
		var g ib.GUID
		binary.BigEndian.PutUint64(g[:], n)
		*field = &g
		return nil
	}
}
