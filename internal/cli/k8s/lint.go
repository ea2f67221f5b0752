package k8s

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/internal/version"
	"github.com/rdmakit/rdmakit/k8s/lint"
	k8smanifest "github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// Formats of k8s lint besides those of all commands.
const (
	formatSARIF output.Format = "sarif"
	formatJUnit output.Format = "junit"
)

// k8sLintFlags are the flags of k8s lint.
type k8sLintFlags struct {
	nodes, only, skip, reserved []string
	exclude                     []string
	namespace, version, prefix  string
	explain                     string
	list, strict                bool
}

func newK8sLintCommand(app *cli.App) *cobra.Command {
	var f k8sLintFlags
	cmd := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Check manifests of SR-IOV networks before they are applied",
		Long: `Check manifests of SR-IOV networks: policies, networks with their addresses,
NetworkAttachmentDefinitions, pools, and the pods and workloads that use them. Each object is
judged by itself and all of them together, across files: YAML that is broken (and how), unknown and
misplaced fields, selectors, overlaps, addresses, names that lead nowhere, resources and
attachments of pods. With --nodes they are held to the nodes: cards, VFs, labels, resources,
namespaces. What --nodes brings is known to the rules and not judged itself. Nothing is applied,
and no cluster is asked.

A FILE holds YAML or JSON, several documents and Lists too; of a folder all files below it are read
that end in .yaml, .yml or .json, but for those that --exclude names; - is standard input. Charts of
Helm are rendered first: helm template CHART | rdmactl k8s lint -

Where a folder has a kustomization, its resources are read, those of its bases too, with its
namespace, prefix and suffix, and its patches are left out; overlays of one base are judged one by
one. What isn't applied is told: kustomize build DIR | rdmactl k8s lint - judges the outcome.

A comment "# rdmactl:ignore RULE[,RULE...] reason" suppresses findings about its line, alone on a
line those about the next one, and before the first line of an object those about all of it.

-o sarif is for code hosts, -o junit for CI systems.

The exit code is 1 when there is an error, or with --strict also a warning; 7 when a file could not
be read, or is a chart, and the rest is well; 3 when there is no object to check; 4 when a file may
not be read; 2 for a wrong use; and 0 otherwise, with warnings and notes too.`,
		Example: `  rdmactl k8s lint sriov/ jobs/train.yaml
  rdmactl k8s lint sriov/ --nodes nodestates.yaml --nodes nodes.yaml
  rdmactl k8s lint sriov/ --nodes gpu-00.tar.gz --reserved pods=10.244.0.0/16 --reserved services=10.96.0.0/12
  rdmactl k8s lint . --exclude vendor --exclude 'values*.yaml'
  helm template chart | rdmactl k8s lint -
  rdmactl k8s lint sriov/ -o sarif > lint.sarif
  rdmactl k8s lint --explain ipam-mask`,
		RunE: func(cmd *cobra.Command, args []string) error { return runK8sLint(app, cmd, args, f) },
	}
	cli.SetFormats(cmd, append(output.Formats(), formatSARIF, formatJUnit)...)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.nodes, "nodes", nil, nodesUsage)
	flags.StringArrayVar(&f.exclude, "exclude", nil, "leave out of folders what has a name, or a path below the "+
		"folder, like `PATTERN`, with * ? [a-z]; may be given often")
	flags.StringVar(&f.namespace, "operator-namespace", "",
		"`NAMESPACE` of the SR-IOV operator (default: that of the SriovOperatorConfig, if it is known)")
	flags.StringVar(&f.version, "operator-version", "",
		"`VERSION` of the SR-IOV operator, such as v1.6.0 or main (default: any)")
	flags.StringVar(&f.prefix, "resource-prefix", "",
		"the operator's `PREFIX` of resources, such as nvidia.com (default: what nodes have)")
	flags.StringArrayVar(&f.reserved, "reserved", nil,
		"addresses that belong to others: `RANGE`, written USE=CIDR, such as pods=10.244.0.0/16; may be given often")
	flags.StringSliceVar(&f.only, "only", nil, "apply these rules only: `ID,...`")
	flags.StringSliceVar(&f.skip, "skip", nil, "leave these rules out: `ID,...`")
	flags.BoolVar(&f.strict, "strict", false, "let warnings count as errors")
	flags.BoolVar(&f.list, "list", false, "list the rules and check nothing")
	flags.StringVar(&f.explain, "explain", "", "explain the rule `ID` and check nothing")
	cmd.MarkFlagsMutuallyExclusive("list", "explain")
	ids := k8sRuleIDs()
	for _, name := range []string{"only", "skip", "explain"} {
		cli.CompleteWords(cmd, name, ids)
	}
	return cmd
}

func k8sRuleIDs() []string {
	var out []string
	for _, r := range lint.Rules() {
		out = append(out, r.ID)
	}
	return out
}

func runK8sLint(app *cli.App, cmd *cobra.Command, args []string, f k8sLintFlags) error {
	special := app.Out.Format() == formatSARIF || app.Out.Format() == formatJUnit
	switch {
	case (f.list || f.explain != "") && special:
		return cli.UsageError(cmd,
			fmt.Errorf("-o %s is for findings: it excludes --list and --explain", app.Out.Format()))
	case f.list:
		return app.Out.Print(lint.Rules(), k8sRuleTable(lint.Rules()))
	case f.explain != "":
		if err := unknownK8sRule(f.explain); err != nil {
			return cli.UsageError(cmd, err)
		}
		rule, _ := lint.FindRule(f.explain)
		return app.Out.Print(rule, k8sRuleBlocks(rule)...)
	case len(args) == 0:
		return cli.UsageError(cmd, errors.New("missing argument FILE"))
	}
	if err := stdinOnce(cmd, args, f.nodes); err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return cli.UsageError(cmd, err)
	}
	sets, readErr := readManifests(app, k8smanifest.Reader{Stdin: app.Stdin, Exclude: f.exclude}, args)
	if errors.Is(readErr, path.ErrBadPattern) {
		return cli.UsageError(cmd, fmt.Errorf("--exclude: %w", readErr))
	}
	if len(sets[0].Files) == 0 {
		return k8sReadError(readErr)
	}
	for _, note := range sets[0].Notes {
		app.Out.Note("note: %s", note)
	}
	cluster, partial, err := readCluster(cmd.Context(), app, f.nodes)
	if err != nil {
		return err
	}
	report := lintManifests(app, sets, cluster, opts)
	if len(report.Objects) == 0 && len(report.Findings) == 0 {
		none := fmt.Errorf("nothing to check: no object of Kubernetes, with apiVersion and kind, in %s",
			firstFiles(report.Files))
		return &cli.ExitError{Code: cli.ExitNotFound, Err: errors.Join(readErr, none)}
	}
	if err := printK8sLint(app, report, f.strict); err != nil {
		return err
	}
	if readErr != nil {
		partial = &cli.ExitError{Code: cli.ExitPartial, Err: errors.Join(readErr, said(partial))}
	}
	return k8sLintResult(app, report, f.strict, partial)
}

// readManifests reads files and shows that it does.
func readManifests(app *cli.App, r k8smanifest.Reader, names []string) ([]*k8smanifest.Set, error) {
	progress := app.ReadingProgress("reading manifests: files", 0, names)
	defer progress.Done()
	r.Reading = func(string) { progress.Add(1) }
	return r.Read(names)
}

// lintManifests applies the rules to alternatives, one by one.
func lintManifests(
	app *cli.App, sets []*k8smanifest.Set, cluster source.Cluster, opts lint.Options,
) lint.Report {
	progress := app.Out.Progress("applying the rules", len(sets))
	defer progress.Done()
	var reports []lint.Report
	for _, set := range sets {
		reports = append(reports, lint.Run(lint.Input{Manifests: set, Cluster: cluster, Options: opts}))
		progress.Add(1)
	}
	return lint.Merge(reports...)
}

// firstFiles names some files, and counts the others.
func firstFiles(files []string) string {
	const most = 3
	if len(files) <= most+1 {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more files", strings.Join(files[:most], ", "), len(files)-most)
}

// said returns what an exit code says, nil if that is nothing.
func said(err error) error {
	if exit, ok := errors.AsType[*cli.ExitError](err); ok {
		return exit.Err
	}
	return err
}

// k8sReadError is the end of a run that could read no manifest.
func k8sReadError(err error) error {
	switch {
	case errors.Is(err, k8smanifest.ErrChart):
		return &cli.ExitError{Code: cli.ExitPartial, Err: err}
	case errors.Is(err, k8smanifest.ErrEmpty) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
		return &cli.ExitError{Code: cli.ExitNotFound, Err: err}
	}
	return cli.InputError(err)
}

var operatorVersion = regexp.MustCompile(`^(main|v?\d+\.\d+(\.\d+)?([-+].*)?)$`)

// options checks the flags and turns them into options.
func (f k8sLintFlags) options() (lint.Options, error) {
	opts := lint.Options{
		OperatorNamespace: f.namespace, OperatorVersion: f.version, ResourcePrefix: strings.TrimSuffix(f.prefix, "/"),
		Only: f.only, Skip: f.skip,
	}
	if f.version != "" && !operatorVersion.MatchString(f.version) {
		return opts, fmt.Errorf("--operator-version: %q is neither a release such as v1.6.0 nor main", f.version)
	}
	for _, text := range f.reserved {
		use, cidr, ok := strings.Cut(text, "=")
		prefix, err := netip.ParsePrefix(cidr)
		if !ok || use == "" || err != nil {
			return opts, fmt.Errorf("--reserved: %q is not USE=CIDR, such as pods=10.244.0.0/16", text)
		}
		opts.Reserved = append(opts.Reserved, lint.Reserved{Use: use, Prefix: prefix})
	}
	for _, id := range slices.Concat(f.only, f.skip) {
		if err := unknownK8sRule(id); err != nil {
			return opts, err
		}
	}
	return opts, nil
}

// unknownK8sRule returns the error for an ID that no rule has, nil for one that has.
func unknownK8sRule(id string) error {
	ids := k8sRuleIDs()
	if slices.Contains(ids, id) {
		return nil
	}
	err := fmt.Errorf("no rule %q", id)
	return cli.WithHints(cli.WithHints(err, cli.DidYouMean(spelling.Nearest(id, ids, spelling.Loose))...),
		"rdmactl k8s lint --list names the rules")
}

func printK8sLint(app *cli.App, report lint.Report, strict bool) error {
	var data []byte
	var err error
	switch app.Out.Format() {
	case formatSARIF:
		data, err = report.SARIF(version.Info().Version)
	case formatJUnit:
		data, err = report.JUnit(strict)
	default:
		return app.Out.Print(report, k8sLintBlocks(report, app.Out.Wide())...)
	}
	if err != nil {
		return err
	}
	return app.Out.Raw(data)
}

// k8sLintResult is the end of a run: the error that carries its exit code.
func k8sLintResult(app *cli.App, r lint.Report, strict bool, partial error) error {
	if len(r.Unjudged) > 0 {
		app.Out.Note(
			"note: %s not applied, for want of nodes: --nodes says what is known of the cluster, "+
				"and --list marks the rules", english.Count(len(r.Unjudged), "rule"))
	}
	switch {
	case r.Counts.Error > 0 || strict && r.Counts.Warn > 0:
		return &cli.ExitError{Code: cli.ExitFault, Err: said(partial)}
	case partial != nil:
		return partial
	case r.Counts.Warn > 0:
		app.Out.Note("note: %s; --strict makes that exit code 1", english.Count(r.Counts.Warn, "warning"))
	}
	return nil
}
