// Package prm encodes and decodes access registers of NVIDIA devices, and the management datagrams
// (MADs) that carry them: vendor class 0x0a, attribute 0x51 (AccessRegister). The name is that of
// the vendor's documentation, the Programmer's Reference Manual.
//
//	request := prm.PPCNT{Group: prm.GroupStatistical, PortAccess: prm.PortAccessIB, LocalPort: 1}
//	p := prm.NewAccessRegister(prm.RegisterPPCNT, 0, key, tid)
//	request.Append(p.Data[:0])
//	b = p.Append(b[:0]) // 256 bytes to send to QP 1 of the device
//
//	var answer prm.AccessRegister
//	n, err := answer.Decode(b)
//	if status := answer.Result(); status != 0 { … prm.StatusText(status) … }
//	var counters prm.StatisticalCounters
//	n, err = counters.Decode(answer.Data[prm.PPCNTHeaderLen:])
//
// A register longer than [BlockLen] takes several datagrams, one for each block.
//
// As in package mad, Decode reads from the start of a slice and returns the number of bytes read,
// or [mad.ErrShort]; it doesn't validate values. Append writes the same bytes again: a structure
// keeps the bytes that were read, including those of fields that it doesn't name, and Append
// overwrites the named fields in them. Decode and Append don't allocate if the slice has enough
// capacity. Functions are pure and safe for concurrent use; a value that Decode writes to is not.
//
// # Sources
//
// Each type names its source. "adb" is
// tools_layouts/adb/prm/{hca,switch}/ext/register_access_table.adb of mstflint, whose notation of
// an offset, 0x60.8, is a big-endian word of 32 bits at byte 0x60 and a bit in it, counted from the
// lowest. "mlx5_ifc.h" is include/linux/mlx5/mlx5_ifc.h of the Linux kernel, which has the counters
// and the troubleshooting page too. Both agree.
//
// None of this has been tried with a device.
package prm
