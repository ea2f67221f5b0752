package ibdiags

import (
	"context"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func sminfo() Program {
	return Program{
		Name: "sminfo", Summary: "Print GUID, state, priority and activity count of a subnet manager",
		Usage: "[options] <sm_lid|sm_dr_path> [modifier]",
		Long: `Without an operand it queries the subnet manager of the local port. A modifier other than 0 writes
state, priority and activity count instead of reading them; a subnet manager accepts that only from
another subnet manager.`,
		Options: append([]Option{
			valueOption("state", 's', "<0-3>", "set SM state"),
			valueOption("priority", 'p', "<0-15>", "set SM priority"),
			valueOption("activity", 'a', "<val>", "set activity count"),
		}, commonOptions("sK")...),
		run: runSminfo,
	}
}

func runSminfo(ctx context.Context, r *run) int {
	info := mad.SMInfo{State: mad.SMStateStandby}
	if code, done := r.options(func(letter byte, arg string) bool {
		v, _ := clib.Strtoul(arg, 0)
		switch letter {
		case 's':
			info.State = mad.SMState(v)
		case 'p':
			info.Priority = uint8(v)
		case 'a':
			info.ActCount = uint32(v)
		}
		return true
	}); done {
		return code
	}
	modifier := uint32(0)
	if len(r.operands) > 1 {
		modifier = uint32(clib.Strtol(r.operands[1], 10))
	}
	if !r.open(ctx) {
		return exitMinusOne
	}
	own, err := r.ownPort(ctx)
	if err != nil {
		return r.fail(err, "can't resolve sm port %s", "self")
	}
	to := fabric.Target{LID: own.MasterSMLID}
	if len(r.operands) > 0 {
		if to, err = r.resolve(ctx, r.operands[0]); err != nil {
			return r.fail(err, "can't resolve destination port %s", r.operands[0])
		}
	}
	method := mad.MethodGet
	if modifier != 0 {
		method = mad.MethodSet
	}
	data, err := r.client.SMP(ctx, to, method, mad.AttributeSMInfo, modifier, info.Append(nil))
	if err != nil {
		return r.fail(err, "query")
	}
	info.Decode(data) //nolint:errcheck // the client has the length
	r.printf("sminfo: sm lid %d sm guid 0x%x, activity count %d priority %d state %d %s\n", to.LID,
		guid64(info.GUID), info.ActCount, info.Priority, uint8(info.State), info.State)
	return 0
}
