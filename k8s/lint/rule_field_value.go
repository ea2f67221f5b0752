package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkFieldValue(p *pass, o *manifest.Object) {
	checkValues(p, o, o.Find("spec"), k8s.Schema(o.Kind), path{"spec"})
}

func checkValues(p *pass, o *manifest.Object, v *manifest.Value, schema *k8s.Field, at path) {
	if v == nil || schema == nil {
		return
	}
	switch {
	case len(schema.Enum) > 0 && v.Kind == manifest.String && !slices.Contains(schema.Enum, v.Text):
		f := p.error(o, at, "%q is not one of %s", v.Text, strings.Join(schema.Enum, ", "))
		if near := nearestValue(v.Text, schema.Enum); near != "" {
			f.fix("%s", near)
		}
	case schema.Type == k8s.TypeInt && v.Kind == manifest.Int:
		n, err := strconv.ParseInt(v.Text, 0, 64)
		switch {
		case err != nil:
			p.error(o, at, "the number %s is too large", shorten(v.Text))
		case schema.Min != nil && n < int64(*schema.Min):
			f := p.error(o, at, "%d is less than %d", n, *schema.Min)
			if schema.Name == "mtu" {
				f.Remedy = "remove mtu to keep the current MTU"
			}
		case schema.Max != nil && n > int64(*schema.Max):
			p.error(o, at, "%d is more than %d", n, *schema.Max)
		}
	}
	for _, f := range v.Fields {
		checkValues(p, o, f.Value, schema.Find(f.Key), append(slices.Clone(at), f.Key))
	}
}

// nearestValue returns the allowed value that is most likely meant.
func nearestValue(got string, allowed []string) string {
	switch strings.ToLower(got) {
	case "infiniband":
		return "IB"
	case "ethernet", "roce":
		return "ETH"
	}
	return spelling.Nearest(got, allowed, spelling.Loose)
}

func checkMaxUnavailable(p *pass, pool *typed[k8s.SriovNetworkPoolConfig]) {
	v := pool.Value.Spec.MaxUnavailable
	if v == nil {
		return
	}
	at := path{"spec", "maxUnavailable"}
	number, percent := strings.CutSuffix(string(*v), "%")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 0 || percent && n > 100:
		p.error(pool.Object, at, "%q is neither a number of nodes nor a percentage such as \"25%%\"", *v)
	case n == 0:
		p.warn(
			pool.Object, at, "no node of the pool can be drained, so no policy takes effect on nodes that have VFs",
		).Remedy = "allow at least one node"
	}
}
