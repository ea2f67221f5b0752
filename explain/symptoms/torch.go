package symptoms

func torchSymptoms() []Symptom {
	return nil
}
