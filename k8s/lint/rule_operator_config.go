package lint

import "github.com/rdmakit/rdmakit/k8s"

func checkOperatorConfig(p *pass, c *typed[k8s.SriovOperatorConfig]) {
	if c.Name != "default" && c.Name != "" {
		p.error(c.Object, path{"metadata", "name"},
			"the operator reads only the SriovOperatorConfig named default and ignores %s", c.Name).fix(
			"name: default")
	}
}
