package facts

import "github.com/rdmakit/rdmakit/explain/evidence"

// New collects the facts of the events in a store.
func New(store *evidence.Store) *Facts {
	return &Facts{Store: store}
}
