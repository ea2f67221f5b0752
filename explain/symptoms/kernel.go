package symptoms

func kernelSymptoms() []Symptom {
	return nil
}
