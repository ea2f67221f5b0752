package fabric

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// fabricSASchema is the version of the JSON form of sa.
const fabricSASchema = "rdmakit.fabric-sa/v1"

// saFlags are the flags of sa.
type saFlags struct{ key string }

func newFabricSACommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	var f saFlags
	var list strings.Builder
	for _, k := range saKinds() {
		fmt.Fprintf(&list, "    %-22s %s\n", strings.TrimSpace(k.name+" "+k.usage), k.summary)
	}
	cmd := &cobra.Command{
		Use:   "sa KIND [LID [LID]]",
		Short: "Query the subnet manager's records of nodes, paths, groups, services",
		Long: `Query subnet administration (SA), the subnet manager's database, for all records of a kind, or for
those of a LID.

KIND is one of:

` + list.String() + `
The SA is found at the LID that the local port has from its subnet manager, and only one query is
sent, so the answer is fast in a large subnet too; but it is what the subnet manager knows, while
the other commands of this group ask the nodes.

A manager shows the members of multicast groups and the keys of services only to programs that know
its SM_Key (--sm-key; the default of OpenSM is 1). Through ibsim, which has no RMPP, answers end
after 256 bytes: the records that are complete are printed, and the exit code is 7.

Exit codes:

    0   all records are printed
    1   the subnet manager refuses the query
    2   wrong use
    3   no record matches, no subnet manager, or no usable port
    4   no permission to open the port
    5   subnet administration doesn't answer, or ends its answer early
    6   the time limit expired (--timeout)
    7   the transport delivered a part of the records`,
		Example: `  rdmactl fabric sa nodes
  rdmactl fabric sa paths 1 7 -o json
  rdmactl fabric sa multicast --sm-key 1`,
		ValidArgsFunction: cobra.FixedCompletions(saKindNames(), cobra.ShellCompDirectiveNoFileComp),
		Args:              saArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, flags); err != nil {
				return err
			}
			flags.live = true
			return querySA(app, cmd, flags, f, args)
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.key, "sm-key", "", "use this SM_Key, a `NUMBER`, for records that need it")
	return cmd
}

func (f *saFlags) check(cmd *cobra.Command, flags *fabricFlags) error {
	if err := flags.check(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("from") {
		return cli.UsageError(cmd, errors.New("--from can't be used: a query doesn't sweep the fabric"))
	}
	if err := flags.sweepless(cmd, "a query"); err != nil {
		return err
	}
	if _, err := f.smKey(); err != nil {
		return cli.UsageError(cmd, err)
	}
	return nil
}

func (f *saFlags) smKey() (uint64, error) {
	if f.key == "" {
		return 0, nil
	}
	key, err := strconv.ParseUint(f.key, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("--sm-key %q is not a number of 64 bits, such as 0x1", f.key)
	}
	return key, nil
}

// saArgs checks KIND and its LIDs.
func saArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.WithHints(errors.New("missing argument KIND"), "KIND is one of "+strings.Join(saKindNames(), ", "))
	}
	kind, ok := findSAKind(args[0])
	if !ok {
		hints := cli.DidYouMean(spelling.Nearest(args[0], saKindNames(), spelling.Loose))
		return cli.WithHints(fmt.Errorf("no kind of record is named %q", args[0]),
			append(hints, "KIND is one of "+strings.Join(saKindNames(), ", "))...)
	}
	if n := len(args) - 1; n > kind.operands {
		return fmt.Errorf("unexpected argument %q: %s takes %s", args[1+kind.operands], kind.name,
			english.Count(kind.operands, "LID"))
	} else if n == 0 && kind.needed {
		return fmt.Errorf("missing argument LID: %s %s", kind.name, kind.usage)
	}
	for _, arg := range args[1:] {
		if _, err := parseSALID(arg); err != nil {
			return err
		}
	}
	return nil
}

func parseSALID(text string) (ib.LID, error) {
	v, err := strconv.ParseUint(text, 0, 16)
	if err != nil || v == 0 || ib.LID(v) >= mad.MulticastLIDBase {
		return 0, fmt.Errorf("%q is not a unicast LID from 1 to %d", text, uint16(mad.MulticastLIDBase-1))
	}
	return ib.LID(v), nil
}

// saReport is what sa prints: the records of one kind.
type saReport struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"` // the argument KIND
	// Manager is the LID of the subnet manager that answered.
	Manager ib.LID `json:"managerLID"`
	// Complete is false if the transport delivered only a part of the records: see Missing.
	Complete bool   `json:"complete"`
	Missing  string `json:"missing,omitempty"`

	// One of the lists is present, that of the kind.
	Nodes      []saNode      `json:"nodes,omitzero"`
	Ports      []saPort      `json:"ports,omitzero"`
	Links      []saLink      `json:"links,omitzero"`
	Paths      []saPath      `json:"paths,omitzero"`
	Groups     []saGroup     `json:"groups,omitzero"`
	Services   []saService   `json:"services,omitzero"`
	Managers   []saManager   `json:"managers,omitzero"`
	Forwarding []saRoute     `json:"forwarding,omitzero"`
	Lanes      []saLaneTable `json:"lanes,omitzero"`
}

func querySA(app *cli.App, cmd *cobra.Command, flags *fabricFlags, f saFlags, args []string) error {
	ctx := cmd.Context()
	kind, _ := findSAKind(args[0])
	var lids []ib.LID
	for _, arg := range args[1:] {
		lid, _ := parseSALID(arg) // saArgs has checked it
		lids = append(lids, lid)
	}
	transport, err := openFabric(ctx, app, flags)
	if err != nil {
		return err
	}
	defer transport.Close()
	key, _ := f.smKey() // checked before
	client := sa.Client{Transport: transport, SMKey: key, Keys: flags.keys}
	client.Timeout, client.Retries = flags.tries()
	to, err := client.Locate(ctx)
	if err != nil {
		return saError(ctx, err)
	}
	r := &saReport{Schema: fabricSASchema, Kind: kind.name, Manager: to.LID, Complete: true}
	table, err := client.Table(ctx, kind.query(lids))
	if cut, ok := errors.AsType[*sa.TruncatedError](err); ok {
		r.Complete, r.Missing, err = false, cut.Error(), nil
	}
	if err == nil {
		err = kind.read(r, table)
	}
	if err != nil {
		return saError(ctx, err)
	}
	if table.Len() == 0 && len(lids) > 0 && r.Complete {
		return cli.Exitf(cli.ExitNotFound, "the subnet manager has no record of %s for LID %s", kind.name,
			strings.Join(args[1:], " to LID "))
	}
	if err := app.Out.Print(r, kind.blocks(r, table.Len())...); err != nil {
		return err
	}
	if !r.Complete {
		app.Out.Note("warning: %s", r.Missing)
		return cli.ExitSilently(cli.ExitPartial)
	}
	return nil
}

// saError adds exit code and hints to the error of a query.
func saError(ctx context.Context, err error) error {
	status, refused := errors.AsType[*sa.StatusError](err)
	switch {
	case ctx.Err() != nil || errors.Is(err, fs.ErrPermission):
		return err
	case errors.Is(err, sa.ErrNoManager):
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%w", err),
			"a subnet manager must run in the subnet: opensm on one host, or in a switch; rdmactl fabric sm lists them")
	case errors.Is(err, sa.ErrNotActive):
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%w", err),
			"rdmactl status shows the port: Down is a matter of the cable, Initialize waits for the subnet manager")
	case errors.Is(err, fabric.ErrNoSubnetManagement):
		return sweepError(err)
	case refused && status.Status.ClassSpecific() == mad.StatusSANoRecords:
		return cli.Exitf(cli.ExitNotFound, "%w", err)
	case refused && status.Status.ClassSpecific() == mad.StatusSARequestDenied:
		return cli.WithHints(cli.Exitf(cli.ExitFault, "%w", err), "--sm-key NUMBER names the manager's SM_Key")
	case refused:
		return cli.Exitf(cli.ExitFault, "%w", err)
	case errors.Is(err, mad.ErrShort):
		return cli.Exitf(cli.ExitFault, "%w", err)
	}
	return cli.WithHints(cli.Exitf(cli.ExitUnreachable, "%w", err),
		"--mad-timeout TIME waits longer; OpenSM doesn't answer queries with a wrong SM_Key (--sm-key)")
}

// blocks returns the table of a kind, or a line if it is empty.
func (k *saKind) blocks(r *saReport, records int) []output.Block {
	if records == 0 {
		return []output.Block{output.Line(output.Plain("the subnet manager has no record of " + k.name))}
	}
	table := output.Table{Columns: k.columns}
	k.rows(r, func(cells ...string) {
		row := make([]output.Cell, len(cells))
		for i, c := range cells {
			row[i] = output.Plain(c)
		}
		table.Rows = append(table.Rows, row)
	})
	return []output.Block{table}
}
