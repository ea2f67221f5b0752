package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Source files of mstflint, whose tools MFT has under other names.
const (
	fwFlint  = "Mellanox/mstflint, flint/err_msgs.h"
	fwOps    = "Mellanox/mstflint, mlxfwops/lib"
	fwComps  = "Mellanox/mstflint, fw_comps_mgr/fw_comps_mgr.cpp"
	fwConfig = "Mellanox/mstflint, mlxconfig"
	fwReset  = "Mellanox/mstflint, small_utils/mstfwreset.py"
)

// firmwareSymptoms are about the tools for the cards' firmware.
func firmwareSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-820", Name: "firmware-device", Title: "a tool for the card's firmware can't open the card",
			Explanation: "flint, mlxconfig and their like take a PCI address, an RDMA device, or a device of mst, " +
				"which exists after mst start. As root they read the card's configuration space, which a " +
				"kernel that is locked down refuses.",
			Sources: []string{fwFlint, "Mellanox/mstflint#1371", "Mellanox/mstflint#20"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "flint-open", fwFlint, "-E- Cannot open Device: ").with("device", "open Device: "),
				says(Kernel, "mft-no-devices", "Mellanox/mstflint, mlxfwupdate/mlxfwmanager.cpp",
					"No devices found or specified, mst might be stopped").speaks("wrong-device"),
				says(Kernel, "mft-root", fwReset, "-E- Only root user can run this tool").decides("not-privileged"),
				says(Kernel, "mft-permissions", "Mellanox/mstflint, mlxfwupdate",
					"-E- Failed to open ", "Permission denied").decides("not-privileged"),
				says(Kernel, "flint-cr-space", fwComps, "Failed to access CR-Space"),
				says(Kernel, "mft-livefish", fwConfig, "Device in Livefish mode is not supported").
					decides("card-firmware"),
			},
			Causes: []Cause{
				maybe(
					Usual,
					"wrong-device",
					"no such device: mst isn't started, or the name or address is another one",
					"mst status -v; lspci -d 15b3:; ls /dev/mst",
					"mst start, or the PCI address instead (mstflint -d 04:00.0)",
					onErrno(Strong, "errno 2: no such file", "2"),
					onText(Strong, "No such file", "no such file"),
				),
				maybe(Usual, "not-privileged", "the user may not read the card's configuration space",
					"id; in a container: is /sys the host's?", "as root, in a privileged container",
					onText(Strong, "ermission denied", "permission denied"), onErrno(Strong, "errno 13", "13", "1")),
				maybe(Usual, "kernel-lockdown", "the kernel is locked down (secure boot)",
					"cat /sys/kernel/security/lockdown; mokutil --sb-state",
					"the tools of the driver's own release, which go through it; or secure boot off",
					onSeen("linux/lockdown", "the kernel's log says so")),
				maybe(Rare, "firmware-tool-old", "the tool doesn't know this card",
					"mstflint -v; the release notes", "a newer mstflint or MFT",
					onText(Strong, "nsupported", "the device or flash is unsupported"),
					onText(Strong, "UNSUPPORTED", "the device or flash is unsupported")),
				maybe(
					Rare,
					"card-firmware",
					"the card's firmware doesn't run: flash recovery (livefish), or no answer",
					"lspci: Flash Recovery; dmesg of the driver",
					"burn the firmware; a cold start",
					onText(Hint, "CR_ERROR", "the card's registers can't be read"),
				),
			},
		},
		{
			ID: "RDX-821", Name: "firmware-burn", Title: "the firmware was not burnt",
			Explanation: "An image belongs to one board ID (PSID), and the card verifies its signature. Cards of " +
				"Dell, HPE, Lenovo and other makers take their maker's images.",
			Sources: []string{fwOps, fwComps, "mwrnd/innova2_flex_xcku15p_notes#8"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "flint-psid", fwOps, "PSID mismatch. The PSID on ").decides("firmware-image"),
				says(Kernel, "flint-psid-locked", fwOps+"/fsctrl_ops.cpp",
					"Changing PSID is not supported under controlled FW").decides("firmware-image"),
				says(Kernel, "flint-signature", fwComps, "Rejected authentication", "-E- ").decides("firmware-image"),
				says(Kernel, "flint-not-secured", fwComps, "The firmware image is not secured").
					decides("firmware-image"),
				says(
					Kernel,
					"flint-forbidden",
					fwComps,
					"Forbidden version rejected",
					"-E- ",
				).decides("firmware-image"),
				says(Kernel, "flint-rejected", fwComps, "FW burn rejected: ").speaks("firmware-image"),
				says(Kernel, "flint-old-format", fwOps+"/fsctrl_ops.cpp",
					"does not have a signature or does not support FW control").speaks("firmware-image"),
				says(Kernel, "flint-verify", fwFlint, "FW image verification failed").speaks("firmware-image"),
				says(Kernel, "flint-protected", fwOps, "Flash is write protected", "-E- ").decides("flash-protected"),
				says(Kernel, "flint-protection", fwOps, "Failed to disable flash write protection").
					speaks("flash-protected"),
				says(Kernel, "flint-cache", fwFlint, "Failed to issue image cache request to driver").
					speaks("driver-not-loaded"),
				says(Kernel, "flint-semaphore", fwComps, "Failed to lock flash semaphore").speaks("flash-busy"),
				says(Kernel, "flint-activate", fwOps, "FW reset required", "-E- ").speaks("flash-busy"),
				says(Kernel, "flint-burning", fwFlint, "-E- Burning ", " failed: ").as(evidence.Vague),
				says(Kernel, "flint-burn", "Mellanox/mstflint, flint/subcommands.cpp", "-E- Burn failed: ").
					as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "firmware-image",
					"the image isn't one for this card: another board ID (PSID), or not signed for it",
					"flint -d DEVICE q: PSID; flint -i IMAGE q: PSID",
					"the image of this PSID, for cards of other makers from them; -allow_psid_change only where the "+
						"boards are the same"),
				maybe(Rare, "flash-protected", "the card's flash is write-protected",
					"flint -d DEVICE hw query", "the jumper or setting of the card"),
				maybe(Rare, "driver-not-loaded", "the driver, through which the tool works, isn't loaded",
					"lsmod | grep mlx5_core", "load it, or mst start"),
				maybe(Rare, "flash-busy", "another tool holds the flash, or an earlier image waits for its reset",
					"flint -d DEVICE q: FW Version(Running)",
					"mlxfwreset -d DEVICE reset, or a cold start; then again"),
			},
		},
		{
			ID: "RDX-822", Name: "firmware-setting", Title: "the card's firmware refused a setting of mlxconfig",
			Explanation: "Which parameters there are depends on card, firmware and on whether the function may " +
				"change them.",
			Sources: []string{fwConfig, "Mellanox/mstflint#590"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "mlxconfig-parameter", fwConfig, "The Device doesn't support ", " parameter").
					with("parameter", "doesn't support ").speaks("setting-invalid"),
				says(Kernel, "mlxconfig-unknown", fwConfig, "-E- Unknown Parameter").speaks("setting-invalid"),
				says(Kernel, "mlxconfig-read-only", fwConfig, "Operation is not supported (Read only TLV").
					speaks("setting-invalid"),
				says(Kernel, "mlxconfig-nv", fwConfig, "Cannot access NV register. Either FW does not support").
					speaks("driver-firmware"),
				says(Kernel, "mlxconfig-query", fwConfig, "-E- Failed to query device current configuration").
					speaks("driver-firmware"),
				says(Kernel, "mlxconfig-set", fwConfig, "-E- Failed to set configuration: "),
				says(Kernel, "mlxconfig-hosts", fwConfig, "TLVs from other hosts cannot be modified").
					speaks("not-privileged"),
			},
			Causes: []Cause{
				maybe(
					Usual,
					"setting-invalid",
					"this card or its firmware doesn't have the parameter or value",
					"mlxconfig -d DEVICE show_confs; mlxconfig -d DEVICE q",
					"a parameter of the list; newer firmware",
				),
				maybe(Usual, "driver-firmware", "the firmware is too old, or its stored configuration is damaged",
					"flint -d DEVICE q; dmesg", "newer firmware, then mlxconfig -d DEVICE reset"),
				maybe(Rare, "not-privileged",
					"this host or function may not change the card: a DPU in restricted mode, or secure host",
					"on the DPU: mlxprivhost -d DEVICE q", "change it from the DPU, or lift the restriction"),
			},
		},
		{
			ID:    "RDX-823",
			Name:  "firmware-reset",
			Title: "the card was not reset",
			Explanation: "The reset stops the driver on all functions and hosts of the card, resets PCIe, and starts " +
				"them again. DPUs, cards with several hosts and drivers of others need more than that.",
			Sources:  []string{fwReset, "Mellanox/mstflint#830"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "fwreset-failed", fwReset, "Firmware reset failed, retry operation or reboot machine"),
				says(Kernel, "fwreset-register", fwReset, "Failed to send Register MFRL"),
				says(Kernel, "fwreset-driver", fwReset, "make sure the driver is down, and re-run the tool with").
					speaks("driver-restart"),
				says(Kernel, "fwreset-stop", fwReset, "Failed to stop driver!").speaks("driver-restart"),
				says(Kernel, "fwreset-third-party", fwReset, "mlxfwreset doesn't support 3rd party driver").
					decides("third-party-in-use"),
				says(Kernel, "fwreset-bridge", fwReset, "You might be running on a Virtual Machine!").
					decides("vf-in-vm"),
				says(Kernel, "fwreset-unsupported", fwReset, "is not supported by this tool", "with PSID ").
					speaks("dpu-mode"),
			},
			Causes: []Cause{
				maybe(Usual, "driver-restart", "the driver can't be stopped: something uses it",
					"lsof, lsmod | grep mlx5; mounts over RDMA",
					"stop what uses the card, or a cold start of the node"),
				maybe(Usual, "dpu-mode", "the card is a DPU, or shared by several hosts, and must be reset with them",
					"mlxfwreset -d DEVICE q: levels and types that are supported",
					"shut the DPU's own system down first; or a cold start (power off and on)"),
				maybe(Rare, "third-party-in-use", "a driver of others (vfio, DPDK) has the card", "lspci -k",
					"unbind it, or --skip_driver"),
				maybe(Rare, "vf-in-vm", "the tool runs in a virtual machine, which can't reset the card",
					"systemd-detect-virt", "reset it on the host"),
			},
		},
	}
}
