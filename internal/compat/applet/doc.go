// Package applet implements replacements of well-known C tools and scripts, with the same names,
// options, output, messages and exit codes, so that one file replaces several packages in a
// container image:
//
//	env := applet.Env{
//		Name: "ibstat", Args: []string{"-l"}, Stdout: os.Stdout, Stderr: os.Stderr, Node: node,
//	}
//	code := applet.Run(ctx, env)
//
// Their output is compared byte by byte with rdma-core 44 (ibv_devices, ibv_devinfo, ibstat,
// ibstatus) and with the scripts of mlnx-tools and MLNX_OFED (show_gids, ibdev2netdev);
// docs/applets.md lists the differences. Text from the node is printed unchanged, including control
// characters, as the C tools do.
//
// Calls of [Run] are independent and may run concurrently. Run writes nothing but its output.
package applet
