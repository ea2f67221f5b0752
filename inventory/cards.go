package inventory

import "slices"

// PCI base classes and vendors (pci.ids).
const (
	classNetwork = 0x02
	classDisplay = 0x03
	classAccel   = 0x12

	subclassEthernet   = 0x0200
	subclassInfiniBand = 0x0207
	subclassFabric     = 0x0208 // Omni-Path

	vendorMellanox = 0x15b3
	vendorNVIDIA   = 0x10de
	vendorAMD      = 0x1002
	vendorIntel    = 0x8086
	vendorHabana   = 0x1da3
	vendorBroadcom = 0x14e4
	vendorChelsio  = 0x1425
	vendorQLogic   = 0x1077
	vendorAmazon   = 0x1d0f
	vendorHuawei   = 0x19e5
	vendorPensando = 0x1dd8
	vendorAlibaba  = 0x1ded
)

// driverSlingshot is the driver of HPE's Cassini cards, whose RDMA is not that of verbs.
const driverSlingshot = "cxi_ss1"

// isGPU reports whether a function is a GPU or accelerator, not the display controller of a server
// board.
func isGPU(class PCIClass, vendor PCIID) bool {
	base := class >> 16
	return base == classDisplay && (vendor == vendorNVIDIA || vendor == vendorAMD || vendor == vendorIntel) ||
		base == classAccel && slices.Contains(
			[]PCIID{vendorNVIDIA, vendorAMD, vendorIntel, vendorHabana, vendorHuawei}, vendor)
}

// rdmaModule maps a network driver to the module that creates the RDMA devices of its functions.
var rdmaModule = map[string]string{
	"mlx5_core": "mlx5_ib", "mlx4_core": "mlx4_ib", "bnxt_en": "bnxt_re", "ice": "irdma", "idpf": "irdma",
	"qede": "qedr", "cxgb4": "iw_cxgb4", "efa": "efa", "hfi1": "hfi1", "hns3": "hns_roce_hw_v2", "ionic": "ionic_rdma",
	"mana": "mana_ib", "erdma": "erdma", "enic": "usnic_verbs", "vmw_pvrdma": "vmw_pvrdma", "be2net": "ocrdma",
}

// idRange is a range of PCI device ids of one vendor whose cards can do RDMA.
type idRange struct {
	vendor, from, to PCIID
	driver           string
}

// has reports whether a function is one of the range.
func (r idRange) has(f PCI) bool {
	return f.VendorID == r.vendor && r.from <= f.DeviceID && f.DeviceID <= r.to
}

// BlueField reports whether the function is a network function of a BlueField card.
func (p PCI) BlueField() bool { return blueField.has(p) }

// module returns the RDMA module for the cards of the range.
func (r idRange) module() string {
	if r.driver == "i40e" {
		return "irdma"
	}
	return rdmaModule[r.driver]
}

// blueField is the network functions of BlueField cards.
var blueField = idRange{vendorMellanox, 0xa2d2, 0xa2df, "mlx5_core"}

// rdmaIDs identifies RDMA cards without a driver, and those whose driver also supports
// cards without RDMA (i40e). Other cards are identified by their drivers.
var rdmaIDs = []idRange{
	{vendorMellanox, 0x1003, 0x1010, "mlx4_core"},
	{vendorMellanox, 0x1011, 0x10ff, "mlx5_core"},
	blueField,
	{vendorBroadcom, 0x16c0, 0x16ef, "bnxt_en"},
	{vendorBroadcom, 0x1750, 0x1819, "bnxt_en"},
	{vendorIntel, 0x37d0, 0x37d3, "i40e"}, // X722
	{vendorIntel, 0x1591, 0x159b, "ice"},  // E810
	{vendorChelsio, 0x5400, 0x6fff, "cxgb4"},
	{vendorQLogic, 0x1634, 0x1666, "qede"},
	{vendorQLogic, 0x8070, 0x8090, "qede"},
	{vendorAmazon, 0xefa0, 0xefaf, "efa"},
	{vendorHuawei, 0xa222, 0xa22f, "hns3"},
	{vendorPensando, 0x1002, 0x1004, "ionic"},
	{vendorAlibaba, 0x107f, 0x107f, "erdma"},
}

// cardOf returns the range of RDMA cards that a function is in, nil for none.
func cardOf(f PCI) *idRange {
	i := slices.IndexFunc(rdmaIDs, func(r idRange) bool { return r.has(f) })
	if i < 0 {
		return nil
	}
	return &rdmaIDs[i]
}

// isEFA reports whether a function is an Elastic Fabric Adapter.
func isEFA(f *PCI) bool {
	if f == nil {
		return false
	}
	card := cardOf(*f)
	return card != nil && card.driver == "efa"
}

// cardModule reports whether a function may be an RDMA card, and which RDMA module it
// needs ("" if the vendor and model are unknown).
func cardModule(f PCI) (module string, ok bool) {
	if module, ok := rdmaModule[f.Driver]; ok {
		return module, true
	}
	if card := cardOf(f); card != nil {
		return card.module(), true
	}
	return "", f.Class>>8 == subclassInfiniBand || f.Class>>8 == subclassFabric
}
