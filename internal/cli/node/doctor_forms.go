package node

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/version"
	"github.com/rdmakit/rdmakit/inventory"
)

// printDoctor prints a report in the format of the run. With strict, warnings are failures of
// JUnit.
func printDoctor(
	app *cli.App, all []doctor.Check, snap *inventory.Snapshot, r doctor.Report, strict bool,
) error {
	var data []byte
	var err error
	switch app.Out.Format() {
	case formatJUnit:
		data, err = r.JUnit(strict)
	case formatSARIF:
		data, err = r.SARIF(version.Info().Version, all)
	case formatHTML:
		data, err = r.HTML(doctor.PageInput{Snapshot: snap})
	case formatProm:
		data = r.Prometheus()
	default:
		return app.Out.Print(r, ReportBlocks(r, detailOf(app))...)
	}
	if err != nil {
		return err
	}
	return app.Out.Raw(data)
}
