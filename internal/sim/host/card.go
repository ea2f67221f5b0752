package host

// Card is a model of network card, GPU or bridge with the properties of its PCI function.
type Card struct {
	Model                            string // display name: "ConnectX-7"
	Vendor, Device                   uint16
	SubsystemVendor, SubsystemDevice uint16
	Driver                           string // kernel driver of the function: mlx5_core
	Module                           string // kernel module that creates its RDMA devices; "" for a card without RDMA
	Prefix                           string // of the names of its RDMA devices: mlx5_
	HCAType                          string // hca_type: MT4129
	BoardID                          string // board_id: the PSID
	Firmware                         string // fw_ver
	ABI                              int    // abi_version of its uverbs device
	GTPerSecond                      string // speed of its PCI Express link: "32.0"
	Lanes                            int    // width of that link
	Rate                             int    // Gb/s of a port, if a Spec doesn't set it
}

// ConnectX7 returns the 400 Gb/s card of the H100 generation.
func ConnectX7() Card {
	return Card{
		Model: "ConnectX-7", Vendor: 0x15b3, Device: 0x1021, SubsystemVendor: 0x15b3, SubsystemDevice: 0x0041,
		Driver: "mlx5_core", Module: "mlx5_ib", Prefix: "mlx5_", HCAType: "MT4129", BoardID: "MT_0000000838",
		Firmware: "28.39.3560", ABI: 1, GTPerSecond: "32.0", Lanes: 16, Rate: 400,
	}
}

// ConnectX8 returns the 800 Gb/s card with PCI Express 6.
func ConnectX8() Card {
	return Card{
		Model: "ConnectX-8", Vendor: 0x15b3, Device: 0x1023, SubsystemVendor: 0x15b3, SubsystemDevice: 0x0028,
		Driver: "mlx5_core", Module: "mlx5_ib", Prefix: "mlx5_", HCAType: "MT4131", BoardID: "MT_0000001222",
		Firmware: "40.44.1036", ABI: 1, GTPerSecond: "64.0", Lanes: 16, Rate: 800,
	}
}

// ConnectX6Dx returns the 100 Gb/s Ethernet card that is often used for storage.
func ConnectX6Dx() Card {
	return Card{
		Model: "ConnectX-6 Dx", Vendor: 0x15b3, Device: 0x101d, SubsystemVendor: 0x15b3, SubsystemDevice: 0x0016,
		Driver: "mlx5_core", Module: "mlx5_ib", Prefix: "mlx5_", HCAType: "MT4125", BoardID: "MT_0000000359",
		Firmware: "22.39.2048", ABI: 1, GTPerSecond: "16.0", Lanes: 16, Rate: 100,
	}
}

// ConnectX6Lx returns the 25 Gb/s Ethernet card that is often used for management.
func ConnectX6Lx() Card {
	return Card{
		Model: "ConnectX-6 Lx", Vendor: 0x15b3, Device: 0x101f, SubsystemVendor: 0x15b3, SubsystemDevice: 0x0004,
		Driver: "mlx5_core", Module: "mlx5_ib", Prefix: "mlx5_", HCAType: "MT4127", BoardID: "MT_0000000531",
		Firmware: "26.39.2048", ABI: 1, GTPerSecond: "16.0", Lanes: 8, Rate: 25,
	}
}

// SFN25 returns a 25 Gb/s Ethernet card without RDMA (Solarflare X2522).
func SFN25() Card {
	return Card{
		Model: "X2522", Vendor: 0x1924, Device: 0x0b03, SubsystemVendor: 0x1924, SubsystemDevice: 0x8027,
		Driver: "sfc", GTPerSecond: "8.0", Lanes: 8, Rate: 25,
	}
}

// h100 is the GPU of emulated nodes.
func h100() Card {
	return Card{
		Model: "NVIDIA H100 80GB HBM3", Vendor: 0x10de, Device: 0x2330, SubsystemVendor: 0x10de,
		SubsystemDevice: 0x16c1, Driver: "nvidia", GTPerSecond: "32.0", Lanes: 16,
	}
}

// rootPort and pcieSwitch return the bridges between host bridge and cards.
func rootPort() Card {
	return Card{Vendor: 0x8086, Device: 0x352a, Driver: "pcieport", GTPerSecond: "32.0", Lanes: 16}
}

func pcieSwitch() Card {
	return Card{
		Vendor: 0x1000, Device: 0xc030, SubsystemVendor: 0x1000, SubsystemDevice: 0x0046, Driver: "pcieport",
		GTPerSecond: "32.0", Lanes: 16,
	}
}
