package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// checkSnapshotOutput checks that the output can be written before anything is read.
func checkSnapshotOutput(app *cli.App, cmd *cobra.Command, f snapshotFlags) error {
	switch {
	case f.output == "" && cmd.Flags().Changed("output"):
		return cli.UsageError(cmd, errors.New("-o: empty"))
	case f.output == "":
		return nil // named when the node is known
	case f.output == "-" && app.IsTerminal(app.Stdout):
		return cli.UsageError(cmd, errors.New("-o -: standard output is a terminal and a bundle is binary"))
	case f.output == "-":
		return nil
	case slices.Contains(output.Formats(), output.Format(f.output)):
		return cli.WithHints(
			cli.Exitf(cli.ExitUsage, "-o %[1]s: -o names the file of the bundle, and %[1]s is an output format",
				f.output),
			"without -o the file is named after host and time; -o ./"+f.output+" writes one of that name")
	}
	return checkBundleFile(f.output, f.force)
}

// checkBundleFile rejects an existing file, unless force is set.
func checkBundleFile(name string, force bool) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wholefile.CheckFolder(name)
	case err != nil:
		return fmt.Errorf("write bundle: %w", err)
	case !info.Mode().IsRegular():
		return cli.Exitf(cli.ExitUsage, "write bundle %s: it exists and is not a regular file", name)
	case !force:
		return cli.WithHints(cli.Exitf(cli.ExitUsage, "write bundle %s: %w", name, fs.ErrExist),
			"--force replaces it")
	}
	return nil
}

// bundleName makes the name of a bundle's file: that of the host, which may be redacted, and when
// the node was read.
func bundleName(b *bundle.Bundle) string {
	data, _ := fs.ReadFile(b.Tree.FS(), sysfs.ProcHostname) // without one it is a node
	host := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, strings.TrimSpace(string(data)))
	const longest = 64 // HOST_NAME_MAX
	host = strings.TrimLeft(host[:min(len(host), longest)], ".-")
	if host == "" {
		host = "node"
	}
	taken := b.Manifest.Taken
	if taken.IsZero() {
		taken = b.Manifest.Written
	}
	return host + "-" + taken.UTC().Format("20060102T150405Z") + ".tar.gz"
}

// bundleSize writes a number of bytes as the result of snapshot has it.
func bundleSize(bytes int) string { return strconv.Itoa((bytes+1023)/1024) + " KiB" }
