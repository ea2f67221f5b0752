package k8s

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"regexp"
	"runtime/debug"
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

// Output formats that only k8s lint has.
const (
	formatSARIF output.Format = "sarif"
	formatJUnit output.Format = "junit"
)

// gcPercent makes the garbage collector run more often than by default: nearly all of the memory is
// values of manifests, which live until the end.
const gcPercent = 40

// k8sLintFlags are the flags of k8s lint.
type k8sLintFlags struct {
	nodes, only, skip, reserved []string
	exclude                     []string
	namespace, version, prefix  string
	explain, settings           string
	list, strict, templates     bool
}

func newK8sLintCommand(app *cli.App) *cobra.Command {
	var f k8sLintFlags
	cmd := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Check manifests of SR-IOV networks before they are applied",
		Long: `Check manifests of SR-IOV networks: policies, networks with their addresses,
NetworkAttachmentDefinitions, pools, and the pods and workloads that use them. The command applies
nothing and contacts no cluster.

The rules check each object by itself, and all objects together across files: YAML syntax, unknown
and misplaced fields, selectors, overlaps, addresses, references to missing objects, resources and
attachments of pods. With --nodes they also check the manifests against the nodes: cards, VFs,
labels, resources, namespaces. The objects in the files of --nodes are not checked themselves, and
nodes in FILE are not taken for the cluster. The last line counts objects for RDMA networking for
whose kinds there are no rules: "not judged: 3 NicClusterPolicy".

FILE is YAML or JSON, with one or more documents or Lists; - is standard input. In a folder, all
files below it that end in .yaml, .yml or .json are read, except those that --exclude matches. Helm
charts must be rendered first: helm template CHART | rdmactl k8s lint -

Documents with templates ({{ .Values.x }}), and values such as ${NAMESPACE} or <namespace>, are not
checked; a note counts them.

If a folder has a kustomization, lint reads its resources and those of its bases, and applies its
namespace, prefix and suffix. Patches are not applied: what they may change is not judged, and notes
count it. Overlays of one base are checked separately. To check the complete result:
kustomize build DIR | rdmactl k8s lint -

A comment "# rdmactl:ignore RULE[,RULE...] reason" suppresses findings. At the end of a line it
applies to that line; on a line of its own, to the next line; before the first line of an object, to
the whole object. The annotation rdmactl/ignore of an object or pod template does the same, and
survives Helm. RULE may be a group: pod-network stands for all rules of that group.

The file .rdmactl-lint.yaml of a repository changes severities, switches rules off and has what the
flags say (docs/k8s-lint.md describes it). Flags prevail.

-o sarif is for code hosts, -o junit for CI systems.

Exit codes:

    0   no errors; there may be warnings and notes
    1   at least one error, or with --strict at least one warning
    2   wrong use
    3   no object to check
    4   no permission to read a file
    7   a file could not be read or is a chart; the others have no errors`,
		Example: `  rdmactl k8s lint sriov/ jobs/train.yaml
  rdmactl k8s lint sriov/ --nodes nodestates.yaml --nodes nodes.yaml
  rdmactl k8s lint sriov/ --nodes gpu-00.tar.gz --reserved pods=10.244.0.0/16
  rdmactl k8s lint . --exclude vendor --exclude 'values*.yaml'
  helm template chart | rdmactl k8s lint -
  rdmactl k8s lint sriov/ -o sarif > lint.sarif
  rdmactl k8s lint --explain ipam-prefix`,
		RunE: func(cmd *cobra.Command, args []string) error { return runK8sLint(app, cmd, args, f) },
	}
	cli.SetFormats(cmd, append(output.Formats(), formatSARIF, formatJUnit)...)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.nodes, "nodes", nil, nodesUsage)
	flags.StringArrayVar(&f.exclude, "exclude", nil, "skip files and folders in FILE whose name, or path below FILE, "+
		"matches `PATTERN`, with * ? [a-z]; can be repeated")
	flags.StringVar(&f.namespace, "operator-namespace", "",
		"`NAMESPACE` of the SR-IOV operator (default: that of the SriovOperatorConfig, if known)")
	flags.StringVar(&f.version, "operator-version", "",
		"`VERSION` of the SR-IOV operator, such as v1.6.0 or main (default: any)")
	flags.StringVar(&f.prefix, "resource-prefix", "",
		"the operator's resource `PREFIX`, such as nvidia.com (default: that on the nodes)")
	flags.StringArrayVar(&f.reserved, "reserved", nil,
		"address range in use by the cluster or its hosts: `RANGE`, written USE=CIDR, such as pods=10.244.0.0/16; "+
			"can be repeated")
	flags.StringSliceVar(&f.only, "only", nil, "apply only the rules or groups `ID,...`")
	flags.StringSliceVar(&f.skip, "skip", nil, "skip these rules or groups: `ID,...`")
	flags.StringVar(&f.settings, "settings", "",
		"`FILE` with the settings of a repository, none for none (default: "+lint.SettingsFile+" in the working "+
			"directory or above it, up to the root of the repository)")
	flags.BoolVar(&f.strict, "strict", false, "exit with code 1 also if there are only warnings")
	flags.BoolVar(&f.templates, "templates", false, "templates and placeholders are errors, not skipped")
	flags.BoolVar(&f.list, "list", false, "list the rules instead of checking files")
	flags.StringVar(&f.explain, "explain", "", "explain the rule or list the group `ID` instead of checking files")
	cmd.MarkFlagsMutuallyExclusive("list", "explain")
	ids := lint.IDs()
	for _, name := range []string{"only", "skip", "explain"} {
		cli.CompleteWords(cmd, name, ids)
	}
	return cmd
}

func runK8sLint(app *cli.App, cmd *cobra.Command, args []string, f k8sLintFlags) error {
	special := app.Out.Format() == formatSARIF || app.Out.Format() == formatJUnit
	switch {
	case (f.list || f.explain != "") && special:
		return cli.UsageError(cmd,
			fmt.Errorf("-o %s can't be combined with --list or --explain", app.Out.Format()))
	case f.list:
		return app.Out.Print(lint.Rules(), k8sRuleTable(lint.Rules()))
	case f.explain != "":
		if err := unknownK8sRule(f.explain); err != nil {
			return cli.UsageError(cmd, err)
		}
		return printK8sRules(app, f.explain)
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
	settings, err := readLintSettings(f.settings)
	if err != nil {
		return err
	}
	settings.Apply(&opts)
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	reader := k8smanifest.Reader{
		Stdin: app.Input(), Exclude: slices.Concat(f.exclude, settings.Exclude), SkipForeign: true,
	}
	sets, readErr := readManifests(app, reader, args)
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
		none := fmt.Errorf("nothing to check: no Kubernetes object, with apiVersion and kind, in %s",
			firstFiles(report.Files))
		if len(report.Templates) > 0 {
			none = cli.WithHints(fmt.Errorf("nothing to check: %s: a template, not YAML", report.Templates[0]),
				"render it first: helm template CHART | rdmactl k8s lint -")
		}
		return &cli.ExitError{Code: cli.ExitNotFound, Err: errors.Join(readErr, none)}
	}
	if err := printK8sLint(app, report, f.strict); err != nil {
		return err
	}
	if readErr != nil {
		partial = &cli.ExitError{Code: cli.ExitPartial, Err: errors.Join(readErr, inner(partial))}
	}
	return k8sLintResult(app, report, f.strict, partial)
}

// readManifests reads files and shows its progress.
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

// firstFiles returns the names of the first files and the number of the others.
func firstFiles(files []string) string {
	const most = 3
	if len(files) <= most+1 {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more files", strings.Join(files[:most], ", "), len(files)-most)
}

// inner returns the error in an ExitError, which may be nil.
func inner(err error) error {
	if exit, ok := errors.AsType[*cli.ExitError](err); ok {
		return exit.Err
	}
	return err
}

// k8sReadError returns the error of a run that could read no manifest.
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

// options checks the flags and converts them to options.
func (f k8sLintFlags) options() (lint.Options, error) {
	opts := lint.Options{
		OperatorNamespace: f.namespace, OperatorVersion: f.version, ResourcePrefix: strings.TrimSuffix(f.prefix, "/"),
		Only: f.only, Skip: f.skip, Templates: f.templates,
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

// unknownK8sRule returns an error if neither a rule nor a group has the ID.
func unknownK8sRule(id string) error {
	if slices.Contains(lint.IDs(), id) {
		return nil
	}
	err := fmt.Errorf("unknown rule %q", id)
	return cli.WithHints(cli.WithHints(err, cli.DidYouMean(spelling.Nearest(id, lint.IDs(), spelling.Loose))...),
		"rdmactl k8s lint --list lists the rules")
}

// printK8sRules explains a rule, or lists the rules of a group.
func printK8sRules(app *cli.App, id string) error {
	rules := lint.FindRules(id)
	if len(rules) > 1 {
		return app.Out.Print(rules, k8sRuleTable(rules))
	}
	return app.Out.Print(rules[0], k8sRuleBlocks(rules[0])...)
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

// k8sLintResult returns the error with the exit code of a run.
func k8sLintResult(app *cli.App, r lint.Report, strict bool, partial error) error {
	if len(r.Unjudged) > 0 {
		app.Out.Note(
			"note: %s skipped: --nodes is needed (--list shows which)", english.Count(len(r.Unjudged), "rule"))
	}
	if n := len(r.Templates); n > 0 {
		app.Out.Note("note: not checked, because templates and placeholders are not filled in: %s (first: %s); "+
			"--templates makes them errors", english.Count(n, "place"), r.Templates[0])
	}
	if n := len(r.Patched); n > 0 {
		app.Out.Note("note: not judged, because patches that are not applied may change it: %s (first: %s)",
			english.Count(n, "place"), r.Patched[0])
	}
	switch {
	case r.Counts.Error > 0 || strict && r.Counts.Warn > 0:
		return &cli.ExitError{Code: cli.ExitFault, Err: inner(partial)}
	case partial != nil:
		return partial
	case r.Counts.Warn > 0:
		app.Out.Note("note: %s; with --strict the exit code is 1", english.Count(r.Counts.Warn, "warning"))
	}
	return nil
}
