package ibverbs

import "github.com/rdmakit/rdmakit/internal/edge/dl"

// calls are the functions of the library that objects need. All but the last three are as old as
// the library's stable interface.
type calls struct {
	allocPD, deallocPD           dl.Func // ibv_alloc_pd, ibv_dealloc_pd
	regMR, deregMR               dl.Func // ibv_reg_mr, ibv_dereg_mr
	createCQ, destroyCQ          dl.Func // ibv_create_cq, ibv_destroy_cq
	createQP, destroyQP          dl.Func // ibv_create_qp, ibv_destroy_qp
	modifyQP, queryQP            dl.Func // ibv_modify_qp, ibv_query_qp
	createAH, destroyAH          dl.Func // ibv_create_ah, ibv_destroy_ah
	createSRQ, destroySRQ        dl.Func // ibv_create_srq, ibv_destroy_srq
	modifySRQ, querySRQ          dl.Func // ibv_modify_srq, ibv_query_srq
	createChannel                dl.Func // ibv_create_comp_channel
	destroyChannel               dl.Func // ibv_destroy_comp_channel
	getCQEvent, ackCQEvents      dl.Func // ibv_get_cq_event, ibv_ack_cq_events
	getAsyncEvent, ackAsyncEvent dl.Func // ibv_get_async_event, ibv_ack_async_event
	regMRIova                    dl.Func // ibv_reg_mr_iova, since 1.7; may be absent
	regMRIova2                   dl.Func // ibv_reg_mr_iova2, since 1.8; may be absent
	regDMABufMR                  dl.Func // ibv_reg_dmabuf_mr, since 1.12; may be absent
}

// calls finds the functions. The error is a *dl.Error.
func (l *Library) calls() (*calls, error) {
	c := &calls{}
	for _, s := range []struct {
		name     string
		f        *dl.Func
		optional bool
	}{
		{"ibv_alloc_pd", &c.allocPD, false},
		{"ibv_dealloc_pd", &c.deallocPD, false},
		{"ibv_reg_mr", &c.regMR, false},
		{"ibv_dereg_mr", &c.deregMR, false},
		{"ibv_create_cq", &c.createCQ, false},
		{"ibv_destroy_cq", &c.destroyCQ, false},
		{"ibv_create_qp", &c.createQP, false},
		{"ibv_destroy_qp", &c.destroyQP, false},
		{"ibv_modify_qp", &c.modifyQP, false},
		{"ibv_query_qp", &c.queryQP, false},
		{"ibv_create_ah", &c.createAH, false},
		{"ibv_destroy_ah", &c.destroyAH, false},
		{"ibv_create_srq", &c.createSRQ, false},
		{"ibv_destroy_srq", &c.destroySRQ, false},
		{"ibv_modify_srq", &c.modifySRQ, false},
		{"ibv_query_srq", &c.querySRQ, false},
		{"ibv_create_comp_channel", &c.createChannel, false},
		{"ibv_destroy_comp_channel", &c.destroyChannel, false},
		{"ibv_get_cq_event", &c.getCQEvent, false},
		{"ibv_ack_cq_events", &c.ackCQEvents, false},
		{"ibv_get_async_event", &c.getAsyncEvent, false},
		{"ibv_ack_async_event", &c.ackAsyncEvent, false},
		{"ibv_reg_mr_iova", &c.regMRIova, true},
		{"ibv_reg_mr_iova2", &c.regMRIova2, true},
		{"ibv_reg_dmabuf_mr", &c.regDMABufMR, true},
	} {
		f, err := l.dl.Func(s.name)
		if err != nil && !s.optional {
			return nil, err
		}
		*s.f = f
	}
	return c, nil
}

// inlineCalls are the functions of a device's driver that verbs.h calls inline.
type inlineCalls struct {
	pollCQ, reqNotifyCQ             dl.Func
	postSend, postRecv, postSRQRecv dl.Func
	allocMW, deallocMW              dl.Func
}

func (c *Context) inlineCalls() inlineCalls {
	op := func(index int) dl.Func { return inlineOp(c.library.dl, c.addr, index) }
	return inlineCalls{
		pollCQ: op(opPollCQ), reqNotifyCQ: op(opReqNotifyCQ),
		postSend: op(opPostSend), postRecv: op(opPostRecv), postSRQRecv: op(opPostSRQRecv),
		allocMW: op(opAllocMW), deallocMW: op(opDeallocMW),
	}
}
