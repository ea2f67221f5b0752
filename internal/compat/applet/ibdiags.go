package applet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/ibdiags"
)

// diagnostics returns the programs of infiniband-diags that query the subnet.
func diagnostics() []Applet {
	var list []Applet
	for _, p := range ibdiags.Programs() {
		list = append(list, diagnosticApplet(p))
	}
	return list
}

func diagnosticApplet(p ibdiags.Program) Applet {
	example := p.Example
	if example == "" && len(p.Examples) > 0 {
		example, _, _ = strings.Cut(p.Examples[0], "#")
	}
	a := Applet{
		Name: p.Name, Summary: p.Summary, Usage: p.Usage, Long: p.Long, Example: strings.TrimSpace(example),
		Like: p.Name + " of infiniband-diags 44", Live: true,
		run: func(ctx context.Context, env *Env) int { return p.Run(ctx, diagnosticHost(env)) },
	}
	for _, o := range p.Options {
		a.Options = append(a.Options,
			Option{Flags: strings.TrimPrefix(o.Flags(), "--, "), Help: strings.Join(strings.Fields(o.Help), " ")})
	}
	return a
}

func diagnosticHost(env *Env) ibdiags.Host {
	host := ibdiags.Host{
		Name: env.Name, Args: env.Args, Stdout: throughWriter{env.Stdout}, Stderr: env.Stderr, PID: env.PID,
		LookupEnv: env.LookupEnv,
		Open:      env.OpenSubnet, ReadFile: os.ReadFile, Hints: env.Hints,
		//nolint:gosec // as the C program does
		WriteFile: func(name string, data []byte) error { return os.WriteFile(name, data, 0o644) },
		Hostname: func() string {
			name, err := os.Hostname()
			if err != nil {
				return ""
			}
			return name
		},
	}
	if host.Open == nil {
		host.Open = func(context.Context, string, int) (fabric.Transport, error) {
			return nil, fmt.Errorf("a recorded node has no access to a subnet: %w", errors.ErrUnsupported)
		}
	}
	return host
}
