package symptoms

func libfabricSymptoms() []Symptom {
	return nil
}
