package fabric

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
)

// keyClass is a class of datagrams with keys, by the name of its flag.
type keyClass string

// The classes that commands send. Nothing sends the class of CC_Keys.
const (
	keyM  keyClass = "m-key"
	keyPM keyClass = "pm-key"
	keyVS keyClass = "vs-key"
)

// names returns the name of the keys, of OpenSM's file, and of what has them.
func (c keyClass) names() (key, file, owner string) {
	switch c {
	case keyPM:
		return "PM_Key", fabric.FilePMKeys, "performance agents"
	case keyVS:
		return "VS_Key", fabric.FileVSKeys, "agents with registers"
	}
	return "M_Key", fabric.FileMKeys, "nodes"
}

// table returns the keys of the class.
func (c keyClass) table(k *fabric.Keys) *fabric.KeyTable {
	switch c {
	case keyPM:
		return &k.PM
	case keyVS:
		return &k.VS
	}
	return &k.M
}

// addKey adds the flags of a class to a command.
func (f *fabricFlags) addKey(cmd *cobra.Command, c keyClass) {
	addKeyFlags(cmd.Flags(), c)
	_ = cmd.MarkFlagFilename(c.fileFlag())
}

// fileFlag returns the name of the flag for a file with keys.
func (c keyClass) fileFlag() string { return string(c) + "-file" }

func addKeyFlags(set *pflag.FlagSet, c keyClass) {
	key, file, owner := c.names()
	set.String(string(c), "",
		"the "+key+" of "+owner+" that no file lists, a `NUMBER` such as 0x1234 (default 0)")
	set.String(c.fileFlag(), "", "read the "+key+"s from `FILE`, with \"GUID KEY\" in each line ("+file+")")
}

// addKeysTo adds the flags that all commands have.
func (f *fabricFlags) addKeysTo(cmd *cobra.Command, set *pflag.FlagSet) {
	set.StringVar(&f.keysDir, "keys", "",
		"read the keys of the subnet from the files in `DIR`: guid2mkey, guid2pmkey, guid2vskey, neighbors")
	addKeyFlags(set, keyM)
	_ = cmd.MarkPersistentFlagDirname("keys")
	_ = cmd.MarkPersistentFlagFilename("m-key-file")
}

// keyFlagNames returns the flags that all commands have.
func keyFlagNames() []string { return []string{"keys", "m-key", "m-key-file"} }

// readKeys reads what the flags about keys name.
func (f *fabricFlags) readKeys(cmd *cobra.Command) error {
	f.keys = fabric.Keys{}
	if cmd.Flags().Changed("keys") {
		if err := f.readKeysDir(); err != nil {
			return err
		}
	}
	for _, c := range []keyClass{keyM, keyPM, keyVS} {
		table := c.table(&f.keys)
		if flag := cmd.Flags().Lookup(string(c)); flag != nil && flag.Changed {
			number, err := strconv.ParseUint(flag.Value.String(), 0, 64)
			if err != nil {
				return cli.UsageError(cmd, fmt.Errorf("--%s: not a number of 64 bits, such as 0x1234", string(c)))
			}
			table.Default = number
		}
		if flag := cmd.Flags().Lookup(c.fileFlag()); flag != nil && flag.Changed {
			table.ByGUID = nil // the file has precedence over that of --keys
			if err := readKeyFile(c, flag.Value.String(), table); err != nil {
				return err
			}
		}
	}
	return nil
}

func readKeyFile(c keyClass, name string, table *fabric.KeyTable) error {
	key, _, _ := c.names()
	file, err := os.Open(name) //nolint:gosec // the user's file
	if err != nil {
		return cli.InputError(fmt.Errorf("read %ss: %w", key, err))
	}
	defer file.Close()
	if err := table.Read(name, file); err != nil {
		return cli.Exitf(cli.ExitUsage, "read %ss: %w", key, err)
	}
	return nil
}

// readKeysDir reads the directory of --keys.
func (f *fabricFlags) readKeysDir() error {
	dir := filepath.Clean(f.keysDir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil {
			err = errors.New("not a directory")
		}
		return cli.InputError(fmt.Errorf("read keys %s: %w", f.keysDir, err))
	}
	found, err := f.keys.ReadDir(os.DirFS(dir))
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return cli.InputError(fmt.Errorf("read keys %s: %w", dir, err))
	}
	if err != nil {
		return cli.Exitf(cli.ExitUsage, "read keys %s: %w", dir, err)
	}
	for _, name := range found {
		if name != fabric.FileNeighbors && name != fabric.FileLIDs {
			return nil
		}
	}
	return cli.WithHints(
		cli.Exitf(cli.ExitUsage, "read keys %s: none of %s is there", dir,
			strings.Join([]string{fabric.FileMKeys, fabric.FilePMKeys, fabric.FileVSKeys}, ", ")),
		"OpenSM has them in /var/cache/opensm, or in OSM_CACHE_DIR")
}
