package symptoms

func opensmSymptoms() []Symptom {
	return nil
}
