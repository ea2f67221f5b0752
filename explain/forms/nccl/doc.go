// Package nccl has the forms of the lines of NCCL and RCCL, for all releases from 2.7.
//
//	matcher := forms.NewMatcher(nccl.Table())
//
// The forms are a table by release, because the same fact was printed in up to nine ways. Sources
// are the files of the repository NVIDIA/nccl at the tags that are named. Lines of network plugins
// with the same prefix belong to this package too.
package nccl
