// Command probe prints a recording of all devices, or of those named, as JSON. With -wait FILE it
// lists the devices, creates FILE, and opens the devices only after FILE has been removed, so that
// a test can remove a device in between.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

func main() {
	wait := flag.String("wait", "", "the file to wait for")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	recording, err := describe(ctx, *wait, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(recording); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func describe(ctx context.Context, wait string, names []string) (recording.Recording, error) {
	if wait == "" {
		return ibverbs.Describe(ctx, names...)
	}
	library, err := ibverbs.Load()
	if err != nil {
		return recording.Recording{}, err
	}
	list, err := library.Devices(ctx)
	if err != nil {
		return recording.Recording{}, err
	}
	if err := os.WriteFile(wait, nil, 0o600); err != nil {
		return recording.Recording{}, err
	}
	for {
		if _, err := os.Stat(wait); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	r := recording.Recording{Schema: recording.Schema, Library: library.Info()}
	for _, d := range list.Devices() {
		r.Devices = append(r.Devices, d.Describe(ctx))
	}
	return r, r.Err()
}
