package symptoms

import "slices"

// ncclSymptoms returns the symptoms of NCCL, RCCL and their network plugins.
func ncclSymptoms() []Symptom {
	return slices.Concat(
		ncclMemorySymptoms(), ncclCUDASymptoms(), ncclDeviceSymptoms(), ncclSharingSymptoms(), ncclRankSymptoms(),
		ncclUsageSymptoms(), ncclTopologySymptoms(), ncclLimitSymptoms(), ncclNetworkSymptoms(), ncclPluginSymptoms(),
		ncclOFISymptoms(), rcclSymptoms(), ncclResultSymptoms(), ncclHarmlessSymptoms(), ncclVerbsSymptoms(),
		ncclInternalSymptoms(), ncclOFIRequestSymptoms(), ncclOFIOtherSymptoms(),
	)
}

// nccl returns a line of NCCL or RCCL; file is below src of NVIDIA/nccl.
func nccl(name, file string, all ...string) Line {
	return source{NCCL, "NVIDIA/nccl, src/" + file}.says(name, all...)
}

// warning marks a line whose text others have, too: it must be a warning of NCCL.
func (l Line) warning() Line {
	l.All = append(slices.Clone(l.All), "NCCL WARN ")
	return l
}

// from sets the source.
func (l Line) from(source string) Line {
	l.Source = source
	return l
}

// cudaLine returns the line of a call of CUDA or HIP that failed with a text of the runtime.
func cudaLine(name, text string) Line {
	return nccl(name, "include/checks.h", "'"+text+"'").any("Cuda failure", "HIP failure", "Test CUDA failure")
}
