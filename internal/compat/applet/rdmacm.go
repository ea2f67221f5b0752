package applet

import (
	"context"

	"github.com/rdmakit/rdmakit/internal/compat/rdmacm"
)

// connectors returns the programs of rdmacm-utils: rping and others.
func connectors() []Applet {
	var list []Applet
	for _, p := range rdmacm.Programs() {
		a := Applet{
			Name: p.Name, Summary: p.Summary, Usage: p.Usage, Long: p.Long, Example: p.Example,
			Like: p.Name + " of rdmacm-utils 44", Live: true,
			run: func(ctx context.Context, env *Env) int {
				return p.Run(ctx, rdmacm.Host{
					Name: env.Name, Args: env.Args, Stdout: throughWriter{env.Stdout}, Stderr: env.Stderr,
					Ordered: env.has("POSIXLY_CORRECT"), Open: env.OpenConnector, Hints: env.Hints,
				})
			},
		}
		for _, o := range p.Options {
			a.Options = append(a.Options, Option{Flags: o.Flags, Help: o.Help})
		}
		list = append(list, a)
	}
	return list
}
