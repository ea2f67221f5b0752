package subnet

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Rails returns a rail-optimised subnet: units of hosts, whose adapters "gpu-00-mlx5_0"… are
// described as "gpu-00 mlx5_0", each at the leaf "su0-rail0"… of its unit and rail, and one spine.
func Rails(units, hosts, rails int) *Subnet {
	s := New()
	spine := s.Add("spine0", mad.NodeTypeSwitch, uint8(units*rails))
	for u := range units {
		for r := range rails {
			leaf := s.Add(fmt.Sprintf("su%d-rail%d", u, r), mad.NodeTypeSwitch, uint8(hosts+1))
			s.Connect(leaf, uint8(hosts+1), spine, uint8(1+u*rails+r))
			for h := range hosts {
				host := fmt.Sprintf("gpu-%02d", u*hosts+h)
				n := s.Add(fmt.Sprintf("%s-mlx5_%d", host, r), mad.NodeTypeCA, 1)
				n.Description = fmt.Sprintf("%s mlx5_%d", host, r)
				s.Connect(leaf, uint8(1+h), n, 1)
			}
		}
	}
	return s
}
