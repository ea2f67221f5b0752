package umad

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// maxPKeys bounds the partition table: P_Key indices have 16 bits.
const maxPKeys = 1 << 16

// Tables reads a port's partition table and its first GID below a root
// (class/infiniband/DEV/ports/N/pkeys and gids/0). What can't be read is nil or zero.
func Tables(ctx context.Context, root fs.FS, p Port) (keys []ib.PKey, gid ib.GID) {
	r := sysfs.NewReader(root, ctx.Err)
	defer r.Close()
	port, ok := r.Dir(path.Join(sysfs.ClassInfiniBand, p.Device, "ports", fmt.Sprint(p.Number)))
	if !ok {
		return nil, gid
	}
	defer port.Close()
	if text, ok := port.Text("gids/0"); ok {
		if parsed, err := ib.ParseGID(text); err == nil {
			gid = parsed
		}
	}
	for _, name := range port.List("pkeys") {
		index, err := strconv.Atoi(name)
		if err != nil || index < 0 || index >= maxPKeys {
			continue
		}
		text, _ := port.Text(path.Join("pkeys", name))
		key, err := ib.ParsePKey(text)
		if err != nil {
			continue // the entry stays 0, which is not valid
		}
		for len(keys) <= index {
			keys = append(keys, 0)
		}
		keys[index] = key
	}
	return keys, gid
}
