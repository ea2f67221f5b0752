// Package provider is the contract between users of RDMA devices, who see it through
// [github.com/rdmakit/rdmakit/verbs], and what stands behind them.
package provider
