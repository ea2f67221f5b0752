// Package phy reads the physical layer of ports of NVIDIA devices in an InfiniBand subnet: bit
// error ratios, the mode of error correction, why a link is down, and the modules and cables.
//
//	client := phy.Client{Caller: &fabric.Client{Transport: transport}, Keys: keys.VS}
//	port := phy.Port{Node: guid, LID: 7, Number: 3}
//	if err := client.Probe(ctx, port); errors.Is(err, phy.ErrNoClass) { … } // once for each node
//	counters, err := client.Counters(ctx, port)
//	verdict := phy.Judge(speed, rate, &counters, phy.Threshold)
//	module, err := client.Module(ctx, port)
//
// The data is in access registers, which vendor class 0x0a carries (see wire/prm). Devices of other
// vendors don't answer it, nor do devices with a VS_Key to requests without it; the two can't be
// told apart. Get is the only method: nothing is changed in a device.
//
// Each request is sent through a [Caller], one at a time. To read many ports side by side, use a
// client for each [fabric.Caller] of [fabric.Tasks]. A [Client] may be used by as many goroutines
// as its Caller.
//
// None of this has been tried with a device: sources are public layouts and the published output of
// the vendor's tools.
package phy
