package demo

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/node"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/sim/host"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/pciname"
	"github.com/rdmakit/rdmakit/launch"
)

func newNodeCommand(app *cli.App) *cobra.Command {
	var save string
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Show detect, doctor and env on an emulated node",
		Long: `Run detect, doctor and env on an emulated GPU node with eight 400 Gb/s RoCE cards and two planted
faults, and compare what doctor finds with what was planted. The code is the same as on a real node;
only the files that it reads are emulated, in memory. No hardware, driver or privilege is needed,
and nothing is changed.

With --save, the emulated node is written to a file that other commands can read.

Exit codes:

    0   doctor found the planted faults, and nothing else
    1   doctor missed a planted fault, or reported something else`,
		Example: `  rdmactl demo node
  rdmactl demo node -o json
  rdmactl demo node --save node.tree
  rdmactl show mlx5_2 --from node.tree`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec := host.Demo()
			return runDemo(cmd.Context(), app, spec, spec.Faults(), save)
		},
	}
	cmd.Flags().StringVar(&save, "save", "", "write the emulated node to the new `FILE`, for --from")
	return cmd
}

// demoSchema is the version of the JSON form of demo.
const demoSchema = "rdmakit.demo/v1"

// demoReport is what demo prints.
type demoReport struct {
	Schema   string `json:"schema"`
	Emulated bool   `json:"emulated"` // always true: nothing in the report describes this machine
	About    string `json:"about"`
	// Detect, Doctor and Launch are what the commands detect, doctor and env report.
	Detect  node.DetectReport `json:"detect"`
	Doctor  doctor.Report     `json:"doctor"`
	Launch  launch.Plan       `json:"launch"`
	Planted []demoFault       `json:"planted"`
	// Unexpected holds the findings of doctor that were not planted.
	Unexpected []doctor.Finding `json:"unexpected"`
	Passed     bool             `json:"passed"`
}

// demoFault is a planted fault and whether doctor found it.
type demoFault struct {
	host.Fault
	Found bool `json:"found"`
	// Summary is the summary of doctor's finding, "" if doctor did not find the fault.
	Summary string `json:"summary,omitempty"`
}

// runDemo scans and checks an emulated node and derives its environment, with the functions that
// detect, doctor and env call on a real node. faults are the faults that doctor should find.
func runDemo(ctx context.Context, app *cli.App, spec host.Spec, faults []host.Fault, save string) error {
	tree, err := host.New(spec)
	if err != nil {
		return err
	}
	if save != "" {
		if err := saveTree(tree, save); err != nil {
			return err
		}
		app.Out.Note("note: the emulated node is in %s: rdmactl doctor --from %s reads it", save, save)
	}
	about := spec.About() + "; " + english.Count(len(faults), "fault") + " planted"
	report := demoReport{Schema: demoSchema, Emulated: true, About: about}
	if err := fillDemo(ctx, app, &report, tree); err != nil {
		return err
	}
	report.Planted, report.Unexpected = compareFaults(faults, report.Doctor.Findings)
	report.Passed = len(report.Unexpected) == 0 &&
		!slices.ContainsFunc(report.Planted, func(f demoFault) bool { return !f.Found })
	blocks, err := report.blocks(app.Out.Wide())
	if err != nil {
		return err
	}
	if err := app.Out.Print(report, blocks...); err != nil {
		return err
	}
	return report.result()
}

// fillDemo runs detect, doctor and env on the tree and stores the results in the report.
func fillDemo(ctx context.Context, app *cli.App, report *demoReport, tree *nodetree.Tree) error {
	n, err := sources.FromFS(tree.FS(), nil, "emulated node")
	if err != nil {
		return err
	}
	defer n.Close()
	n.Names = pciname.New(app.Config.PCIIDs)
	snap, partial, err := app.ScanNode(ctx, n)
	if err != nil {
		return err
	}
	if partial != nil { // the files are our own: all of them must be readable
		return cli.Exitf(cli.ExitFault, "%d files of the emulated node could not be read", len(snap.Problems))
	}
	report.Detect = node.NewDetectReport(snap)
	report.Doctor, err = doctor.Run(ctx, checks.All(), doctor.Input{Snapshot: &snap},
		doctor.Options{Now: app.Now(), NotCovered: checks.NotCovered()})
	if err != nil {
		return err
	}
	report.Launch, err = launch.Derive(snap, launch.Options{})
	return err
}

// compareFaults returns which planted faults doctor found, and the findings that were not planted.
func compareFaults(faults []host.Fault, findings []doctor.Finding) (planted []demoFault, unexpected []doctor.Finding) {
	unexpected = []doctor.Finding{}
	for _, f := range faults {
		planted = append(planted, demoFault{Fault: f})
	}
	for _, found := range findings {
		if found.Outcome.Compare(doctor.OutcomeInfo) <= 0 {
			continue
		}
		i := slices.IndexFunc(planted,
			func(f demoFault) bool { return f.Check == found.CheckID && f.Object == found.Object })
		if i < 0 {
			unexpected = append(unexpected, found)
			continue
		}
		planted[i].Found, planted[i].Summary = true, found.Summary
	}
	return planted, unexpected
}

// saveTree writes the tree to a file that does not exist yet.
func saveTree(tree *nodetree.Tree, name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("save emulated node: %w", err)
	}
	_, err = file.Write(tree.Text())
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("save emulated node: %w", err)
	}
	return nil
}

func (r demoReport) blocks(wide bool) ([]output.Block, error) {
	env, err := launch.Format(r.Launch, launch.FormatShell)
	if err != nil {
		return nil, err
	}
	section := func(command, text string) output.Block {
		return output.Line(output.Bold("rdmactl "+command), output.Plain(": "+text).Flow(0))
	}
	blocks := []output.Block{output.Text{Lines: [][]output.Cell{
		{output.Warn("EMULATED"), output.Plain("  "), output.Plain(r.About).Flow(0)},
		{
			output.Plain("          "),
			output.Plain("the output describes the emulated node, not this machine; " +
				"the code is the same as on a real node").Flow(0),
		},
	}}}
	blocks = append(blocks, section("detect", "the RDMA devices of the node"))
	blocks = append(blocks, r.Detect.Blocks()...)
	blocks = append(blocks, section("doctor", "what is wrong, and what to do about it"))
	detail := node.DetailVerbose
	if wide {
		detail = node.DetailWide
	}
	blocks = append(blocks, node.ReportBlocks(r.Doctor, detail)...)
	blocks = append(blocks, section("env", "the environment variables that jobs need"), output.Paragraph(string(env)))
	return append(blocks, r.verdict()), nil
}

// verdict compares planted with found faults, one per line.
func (r demoReport) verdict() output.Block {
	t := output.Text{Lines: [][]output.Cell{{output.Bold("planted and found"), output.Plain(" (EMULATED)")}}}
	for _, f := range r.Planted {
		mark, by := output.Good("found  "), ", reported by "+f.Check+" for "+f.Object
		if !f.Found {
			mark, by = output.Bad("missing"), ", not reported by "+f.Check+" for "+f.Object
		}
		t.Lines = append(t.Lines,
			[]output.Cell{output.Plain("  "), mark, output.Plain("  "), output.Plain(f.Text + by).Flow(0)})
	}
	for _, f := range r.Unexpected {
		t.Lines = append(t.Lines, []output.Cell{
			output.Plain("  "), output.Bad("extra  "), output.Plain("  "),
			output.Plain(f.CheckID + " at " + f.Object + ": " + f.Summary).Flow(0),
		})
	}
	if r.Passed {
		t.Lines = append(t.Lines, []output.Cell{output.Good(
			fmt.Sprintf("doctor found the %s, and nothing else", english.Count(len(r.Planted), "planted fault")))})
	}
	return t
}

// result returns nil if doctor found exactly what was planted, and an error that names the
// difference otherwise.
func (r demoReport) result() error {
	if r.Passed {
		return nil
	}
	var wrong []string
	for _, f := range r.Planted {
		if !f.Found {
			wrong = append(wrong, fmt.Sprintf("%s at %s is missing", f.Check, f.Object))
		}
	}
	for _, f := range r.Unexpected {
		wrong = append(wrong, fmt.Sprintf("%s at %s is extra", f.CheckID, f.Object))
	}
	err := cli.Exitf(cli.ExitFault, "doctor did not find what was planted: %s", strings.Join(wrong, ", "))
	return cli.WithHints(err, "this is a bug in rdmactl: please report it")
}
