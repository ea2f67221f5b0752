// Package hosts joins a sweep with what hosts know of their ports: the host name, the RDMA device,
// the PCI address and the rail.
//
//	list, bad, err := hosts.Read(ctx, inputs.Files{Names: []string{"bundles/"}}, consensus.Options{})
//	report := hosts.Join(topology, list)
//	topology.Hosts[port].String() // gpu-07 mlx5_3[1] rail 3
//
// Ports are joined by port GUID (entry 0 of the GID table), or else by node GUID and port number,
// or else by the GUID of the card and the LID, if only one port of the sweep has both: that is how
// virtual functions, sub-functions and the host's side of a DPU are seen. The report has what isn't
// in both, what contradicts, and the rails that are connected to other leaves than those of the
// other hosts.
//
// The functions may be called concurrently for different topologies.
package hosts
