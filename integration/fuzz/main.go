// Command fuzz lists the fuzz targets of the module that scripts/fuzz.sh runs, one line
// "folder<TAB>import path<TAB>target" each, in the order of the run.
//
//	fuzz            all of them
//	fuzz -smoke     those that a change calls for, and a few others: other ones with each commit
//
// A change selects the targets of the packages that it touches, and of those that import such a
// package directly. The base of the comparison, the selection and its reasons are printed on
// standard error. The same commit always gets the same selection.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(context.Background(), ".", os.Args[1:], os.Getenv, os.Stdout, os.Stderr)) }

func run(ctx context.Context, dir string, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	flags.SetOutput(stderr)
	smoke := flags.Bool("smoke", false,
		"choose by the changes since the commit FUZZ_BASE, or since a commit that git finds")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2
	}
	m, err := readModule(ctx, dir)
	if err == nil && *smoke {
		var report string
		report, err = choose(ctx, m, getenv("FUZZ_BASE"))
		fmt.Fprint(stderr, report)
	}
	if err == nil {
		err = list(stdout, m.targets)
	}
	if err != nil {
		fmt.Fprintf(stderr, "fuzz: %v\n", err)
		return 1
	}
	return 0
}

func list(w io.Writer, targets []target) error {
	for _, t := range targets {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", t.folder, t.path, t.name); err != nil {
			return err
		}
	}
	return nil
}

// choose keeps only the chosen targets in the module, and returns the reasons.
func choose(ctx context.Context, m *module, given string) (report string, err error) {
	g := repository{dir: m.dir}
	base, why, err := g.base(ctx, given)
	if err != nil {
		return "", err
	}
	var touched []string
	report = "fuzz: nothing to compare with: " + why + "\n"
	if base != "" {
		files, err := g.changed(ctx, base)
		if err != nil {
			return "", err
		}
		touched = m.packagesOf(files)
		report = fmt.Sprintf("fuzz: compared with %.12s, %s: %d files changed, in %d packages\n",
			base, why, len(files), len(touched))
	}
	turn, from := g.turn(ctx)
	p := m.plan(touched)
	all := len(m.targets)
	m.targets = p.pick(turn, func(t target) int { return len(m.packages[t.path].Deps) })
	report += fmt.Sprintf(
		"fuzz: %d of %d targets: of %d whose package changed, %d that import such a package and %d others; ",
		len(m.targets), all, len(p.changed), len(p.near), len(p.others))
	return report + fmt.Sprintf("turn %d, %s\n", turn, from), nil
}
