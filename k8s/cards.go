package k8s

import "slices"

// SupportedNIC is a card that the SR-IOV operator supports (its [ConfigMap] supported-nic-ids). IDs
// are four hexadecimal digits.
type SupportedNIC struct {
	// PCI IDs of the vendor, and of the card's PFs and VFs.
	Vendor, PF, VF string
	Name           string // of the model
	// MainOnly reports whether no release up to v1.6.0 has it.
	MainOnly bool
}

// VendorMellanox is the PCI vendor of NVIDIA's network cards.
const VendorMellanox = "15b3"

// MaxMellanoxVFs is the maximum number of VFs that the operator's webhook allows for a PF of an
// NVIDIA card, independent of sriov_totalvfs (pkg/webhook/validate.go).
const MaxMellanoxVFs = 128

// SupportedNICs returns the NVIDIA cards in the operator's list, which also has cards of other
// vendors.
func SupportedNICs() []SupportedNIC {
	nic := func(pf, vf, name string) SupportedNIC {
		return SupportedNIC{Vendor: VendorMellanox, PF: pf, VF: vf, Name: name}
	}
	return []SupportedNIC{
		nic("1013", "1014", "ConnectX-4"), nic("1015", "1016", "ConnectX-4 Lx"), nic("1017", "1018", "ConnectX-5"),
		nic("1019", "101a", "ConnectX-5 Ex"), nic("101b", "101c", "ConnectX-6"), nic("101d", "101e", "ConnectX-6 Dx"),
		nic("101f", "101e", "ConnectX-6 Lx"), nic("1021", "101e", "ConnectX-7"), nic("1023", "101e", "ConnectX-8"),
		{Vendor: VendorMellanox, PF: "1025", VF: "101e", Name: "ConnectX-9", MainOnly: true},
		nic("a2d6", "101e", "BlueField-2"), nic("a2dc", "101e", "BlueField-3"),
	}
}

// NICByPF returns the supported card with this device ID of its physical functions.
func NICByPF(device string) (SupportedNIC, bool) {
	nics := SupportedNICs()
	i := slices.IndexFunc(nics, func(n SupportedNIC) bool { return n.PF == device })
	if i < 0 {
		return SupportedNIC{}, false
	}
	return nics[i], true
}

// NICsByVF returns the supported cards whose virtual functions have this device ID.
func NICsByVF(device string) []SupportedNIC {
	return slices.DeleteFunc(SupportedNICs(), func(n SupportedNIC) bool { return n.VF != device })
}
