package symptoms

func kubernetesSymptoms() []Symptom {
	return nil
}
