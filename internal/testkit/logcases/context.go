package logcases

import (
	"fmt"
	"strings"
)

// ucxStart adds what UCX prints at level INFO when processes start: hosts, ver, dev, transport.
func (x *expander) ucxStart(a args) error {
	hosts := strings.Split(a.get("hosts", "node1"), ",")
	for i, host := range hosts {
		for r := range 2 {
			at := fmt.Sprintf("[1700000000.%06d] [%s:%d:0]", 120000+911*i+17*r, host, 40000+100*i+r)
			line := func(file string, n int, message string) {
				x.add(fmt.Sprintf("%s %15s:%-4d UCX  INFO  %s", at, file, n, message))
			}
			line("ucp_context.c", 2119, "Version "+a.get("ver", "1.16.0")+" (loaded from /opt/ucx/lib/libucp.so.0)")
			line("parser.c", 2036, "UCX_* env variables: UCX_LOG_LEVEL=info UCX_NET_DEVICES="+a.get("dev", "mlx5_0:1"))
			line("ucp_worker.c", 1888, "    ucp_context_0 intra-node cfg#0 tag(sysv/memory cma/memory "+
				a.get("transport", "rc_mlx5")+"/"+a.get("dev", "mlx5_0:1")+")")
		}
	}
	return nil
}

// backtrace adds the stack that UCX prints for a fatal error.
func (x *expander) backtrace(a args) error {
	x.add("==== backtrace (tid:  " + a.get("tid", "40000") + ") ====")
	for i, place := range []string{
		"libucs.so.0(ucs_handle_error+0x2e4)", "libucs.so.0(ucs_fatal_error_message+0xc2)",
		"libucs.so.0(+0x2edb8)",
		"libucs.so.0(ucs_log_dispatch+0xd4)", "ucx/libuct_ib.so.0(uct_ib_mlx5_completion_with_err+0x522)",
		"ucx/libuct_ib.so.0(+0x48b1d)", "libucp.so.0(ucp_worker_progress+0x2a)",
		"libopen-pal.so.40(opal_progress+0x2c)",
		"libmpi.so.40(ompi_request_default_wait_all+0x3dd)", "libmpi.so.40(PMPI_Waitall+0x8f)", "a.out(main+0x3f1)",
	} {
		x.add(fmt.Sprintf("%2d  /opt/lib/%s [0x7f51ac%06x]", i, place, 0xa5de0+0x1130*i))
	}
	x.add("=================================")
	return nil
}

// osu adds rows of a bandwidth test: rows.
func (x *expander) osu(a args) error {
	rows, err := a.number("rows", 12)
	x.add("# OSU MPI Bandwidth Test v7.3", "# Size      Bandwidth (MB/s)")
	for i := range rows {
		x.add(fmt.Sprintf("%-10d %19.2f", 1<<i, 4.1*float64(int(1)<<i)))
	}
	return err
}

// nvshmemStart adds the devices and settings that NVSHMEM lists: devices.
func (x *expander) nvshmemStart(a args) error {
	n, err := a.number("devices", 8)
	x.add("WARN: device irdma0 is not enumerated as an mlx5 device. Skipping...", "")
	const where = "/src/nvshmem/src/modules/transport/ibgda/ibgda.cpp"
	const bootstrap = "/src/nvshmem/src/modules/bootstrap/uid/bootstrap_uid.cpp:"
	x.add(where + " 3391 Begin - Enumerating IB devices in the system ([<dev_id, device_name, num_ports>]) -")
	for i := range n {
		x.add(fmt.Sprintf("%s 3412 Enumerated IB devices in the system - device id=%d (of %d), name=mlx5_%d, "+
			"num_ports=1", where, i, n, i))
	}
	x.add(where+" 3430 End - Enumerating IB devices in the system",
		"/src/nvshmem/src/modules/transport/common/transport_gdr_common.cpp 73 GDR driver version: (2, 4)",
		bootstrap+"bootstrap_uid_barrier:559: rank 0 nranks 2 tag 0 - ENTER",
		bootstrap+"bootstrap_uid_barrier:575: rank 0 nranks 2 tag 1 - DONE")
	return err
}

// mooncakeStart adds the start of Mooncake's transfer engine: stamp=MMDD_HH:MM:SS, pid, server.
func (x *expander) mooncakeStart(a args) error {
	stamp, pid := strings.ReplaceAll(a.get("stamp", "0402_08:41:10"), "_", " "), a.get("pid", "31007")
	for i, message := range []string{
		"transfer_engine_bench.cpp:413] require_size: 8589934592, FLAGS_buffer_size: 8589934592",
		"transfer_engine_bench.cpp:419] NR_SOCKETS:2", "transfer_engine.cpp:44] Transfer Engine starting. Server: " +
			a.get("server", "10.77.4.11:12345") + ", Metadata: P2PHANDSHAKE, ip_or_host_name: , rpc_port: 0",
		"transfer_metadata_plugin.cpp:903] Found active interface eth0 with IP 10.77.4.11",
		"transfer_engine.cpp:121] Transfer Engine RPC using P2P handshake, listening on 10.77.4.11:15012",
		"transfer_engine.cpp:185] Auto-discovering topology...",
		"transfer_engine.cpp:196] Topology discovery complete. Found 2 HCAs.",
		"rdma_context.cpp:533] Find best gid index: 3 on mlx5_0/",
	} {
		x.add(fmt.Sprintf("I%s.%06d %s %s", stamp, 118203+4007*i, pid, message))
	}
	return nil
}

// kernelNoise adds lines of a kernel log that have nothing to do with RDMA.
func (x *expander) kernelNoise(a args) error {
	n, err := a.number("n", 12)
	for i := range n {
		x.add([]string{
			"[   21.118203] systemd[1]: Starting Network Time Synchronization...",
			"[   22.402917] audit: type=1400 audit(1700000000.118:2): apparmor=\"STATUS\" operation=\"profile_load\" " +
				"profile=\"unconfined\" name=\"lsb_release\" pid=911",
			"[   24.866310] EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode",
			"[   31.220148] nvidia: loading out-of-tree module taints kernel.",
			"[   31.730021] nvidia 0000:1b:00.0: enabling device (0140 -> 0142)",
			"[   34.118203] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
			"[   48.402917] cgroup: fork rejected by pids controller in /system.slice/docker-77.scope",
			"[   60.866310] perf: interrupt took too long (2511 > 2500), lowering " +
				"kernel.perf_event_max_sample_rate to 79500",
		}[i%8])
	}
	return err
}
