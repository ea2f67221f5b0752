package symptoms

func ucxSymptoms() []Symptom {
	return nil
}
