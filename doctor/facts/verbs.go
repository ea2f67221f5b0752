package facts

// VerbsPort is what libibverbs reports of a port and no file has.
type VerbsPort struct {
	Object    string `json:"port"`                // mlx5_0:1
	MaxMTU    int    `json:"maxMTU,omitempty"`    // bytes, 0 if the driver's code is none of the five
	ActiveMTU int    `json:"activeMTU,omitempty"` // the same
	Error     string `json:"error,omitempty"`     // why it is not known
	Denied    string `json:"denied,omitempty"`    // why not, if it takes privilege
}
