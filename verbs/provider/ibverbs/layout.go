package ibverbs

import (
	"bytes"
	"unsafe"

	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/internal/edge/dl"
)

// This file and objects.go mirror the memory layout of libibverbs (infiniband/verbs.h). This is the
// only file of the package that uses unsafe. The tag c names the C field; a test compiles a C
// program against the header and compares sizes and offsets.

// layoutKnown reports whether pointers and long have 64 bits: 32-bit layouts are not tested.
const layoutKnown = unsafe.Sizeof(uintptr(0)) == 8

// cDevice is struct ibv_device.
type cDevice struct {
	Ops           [2]uintptr `c:"_ops"`
	NodeType      int32      `c:"node_type"`
	TransportType int32      `c:"transport_type"`
	Name          [64]byte   `c:"name"`
	DevName       [64]byte   `c:"dev_name"`
	DevPath       [256]byte  `c:"dev_path"`
	IBDevPath     [256]byte  `c:"ibdev_path"`
}

// cContext is struct ibv_context.
type cContext struct {
	Device         uintptr            `c:"device"`
	Ops            [32]uintptr        `c:"ops"`
	CmdFD          int32              `c:"cmd_fd"`
	AsyncFD        int32              `c:"async_fd"`
	NumCompVectors int32              `c:"num_comp_vectors"`
	Mutex          [mutexWords]uint64 `c:"mutex"`
	ABICompat      uintptr            `c:"abi_compat"`
}

// In memory, struct verbs_context precedes struct ibv_context and grows towards lower addresses, so
// a member is identified by its distance from the context.
const (
	distanceSize          = 8   // sz
	distanceQueryDeviceEx = 104 // query_device_ex
	distanceQueryPort     = 320 // query_port
)

// cDeviceAttr is struct ibv_device_attr.
type cDeviceAttr struct {
	FWVer                 [64]byte `c:"fw_ver"`
	NodeGUID              [8]byte  `c:"node_guid"` // big endian
	SysImageGUID          [8]byte  `c:"sys_image_guid"`
	MaxMRSize             uint64   `c:"max_mr_size"`
	PageSizeCap           uint64   `c:"page_size_cap"`
	VendorID              uint32   `c:"vendor_id"`
	VendorPartID          uint32   `c:"vendor_part_id"`
	HWVer                 uint32   `c:"hw_ver"`
	MaxQP                 int32    `c:"max_qp"`
	MaxQPWR               int32    `c:"max_qp_wr"`
	DeviceCapFlags        uint32   `c:"device_cap_flags"`
	MaxSGE                int32    `c:"max_sge"`
	MaxSGERd              int32    `c:"max_sge_rd"`
	MaxCQ                 int32    `c:"max_cq"`
	MaxCQE                int32    `c:"max_cqe"`
	MaxMR                 int32    `c:"max_mr"`
	MaxPD                 int32    `c:"max_pd"`
	MaxQPRdAtom           int32    `c:"max_qp_rd_atom"`
	MaxEERdAtom           int32    `c:"max_ee_rd_atom"`
	MaxResRdAtom          int32    `c:"max_res_rd_atom"`
	MaxQPInitRdAtom       int32    `c:"max_qp_init_rd_atom"`
	MaxEEInitRdAtom       int32    `c:"max_ee_init_rd_atom"`
	AtomicCap             int32    `c:"atomic_cap"`
	MaxEE                 int32    `c:"max_ee"`
	MaxRDD                int32    `c:"max_rdd"`
	MaxMW                 int32    `c:"max_mw"`
	MaxRawIPv6QP          int32    `c:"max_raw_ipv6_qp"`
	MaxRawEthyQP          int32    `c:"max_raw_ethy_qp"`
	MaxMcastGrp           int32    `c:"max_mcast_grp"`
	MaxMcastQPAttach      int32    `c:"max_mcast_qp_attach"`
	MaxTotalMcastQPAttach int32    `c:"max_total_mcast_qp_attach"`
	MaxAH                 int32    `c:"max_ah"`
	MaxFMR                int32    `c:"max_fmr"`
	MaxMapPerFMR          int32    `c:"max_map_per_fmr"`
	MaxSRQ                int32    `c:"max_srq"`
	MaxSRQWR              int32    `c:"max_srq_wr"`
	MaxSRQSGE             int32    `c:"max_srq_sge"`
	MaxPKeys              uint16   `c:"max_pkeys"`
	LocalCAAckDelay       uint8    `c:"local_ca_ack_delay"`
	PhysPortCnt           uint8    `c:"phys_port_cnt"`
}

// cDeviceAttrEx is struct ibv_device_attr_ex.
type cDeviceAttrEx struct {
	Orig                     cDeviceAttr `c:"orig_attr"`
	CompMask                 uint32      `c:"comp_mask"`
	ODPGeneral               uint64      `c:"odp_caps.general_caps"`
	ODPRC                    uint32      `c:"odp_caps.per_transport_caps.rc_odp_caps"`
	ODPUC                    uint32      `c:"odp_caps.per_transport_caps.uc_odp_caps"`
	ODPUD                    uint32      `c:"odp_caps.per_transport_caps.ud_odp_caps"`
	CompletionTimestampMask  uint64      `c:"completion_timestamp_mask"`
	HCACoreClock             uint64      `c:"hca_core_clock"`
	DeviceCapFlagsEx         uint64      `c:"device_cap_flags_ex"`
	TSOMax                   uint32      `c:"tso_caps.max_tso"`
	TSOQPTs                  uint32      `c:"tso_caps.supported_qpts"`
	RSSQPTs                  uint32      `c:"rss_caps.supported_qpts"`
	RSSMaxTables             uint32      `c:"rss_caps.max_rwq_indirection_tables"`
	RSSMaxTableSize          uint32      `c:"rss_caps.max_rwq_indirection_table_size"`
	RSSHashFieldsMask        uint64      `c:"rss_caps.rx_hash_fields_mask"`
	RSSHashFunction          uint8       `c:"rss_caps.rx_hash_function"`
	_                        [7]byte     // struct ibv_rss_caps ends at a multiple of 8
	MaxWQTypeRQ              uint32      `c:"max_wq_type_rq"`
	PacketPacingRateLimitMin uint32      `c:"packet_pacing_caps.qp_rate_limit_min"`
	PacketPacingRateLimitMax uint32      `c:"packet_pacing_caps.qp_rate_limit_max"`
	PacketPacingQPTs         uint32      `c:"packet_pacing_caps.supported_qpts"`
	RawPacketCaps            uint32      `c:"raw_packet_caps"`
	TMMaxRndvHdrSize         uint32      `c:"tm_caps.max_rndv_hdr_size"`
	TMMaxNumTags             uint32      `c:"tm_caps.max_num_tags"`
	TMFlags                  uint32      `c:"tm_caps.flags"`
	TMMaxOps                 uint32      `c:"tm_caps.max_ops"`
	TMMaxSGE                 uint32      `c:"tm_caps.max_sge"`
	CQModMaxCount            uint16      `c:"cq_mod_caps.max_cq_count"`
	CQModMaxPeriod           uint16      `c:"cq_mod_caps.max_cq_period"`
	MaxDMSize                uint64      `c:"max_dm_size"`
	PCIAtomicFetchAdd        uint16      `c:"pci_atomic_caps.fetch_add"`
	PCIAtomicSwap            uint16      `c:"pci_atomic_caps.swap"`
	PCIAtomicCompareSwap     uint16      `c:"pci_atomic_caps.compare_swap"`
	ODPXRC                   uint32      `c:"xrc_odp_caps"`
	PhysPortCntEx            uint32      `c:"phys_port_cnt_ex"`
}

// cPortAttr is struct ibv_port_attr of newer libraries. Older libraries get the size of the struct
// and clear the fields that they don't know.
type cPortAttr struct {
	State         int32  `c:"state"`
	MaxMTU        int32  `c:"max_mtu"`
	ActiveMTU     int32  `c:"active_mtu"`
	GIDTblLen     int32  `c:"gid_tbl_len"`
	PortCapFlags  uint32 `c:"port_cap_flags"`
	MaxMsgSz      uint32 `c:"max_msg_sz"`
	BadPKeyCntr   uint32 `c:"bad_pkey_cntr"`
	QKeyViolCntr  uint32 `c:"qkey_viol_cntr"`
	PKeyTblLen    uint16 `c:"pkey_tbl_len"`
	LID           uint16 `c:"lid"`
	SMLID         uint16 `c:"sm_lid"`
	LMC           uint8  `c:"lmc"`
	MaxVLNum      uint8  `c:"max_vl_num"`
	SMSL          uint8  `c:"sm_sl"`
	SubnetTimeout uint8  `c:"subnet_timeout"`
	InitTypeReply uint8  `c:"init_type_reply"`
	ActiveWidth   uint8  `c:"active_width"`
	ActiveSpeed   uint8  `c:"active_speed"`
	PhysState     uint8  `c:"phys_state"`
	LinkLayer     uint8  `c:"link_layer"`
	Flags         uint8  `c:"flags"`
	PortCapFlags2 uint16 `c:"port_cap_flags2"`
	ActiveSpeedEx uint32 `c:"active_speed_ex"`
}

// cGIDEntry is struct ibv_gid_entry.
type cGIDEntry struct {
	GID         [16]byte `c:"gid"`
	GIDIndex    uint32   `c:"gid_index"`
	PortNum     uint32   `c:"port_num"`
	GIDType     uint32   `c:"gid_type"`
	NdevIfindex uint32   `c:"ndev_ifindex"`
}

// peek copies a value from memory that libibverbs allocated, which the garbage collector doesn't
// manage.
func peek[T any](addr uintptr) T {
	return **(**T)(unsafe.Pointer(&addr))
}

// setWindowKey stores the key of a window, as libibverbs leaves it to the program: drivers read it
// to find the window of the next binding.
func setWindowKey(mw uintptr, key uint32) { (*(**cMW)(unsafe.Pointer(&mw))).RKey = key }

// extendedOp returns a function of struct verbs_context by its distance from the context, or false
// if library or driver are too old to have it (verbs_get_ctx_op of verbs.h).
func extendedOp(lib *dl.Library, ctx uintptr, distance uintptr) (dl.Func, bool) {
	if peek[cContext](ctx).ABICompat != ^uintptr(0) {
		return dl.Func{}, false
	}
	if size := peek[uintptr](ctx - distanceSize); size < distance+unsafe.Sizeof(cContext{}) {
		return dl.Func{}, false
	}
	return lib.At(peek[uintptr](ctx - distance))
}

// The functions below call C. The Go memory that they pass doesn't move and stays alive until C
// returns, since its address is taken in the argument list of the call.

func callGetDeviceList(f dl.Func) (list uintptr, count int, errno int) {
	n := new(int32)
	ret, e := f.CallErrno(uintptr(unsafe.Pointer(n)))
	return ret, int(*n), int(e)
}

func callQueryDevice(f dl.Func, ctx uintptr, attr *cDeviceAttrEx) int {
	ret, e := f.CallErrno(ctx, uintptr(unsafe.Pointer(&attr.Orig)))
	return errnoOf(ret, int(e))
}

func callQueryDeviceEx(f dl.Func, ctx uintptr, attr *cDeviceAttrEx) int {
	ret, e := f.CallErrno(ctx, 0, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
	return errnoOf(ret, int(e))
}

// callQueryPort calls the exported function, which takes no size and fills the older,
// shorter struct.
func callQueryPort(f dl.Func, ctx uintptr, port int, attr *cPortAttr) int {
	ret, e := f.CallErrno(ctx, uintptr(port), uintptr(unsafe.Pointer(attr)))
	return errnoOf(ret, int(e))
}

func callQueryPortEx(f dl.Func, ctx uintptr, port int, attr *cPortAttr) int {
	ret, e := f.CallErrno(ctx, uintptr(port), uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
	return errnoOf(ret, int(e))
}

func callQueryGID(f dl.Func, ctx uintptr, port, index int, gid *[16]byte) int {
	ret, e := f.CallErrno(ctx, uintptr(port), uintptr(index), uintptr(unsafe.Pointer(gid)))
	return errnoOf(ret, int(e))
}

func callQueryGIDEx(f dl.Func, ctx uintptr, port, index int, entry *cGIDEntry) int {
	ret, e := f.CallErrno(ctx, uintptr(port), uintptr(index), uintptr(unsafe.Pointer(entry)), 0, unsafe.Sizeof(*entry))
	return errnoOf(ret, int(e))
}

func callQueryGIDType(f dl.Func, ctx uintptr, port, index int, kind *int32) int {
	ret, e := f.CallErrno(ctx, uintptr(port), uintptr(index), uintptr(unsafe.Pointer(kind)))
	return errnoOf(ret, int(e))
}

// pointers copies the n pointers of a C array.
func pointers(array uintptr, n int) []uintptr {
	out := make([]uintptr, n)
	for i := range out {
		out[i] = peek[uintptr](array + uintptr(i)*unsafe.Sizeof(array))
	}
	return out
}

// text returns the C string in an array.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// unknownErrno stands for a failure without an errno.
const unknownErrno = -1

// errnoOf returns the errno for the result of a verb: 0 for success. Depending on its age, the
// called code returns a positive errno, a negative one, or -1 and sets errno.
func errnoOf(ret uintptr, errno int) int {
	switch r := int(int32(ret)); {
	case r == 0:
		return 0
	case r == -1 && errno != 0:
		return errno
	case r == -1:
		return unknownErrno
	case r < 0:
		return -r
	default:
		return r
	}
}

// inlineOp returns a function of struct ibv_context_ops, which verbs.h calls inline. All drivers
// fill the whole table.
func inlineOp(lib *dl.Library, ctx uintptr, index int) dl.Func {
	f, _ := lib.At(peek[cContext](ctx).Ops[index])
	return f
}

// callWith calls a function with an object, a struct and a third argument.
func callWith[T any](f dl.Func, object uintptr, v *T, third uintptr) (ret uintptr, errno int) {
	ret, e := f.CallErrno(object, uintptr(unsafe.Pointer(v)), third)
	return ret, int(e)
}

// callAck calls a function that takes only a pointer to a struct.
func callAck[T any](f dl.Func, v *T) {
	_, _ = f.CallErrno(uintptr(unsafe.Pointer(v)))
}

func callQueryQP(f dl.Func, qp uintptr, attr *cQPAttr, mask uintptr, init *cQPInitAttr) int {
	ret, e := f.CallErrno(qp, uintptr(unsafe.Pointer(attr)), mask, uintptr(unsafe.Pointer(init)))
	return errnoOf(ret, int(e))
}

// callGetCQEvent returns the address of the completion queue.
func callGetCQEvent(f dl.Func, channel uintptr) (cq uintptr, errno int) {
	out := new([2]uintptr) // the queue and its cq_context
	ret, e := f.CallErrno(channel, uintptr(unsafe.Pointer(&out[0])), uintptr(unsafe.Pointer(&out[1])))
	return out[0], errnoOf(ret, int(e))
}

// addressOf returns the address of the first byte of a buffer. It is valid as long as the buffer is
// pinned.
func addressOf(buf []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(buf))) }

// arena is memory for the requests and completions of a queue, which C reads and writes: outside of
// the Go heap, so that addresses in it stay valid.
type arena struct {
	mem  []byte
	next int
}

// room returns the size of n values of type T in an arena.
func room[T any](n int) int {
	var zero T
	return n*int(unsafe.Sizeof(zero)) + int(unsafe.Alignof(zero))
}

func newArena(size int) (*arena, error) {
	mem, err := anonmem.Alloc(max(size, 1))
	if err != nil {
		return nil, err
	}
	return &arena{mem: mem}, nil
}

// free frees the memory: everything that was carved from the arena becomes invalid.
func (a *arena) free() {
	if a != nil && a.mem != nil {
		_ = anonmem.Free(a.mem) // fails only for another buffer
		a.mem = nil
	}
}

// carve takes n zero values of type T, which must not contain Go pointers, from an arena.
func carve[T any](a *arena, n int) []T {
	if n == 0 {
		return nil
	}
	var zero T
	align := int(unsafe.Alignof(zero))
	a.next = (a.next + align - 1) &^ (align - 1)
	at := a.next
	a.next += n * int(unsafe.Sizeof(zero))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a.mem[at:a.next]))), n)
}

// at returns the address of element i of a slice from carve.
func at[T any](s []T, i int) uintptr { return uintptr(unsafe.Pointer(&s[i])) }

// indexOf returns the index of the element of a slice from carve at an address, or -1.
func indexOf[T any](s []T, addr uintptr) int {
	if len(s) == 0 || addr < at(s, 0) || addr > at(s, len(s)-1) {
		return -1
	}
	var zero T
	return int((addr - at(s, 0)) / unsafe.Sizeof(zero))
}

// callCreateID calls rdma_create_id and returns the address of the identifier.
func callCreateID(f dl.Func, channel uintptr, ps uint32) (id uintptr, errno int) {
	out := new(uintptr)
	ret, e := f.CallErrno(channel, uintptr(unsafe.Pointer(out)), 0, uintptr(ps))
	return *out, errnoOf(ret, int(e))
}

// callResolveAddr calls rdma_resolve_addr; src may be nil.
func callResolveAddr(f dl.Func, id uintptr, src, dst *sockaddr, timeout int) int {
	ret, e := f.CallErrno(id, uintptr(unsafe.Pointer(src)), uintptr(unsafe.Pointer(dst)), uintptr(timeout))
	return errnoOf(ret, int(e))
}

// callParam calls rdma_connect or rdma_accept.
func callParam(f dl.Func, id uintptr, p *connParam) int {
	if p.c.PrivateDataLen > 0 {
		p.c.PrivateData = uintptr(unsafe.Pointer(&p.data)) // on the heap, since the call lets p escape
	}
	ret, e := f.CallErrno(id, uintptr(unsafe.Pointer(p)))
	return errnoOf(ret, int(e))
}

// callSetOption calls rdma_set_option with a value of one byte.
func callSetOption(f dl.Func, id, level, option uintptr, value uint8) int {
	v := new(value)
	ret, e := f.CallErrno(id, level, option, uintptr(unsafe.Pointer(v)), 1)
	return errnoOf(ret, int(e))
}

// callInitQPAttr calls rdma_init_qp_attr for the state in attr.
func callInitQPAttr(f dl.Func, id uintptr, attr *cQPAttr) (mask uint32, errno int) {
	out := new(uint32)
	ret, e := f.CallErrno(id, uintptr(unsafe.Pointer(attr)), uintptr(unsafe.Pointer(out)))
	return *out, errnoOf(ret, int(e))
}

// callGetCMEvent returns the address of the next event of a channel.
func callGetCMEvent(f dl.Func, channel uintptr) (event uintptr, errno int) {
	out := new(uintptr)
	ret, e := f.CallErrno(channel, uintptr(unsafe.Pointer(out)))
	return *out, errnoOf(ret, int(e))
}

// connParamOf returns the parameters of an event of a connection.
func connParamOf(e *cCMEvent) cConnParam { return *(*cConnParam)(unsafe.Pointer(&e.UD)) }

// copied copies n bytes of C memory.
func copied(addr uintptr, n uint8) []byte {
	if addr == 0 || n == 0 {
		return nil
	}
	return bytes.Clone(unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), int(n)))
}

// callReject calls rdma_reject with the first n bytes of p.data.
func callReject(f dl.Func, id uintptr, p *connParam, n int) int {
	ret, e := f.CallErrno(id, uintptr(unsafe.Pointer(&p.data)), uintptr(n))
	return errnoOf(ret, int(e))
}
