package lint

import "github.com/rdmakit/rdmakit/k8s"

func operatorConfig() Rule {
	return Rule{
		ID: "operator-config", Title: "a SriovOperatorConfig that the operator ignores", Severity: SeverityError,
		Kinds:       []string{k8s.KindOperatorConfig},
		Explanation: "The operator reads only the SriovOperatorConfig named default in its namespace.",
		Remedy:      "name it default",
		Wrong:       "  name: sriov",
		Right:       "  name: default",
		Sources:     []string{srcWebhook},
		check: func(p *pass) {
			for _, c := range p.configs {
				if c.Name != "default" && c.Name != "" {
					p.error(c.Object, path{"metadata", "name"},
						"the operator reads only the SriovOperatorConfig named default and ignores %s", c.Name).fix(
						"name: default")
				}
			}
		},
	}
}
