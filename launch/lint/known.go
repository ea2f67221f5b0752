package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// kind is the type of a variable's value.
type kind uint8

const (
	kindText   kind = iota // anything
	kindNumber             // a whole number as strtoll reads it
	kindWord               // one of some words
)

// known is a variable that a library reads.
type known struct {
	name      string
	kind      kind
	low, high int64    // kindNumber
	clamp     bool     // propose the highest value for a larger number
	words     []string // kindWord: all words; kindNumber: words that are allowed besides numbers
	numbers   bool     // kindWord: old numbers are accepted too
	list      bool     // entries separated by commas
	soft      bool     // an unknown word does little harm
	otherwise string   // consequence of an unknown word
	other     bool     // listed only so that it isn't reported as misspelt
}

func (k known) allows(v string) bool { return slices.Contains(k.words, v) }

func (k known) severity() Severity {
	if k.soft {
		return SeverityWarn
	}
	return SeverityError
}

// misread describes what happens to a text that should be a number.
func (k known) misread(value int64, rest string) string {
	if strings.HasPrefix(k.name, "NCCL_") {
		return fmt.Sprintf("NCCL reads %d: %q is not a number", value, rest)
	}
	return fmt.Sprintf("%q is not a number", rest)
}

func number(name string, low, high int64, words ...string) known {
	return known{name: name, kind: kindNumber, low: low, high: high, words: words}
}

func flag(name string) known { return known{name: name, kind: kindNumber, low: 0, high: 1} }

func words(name string, list ...string) known { return known{name: name, kind: kindWord, words: list} }

func text(name string) known { return known{name: name} }

func list(name string) known { return known{name: name, list: true} }

func clamped(k known) known { k.clamp = true; return k }

func soft(k known, otherwise string) known { k.soft, k.otherwise = true, otherwise; return k }

// knownVariables returns the names that the rules know, with their allowed values. If the library
// does not check a number, the range is that of the field in the queue pair or packet.
func knownVariables() []known {
	const many = math.MaxInt64
	// older versions don't have C2C, P2C
	paths := []string{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"}
	gdr := soft(words("NCCL_NET_GDR_LEVEL", paths...), "; NCCL ignores it")
	p2p := soft(words("NCCL_P2P_LEVEL", paths...), "; NCCL ignores it")
	gdr.numbers, p2p.numbers = true, true
	out := []known{
		list("NCCL_IB_HCA"), list("NCCL_SOCKET_IFNAME"), list("NCCL_OOB_NET_IFNAME"),
		number("NCCL_IB_GID_INDEX", -1, many), number("NCCL_IB_ROCE_VERSION_NUM", 1, 2), text("NCCL_IB_ADDR_RANGE"),
		words("NCCL_IB_ADDR_FAMILY", "AF_INET", "AF_INET6"), words("NCCL_SOCKET_FAMILY", "AF_INET", "AF_INET6"),
		clamped(number("NCCL_IB_TIMEOUT", 0, 31)), clamped(number("NCCL_IB_RETRY_CNT", 0, 7)),
		number("NCCL_IB_SL", -1, 15), number("NCCL_IB_TC", -1, 255), number("NCCL_IB_FIFO_TC", -1, 255),
		clamped(number("NCCL_IB_QPS_PER_CONNECTION", 1, 128)), flag("NCCL_IB_SPLIT_DATA_ON_QPS"),
		number("NCCL_IB_PCI_RELAXED_ORDERING", 0, 2),
		number("NCCL_IB_DISABLE", 0, 1), flag("NCCL_IB_MERGE_NICS"), flag("NCCL_IB_MERGE_VFS"),
		number("NCCL_CROSS_NIC", 0, 2), number("NCCL_IB_PKEY", 0, 65535),
		flag("NCCL_DMABUF_ENABLE"), number("NCCL_SOCKET_NTHREADS", 1, 16), number("NCCL_NSOCKS_PERTHREAD", 1, 16),
		gdr, p2p, soft(words("NCCL_NET_MERGE_LEVEL", "LOC", "PORT", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"),
			"; NCCL ignores it"),
		soft(words("NCCL_NET_MERGE_POLICY", "ALL", "RAIL", "all", "rail"), "; NCCL uses ALL"),
		text("NCCL_NET"), text("NCCL_NET_PLUGIN"), text("NCCL_COMM_ID"), text("NCCL_NETDEVS_POLICY"),
		text("NCCL_NET_FORCE_MERGE"), text("NCCL_IB_CUDA_SUPPORT"),
		list("NVSHMEM_HCA_LIST"), list("NVSHMEM_HCA_PE_MAPPING"), text("NVSHMEM_HCA_PREFIX"),
		list("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"),
		number("NVSHMEM_IB_GID_INDEX", -1, many), number("NVSHMEM_IB_ROCE_VERSION_NUM", 1, 2),
		text("NVSHMEM_IB_ADDR_RANGE"),
		words("NVSHMEM_IB_ADDR_FAMILY", "AF_INET", "AF_INET6"),
		words("NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY", "AF_INET", "AF_INET6"),
		number("NVSHMEM_IB_TRAFFIC_CLASS", 0, 255), number("NVSHMEM_IB_SL", 0, 15), text("NVSHMEM_REMOTE_TRANSPORT"),
		text("NVSHMEM_LIBFABRIC_PROVIDER"), text("NVSHMEM_ENABLE_NIC_PE_MAPPING"),
		list("UCX_NET_DEVICES"), list("UCX_TLS"), number("UCX_IB_GID_INDEX", 0, many, "auto"),
		number("UCX_IB_TRAFFIC_CLASS", 0, 255, "auto"), number("UCX_IB_SL", 0, 15, "auto"),
		list("UCX_IB_ROCE_SUBNETS"), text("UCX_IB_ROCE_LOCAL_SUBNET"), text("UCX_IB_ROCE_SUBNET_PREFIX_LEN"),
		soft(words("UCX_IB_ROCE_REACHABILITY_MODE", "route", "local_subnet", "all"), ""),
		list("MC_MS_FILTERS"), list("MC_TE_FILTERS"), list("MC_TE_FILTERS_EXCLUDE"), number("MC_GID_INDEX", 0, 255),
		number("MC_IB_PORT", 1, 255), number("MC_IB_TC", -1, 255), number("MC_IB_SL", -1, 15),
		words("MC_MTU", "512", "1024", "2048", "4096"), text("MC_MS_AUTO_DISC"), text("MC_FORCE_TCP"),
		list("ROCSHMEM_HCA_LIST"), list("GLOO_SOCKET_IFNAME"), list("TP_SOCKET_IFNAME"),
		text("VLLM_HOST_IP"), text("VLLM_NIXL_SIDE_CHANNEL_HOST"), number("VLLM_NIXL_SIDE_CHANNEL_PORT", 0, 65535),
		text("SGLANG_HOST_IP"), text("MASTER_ADDR"), number("MASTER_PORT", 0, 65535),
		text("FI_PROVIDER"), text("FI_EFA_USE_DEVICE_RDMA"), list("OMPI_MCA_btl_tcp_if_include"),
		list("OMPI_MCA_oob_tcp_if_include"),
	}
	for prefix, names := range otherNames() {
		for name := range strings.FieldsSeq(names) {
			out = append(out, known{name: prefix + name, other: true})
		}
	}
	return out
}

// otherNames returns names that the libraries read but no rule checks.
func otherNames() map[string]string {
	return map[string]string{
		"NCCL_": `ALGO ALLGATHERV_ENABLE ASYNC_ERROR_HANDLING BLOCKING_WAIT BUFFSIZE CGA_CLUSTER_SIZE CHECKS_DISABLE
			CHECK_MODE CHECK_POINTERS CHUNK_SIZE COLLNET_ENABLE COLLNET_NODE_THRESHOLD COMM_BLOCKING CONF_FILE
			CTA_POLICY CUMEM_ENABLE CUMEM_HOST_ENABLE DEBUG DEBUG_FILE DEBUG_SUBSYS DEBUG_TIMESTAMP_FORMAT
			DEBUG_TIMESTAMP_LEVELS DESYNC_DEBUG GDRCOPY_ENABLE GDRCOPY_FLUSH_ENABLE GDRCOPY_SYNC_ENABLE
			GDR_FLUSH_DISABLE GIN_ENABLE GIN_IB_TC GIN_PLUGIN GIN_TYPE GRAPH_DUMP_FILE GRAPH_FILE GRAPH_MIXING_SUPPORT
			GRAPH_REGISTER HOSTID IBVERBS_LIB IB_ADAPTIVE_ROUTING IB_AR_THRESHOLD IB_DATA_DIRECT IB_DEVICE_PCI_ORDER
			IB_ECE_ENABLE IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT IB_MQP_RETRY_SLEEP_MSEC IB_OOO_RQ IB_QUERY_PORT_SPEED
			IB_RETURN_ASYNC_EVENTS IB_ROUTABLE_FLID_GID_INDEX IB_SUBNET_AWARE_ROUTING IB_SUBNET_PREFIX_LEN
			IB_USE_INLINE IB_WARN_RAIL_LOCAL IGNORE_CPU_AFFINITY IGNORE_DISABLED_P2P LAUNCH_MODE LL128_BUFFSIZE
			LL128_NTHREADS LL_BUFFSIZE LL_THRESHOLD LOCAL_REGISTER MAX_CTAS MAX_NCHANNELS MAX_NRINGS MAX_P2P_NCHANNELS
			MEM_SYNC_DOMAIN MIN_CTAS MIN_NCHANNELS MIN_NRINGS MIN_P2P_NCHANNELS MNNVL_ENABLE MNNVL_UUID
			NCHANNELS_PER_NET_PEER NET_DISABLE_INTRA NET_FORCE_FLUSH NET_GDR_C2C NET_GDR_READ NET_OVERHEAD
			NET_SHARED_BUFFERS NET_SHARED_COMMS NTHREADS NVB_DISABLE NVB_PRECONNECT NVLS_CHUNKSIZE NVLS_ENABLE
			NVLS_NCHANNELS NVTX_DISABLE OOB_NET_ENABLE P2P_DIRECT_DISABLE P2P_DISABLE P2P_LL_THRESHOLD
			P2P_NET_CHUNKSIZE P2P_NVL_CHUNKSIZE P2P_PCI_CHUNKSIZE P2P_PXN_LEVEL P2P_READ_ENABLE P2P_USE_CUDA_MEMCPY
			PAT_ENABLE PROFILER_PLUGIN PROTO PROXY_APPEND_BATCH_SIZE PROXY_CPUSET PXN_C2C PXN_DISABLE RAS_ADDR
			RAS_ENABLE RAS_TIMEOUT_FACTOR RINGS RUNTIME_CONNECT SET_STACK_SIZE SHM_DISABLE SHM_LOCALITY
			SHM_USE_CUDA_MEMCPY SINGLE_RING_THRESHOLD SOCKET_INLINE SOCKET_MIN_TASKSIZE SOCKET_POLL_TIMEOUT_MSEC
			SOCKET_RCVBUF SOCKET_RETRY_CNT SOCKET_RETRY_SLEEP_MSEC SOCKET_SNDBUF THREAD_THRESHOLDS TOPO_DUMP_FILE
			TOPO_DUMP_FILE_RANK TOPO_FILE TREE_THRESHOLD TUNER_CONFIG_FILE TUNER_PLUGIN UID_STAGGER_RATE
			UID_STAGGER_THRESHOLD WIN_ENABLE WIN_STRIDE WORK_ARGS_BYTES WORK_FIFO_BYTES HOME ROOT DIR INCLUDE_DIR
			LIB_DIR LIBRARY VERSION TESTS_HOME`,
		"NVSHMEM_": `BOOTSTRAP BOOTSTRAP_PMI BOOTSTRAP_PLUGIN BOOTSTRAP_TWO_STAGE BOOTSTRAP_UID_SESSION_ID
			CUMEM_GRANULARITY CUMEM_HANDLE_TYPE DEBUG DEBUG_FILE DEBUG_SUBSYS DIR DISABLE_CUDA_VMM DISABLE_DATA_DIRECT
			DISABLE_GDRCOPY DISABLE_IB_NATIVE_ATOMICS DISABLE_LOCAL_ONLY_PROXY DISABLE_MNNVL DISABLE_NCCL DISABLE_NVLS
			DISABLE_P2P ENABLE_RAIL_OPT HEAP_KIND HOME IBGDA_DCI_MAP_BY IBGDA_ENABLE_MULTI_PORT
			IBGDA_FORCE_NIC_BUF_MEMTYPE IBGDA_NIC_HANDLER IBGDA_NUM_DCI IBGDA_NUM_DCT IBGDA_NUM_RC_PER_PE
			IBGDA_NUM_REQUESTS_IN_BATCH IBGDA_RC_MAP_BY IB_DISABLE_DMABUF IB_ENABLE_IBGDA IB_NUM_RC_PER_DEVICE INFO
			MAX_TEAMS QP_DEPTH SRQ_DEPTH SYMMETRIC_SIZE VERSION`,
		"UCX_": `ADDRESS_VERSION ALLOC_PRIO ATOMIC_MODE ACC_DEVICES SELF_DEVICES SHM_DEVICES LOG_LEVEL LOG_FILE
			HANDLE_ERRORS HOME KEEPALIVE_INTERVAL MAX_EAGER_LANES MAX_EAGER_RAILS MAX_RMA_LANES MAX_RMA_RAILS
			MAX_RNDV_LANES MAX_RNDV_RAILS MEMTYPE_CACHE MULTI_LANE_MAX_RATIO PROTO_ENABLE PROTO_INFO PROTOS
			RCACHE_ENABLE RNDV_SCHEME RNDV_THRESH SOCKADDR_AUX_TLS SOCKADDR_TLS_PRIORITY STATS_DEST UNIFIED_MODE
			WARN_UNUSED_ENV_VARS ZCOPY_THRESH IB_ADDR_TYPE IB_IS_GLOBAL IB_FLID_ROUTE IB_HOP_LIMIT IB_NUM_PATHS
			IB_LID_PATH_BITS IB_PKEY IB_PATH_MTU IB_REVERSE_SL IB_SUBNET_PREFIX IB_GPU_DIRECT_RDMA
			IB_PCI_RELAXED_ORDERING IB_PCI_BW IB_REG_METHODS IB_FORK_INIT IB_ASYNC_EVENTS IB_ETH_PAUSE_ON
			IB_DEVICE_SPECS IB_PREFER_NEAREST_DEVICE IB_MLX5_DEVX IB_ROCE_PATH_FACTOR IB_SEG_SIZE IB_TX_QUEUE_LEN
			IB_RX_QUEUE_LEN IB_COUNTER_SET_ID IB_SEND_OVERHEAD IB_DIRECT_NIC IB_INDIRECT_ATOMIC IB_ODP_PREFETCH
			IB_ODP_MEM_TYPES RC_SL UD_SL DC_SL RC_TRAFFIC_CLASS UD_TRAFFIC_CLASS DC_TRAFFIC_CLASS TCP_BRIDGE_NAME
			TCP_PORT_RANGE TCP_KEEPIDLE`,
		"MC_": `CUSTOM_TOPO_JSON DISABLE_GPU_DIRECT_RDMA ENABLE_DEST_DEVICE_AFFINITY ENABLE_HCA_PEER_AFFINITY
			ENABLE_PARALLEL_REG_MR ENDPOINT_STORE_TYPE FORCE_HCA FORCE_MNNVL FRAGMENT_RATIO HANDSHAKE_PORT
			IB_PCI_RELAXED_ORDERING LOG_DIR LOG_LEVEL MASTER_ADDR MAX_CQE_PER_CTX MAX_EP_PER_CTX MAX_INLINE
			MAX_MR_SIZE MAX_SGE MAX_WR METADATA_SERVER MIN_PRC_PORT MAX_PRC_PORT MIN_RPC_PORT MAX_RPC_PORT
			MIN_REG_SIZE NUM_COMP_CHANNELS_PER_CTX NUM_CQ_PER_CTX NUM_QP_PER_EP PATH_ROUNDROBIN PKEY_INDEX
			RDMA_BIND_ADDRESS RETRY_CNT SLICE_SIZE SLICE_TIMEOUT TCP_BIND_ADDRESS TCP_SLICE_SIZE TE_METRIC
			TRANSFER_TIMEOUT USE_IPV6 USE_TENT WORKERS_PER_CTX YLT_LOG_LEVEL STORE_MEMCPY STORE_CLUSTER_ID
			NIC_PEER_AFFINITY`,
	}
}

// knownByName builds the lookup table once.
var knownByName = sync.OnceValue(func() map[string]known {
	out := map[string]known{}
	for _, k := range knownVariables() {
		out[k.name] = k
	}
	return out
})

// findKnown returns the known variable of a name.
func findKnown(name string) (known, bool) {
	k, ok := knownByName()[name]
	return k, ok
}

// lineOf returns the place of a setting, without the file if it is the file of from.
func lineOf(s, from *Setting) string {
	line := strconv.Itoa(s.Line)
	if s.File != from.File && s.File != "" {
		return line + " of " + s.File
	}
	return line
}
