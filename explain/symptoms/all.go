package symptoms

import (
	"cmp"
	"slices"
	"sync"
)

// All returns the symptoms, ordered by ID. The values are shared: don't change them.
var All = sync.OnceValue(func() []*Symptom {
	var list []*Symptom
	for _, group := range [...][]Symptom{
		ncclSymptoms(), torchSymptoms(), ucxSymptoms(), mooncakeSymptoms(), libfabricSymptoms(), perftestSymptoms(),
		verbsSymptoms(), kernelSymptoms(), kubernetesSymptoms(), nvshmemSymptoms(), opensmSymptoms(),
		firmwareSymptoms(), installSymptoms(), kernelUsers(), targetSymptoms(), rpcSymptoms(), perftestUsage(),
		fabtestsUsage(), kernelCardsMore(),
	} {
		for i := range group {
			list = append(list, &group[i])
		}
	}
	slices.SortFunc(list, func(a, b *Symptom) int { return cmp.Compare(a.ID, b.ID) })
	return list
})
