// Package applet holds programs that do what well-known C tools and scripts do, under their names,
// with their options, output, messages and exit codes, so that one file replaces several packages
// in a container image:
//
//	env := applet.Env{Name: "ibstat", Args: []string{"-l"}, Stdout: os.Stdout, Stderr: os.Stderr, Node: node}
//	code := applet.Run(ctx, env)
//
// What they print is compared byte by byte with rdma-core 44 (ibv_devices, ibv_devinfo, ibstat,
// ibstatus) and with the scripts of mlnx-tools and MLNX_OFED (show_gids, ibdev2netdev);
// docs/applets.md tells where they differ. Text of the node is printed as it is, control characters
// included, as the C tools do.
//
// A [Run] shares nothing with another and may run beside it. It writes nothing but its output.
package applet
