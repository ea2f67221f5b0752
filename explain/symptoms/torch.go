package symptoms

import "slices"

// torchSymptoms are those of PyTorch, and of what runs above and below it.
func torchSymptoms() []Symptom {
	return slices.Concat(gpuSymptoms(), processSymptoms(), rendezvousSymptoms(), engineSymptoms(), launchSymptoms(),
		commonSymptoms(), jaxSymptoms(), ddpSymptoms(), slurmSymptoms())
}
