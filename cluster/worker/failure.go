package worker

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/verbs"
)

// failed returns an error as a failure of a step.
func failed(ctx context.Context, step result.FailureStep, err error) *result.Failure {
	f := &result.Failure{Step: step, Code: "other", Text: err.Error()}
	if completion, ok := errors.AsType[*verbs.CompletionError](err); ok {
		f.Code = statusCode(completion.Status)
		return f
	}
	switch {
	case errors.Is(err, errNoGID):
		f.Code = "no-gid"
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		f.Code = "timeout"
	case errors.Is(err, errPortDown):
		f.Code = "port-down"
	case errors.Is(err, syscall.EADDRINUSE): // of RDMA in software: UDP 4791, or the port of a rendezvous
		f.Code = "busy"
	case errors.Is(err, fs.ErrPermission):
		f.Code = "permission"
	case errors.Is(err, fs.ErrNotExist):
		f.Code = "no-device"
	case errors.Is(err, verbs.ErrNotSupported):
		f.Code = "not-supported"
	}
	return f
}

func statusCode(s verbs.WCStatus) string {
	switch s {
	case verbs.WCRetryExceeded:
		return "retry-exceeded"
	case verbs.WCRNRRetryExceeded:
		return "rnr-retry-exceeded"
	case verbs.WCRemoteAccess:
		return "remote-access"
	case verbs.WCRemoteInvalid:
		return "remote-invalid"
	case verbs.WCFlushed:
		return "flushed"
	case verbs.WCFatal:
		return "fatal"
	}
	return "other"
}

// moved returns the counters that grew, sorted by name. A counter that fell was reset: it counts
// from zero.
func moved(before, after map[string]uint64) (out []result.Counter) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		old, known := before[name]
		switch {
		case !known, after[name] == old:
		case after[name] < old:
			if after[name] > 0 {
				out = append(out, result.Counter{Name: name, Delta: after[name]})
			}
		default:
			out = append(out, result.Counter{Name: name, Delta: after[name] - old})
		}
	}
	return out
}
