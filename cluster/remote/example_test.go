package remote_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/rdmakit/rdmakit/cluster/remote"
)

// From names of hosts to their streams, or to the reasons why there is none.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop() // ends all sessions

	words, err := remote.Words("ssh -F ~/.ssh/cluster") // of --ssh
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := remote.Config{
		SSH:  words,
		Args: []string{"cluster", "worker", "--join", "-"},
		Progress: func(e remote.Event) {
			fmt.Println(e.Host, e.Step, e.Sent, e.Total, e.Err)
		},
	}
	streams := map[string]*remote.Session{}
	failed := map[string]error{}
	for host, r := range remote.Start(ctx, []string{"gpu001", "gpu002"}, cfg) {
		if r.Err != nil {
			failed[host] = r.Err // "start worker on gpu002: login denied: …", with the next step in Hints
			continue
		}
		streams[host] = r.Session // serve it now: others may take longer
	}
	for host, stream := range streams {
		_ = stream.Close() // always nil
		fmt.Println(host, stream.Wait())
	}
}
